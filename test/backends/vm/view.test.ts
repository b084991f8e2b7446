import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { View } from "../../../src/backends/vm/screen/view.ts";
import { drawCursor, encodePicture, isBlank } from "../../../src/backends/vm/screen/picture.ts";
import sharp from "sharp";

const side = fc.integer({ min: 1, max: 4_096 });
const screen = fc.record({ width: side, height: side });

describe("what a model sees", () => {
  it("means the screen's pixel that is seen there, at every scale", () => {
    const showing = fc.oneof(
      fc.record({ maxLongEdge: fc.integer({ min: 16, max: 4_096 }) }),
      fc.record({ scale: fc.double({ min: 0.05, max: 4, noNaN: true }) }),
      fc.record({ size: screen }),
    );
    const share = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(screen, showing, share, share, (size, how, across, down) => {
        const view = new View(size, how);
        const { image } = view;
        const seen = { x: Math.floor(across * image.width), y: Math.floor(down * image.height) };
        const meant = view.toScreen(seen);
        for (const [axis, length] of [
          ["x", "width"],
          ["y", "height"],
        ] as const) {
          const covers = size[length] / image[length];
          // The pixel and the stretch of the screen that the picture's pixel covers overlap.
          expect(meant[axis] + 1).toBeGreaterThan(seen[axis] * covers);
          expect(meant[axis]).toBeLessThan((seen[axis] + 1) * covers);
          expect(meant[axis]).toBeLessThan(size[length]);
          if (covers >= 1) expect(view.toImage(meant)[axis]).toBe(seen[axis]);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it("is capped at its long edge, never enlarged by the cap, and refuses points outside", () => {
    expect(new View({ width: 1_280, height: 800 }, { maxLongEdge: 640 }).image).toEqual({ width: 640, height: 400 });
    expect(new View({ width: 300, height: 800 }, { maxLongEdge: 1_000 }).image).toEqual({ width: 300, height: 800 });
    expect(new View({ width: 3, height: 1_000 }, { scale: 0.05 }).image).toEqual({ width: 1, height: 50 });
    const view = new View({ width: 1_280, height: 800 }, { maxLongEdge: 640 });
    expect(view.toScreen({ x: 639, y: 399 })).toEqual({ x: 1_279, y: 799 });
    expect(() => view.toScreen({ x: 640, y: 0 })).toThrow(/outside the screenshot of 640x400/);
  });
});

describe("a picture", () => {
  const pixels = () => Buffer.alloc(20 * 10 * 4, Buffer.from([200, 100, 50, 0]));

  it.each(["png", "jpeg", "webp"] as const)(
    "is a %s of the size that was asked for, opaque and of the colours there were",
    async (format) => {
      const { bytes } = await encodePicture(
        { width: 20, height: 10, pixels: pixels() },
        { format, size: { width: 10, height: 5 } },
      );
      expect(await sharp(bytes).metadata()).toMatchObject({ format, width: 10, height: 5, channels: 3 });
      const [red = 0, green = 0, blue = 0] = await sharp(bytes).raw().toBuffer();
      for (const [seen, meant] of [
        [red, 200],
        [green, 100],
        [blue, 50],
      ] as const)
        expect(Math.abs(seen - meant)).toBeLessThan(6);
    },
  );

  it("has the pointer drawn in where it points, cut at the edges", () => {
    const picture = { width: 20, height: 10, pixels: pixels() };
    const look = Buffer.from([1, 2, 3, 255, 9, 9, 9, 0, 4, 5, 6, 255, 7, 8, 9, 255]);
    drawCursor(picture, { width: 2, height: 2, hotspot: { x: 1, y: 1 }, pixels: look }, { x: 0, y: 0 });
    expect([...picture.pixels.subarray(0, 3)]).toEqual([7, 8, 9]);
    drawCursor(picture, { width: 2, height: 2, hotspot: { x: 0, y: 0 }, pixels: look }, { x: 19, y: 5 });
    expect([...picture.pixels.subarray((5 * 20 + 19) * 4, (5 * 20 + 19) * 4 + 3)]).toEqual([1, 2, 3]);
    expect([...picture.pixels.subarray(6 * 20 * 4, 6 * 20 * 4 + 3)]).toEqual([200, 100, 50]);
  });

  it("is blank as long as it has one colour", () => {
    const picture = { width: 20, height: 10, pixels: pixels() };
    expect(isBlank(picture)).toBe(true);
    picture.pixels[400] = 1;
    expect(isBlank(picture)).toBe(false);
  });
});
