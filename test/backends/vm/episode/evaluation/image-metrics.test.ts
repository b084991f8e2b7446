import sharp from "sharp";
import { describe, expect, it } from "vitest";
import { structuralSimilarity } from "../../../../../src/backends/vm/episode/evaluation/metrics/structural-similarity.ts";
import { file, json, passed, score } from "./judging.ts";

/** A picture of a white square on black, at a place. */
function square(left: number, width = 64, format: "png" | "jpeg" = "png"): Promise<Buffer> {
  const white = { create: { width: 16, height: 16, channels: 3 as const, background: "white" } };
  return sharp({ create: { width, height: 64, channels: 3, background: "black" } })
    .composite([{ input: white, left, top: 20 }])
    .toFormat(format)
    .toBuffer();
}

describe("the metrics of images", () => {
  it("tell the same pixels from others", async () => {
    const [here, there, again] = await Promise.all([square(10), square(30), square(10)]);
    expect(await score("compare_images", file("a.png", here), file("b.png", again))).toEqual(passed);
    expect(await score("compare_images", file("a.png", here), file("b.png", there))).toMatchObject({ score: 0 });
    expect(await score("compare_images", file("a.png", await square(10, 80)), file("b.png", here))).toMatchObject({
      score: 0,
      reason: "it is 80x64",
    });
  });

  it("say how alike pictures are in structure", async () => {
    const [here, lossy, there] = await Promise.all([square(10), square(10, 64, "jpeg"), square(30)]);
    expect(await score("check_structure_sim", file("a.jpg", lossy), file("b.png", here))).toEqual(passed);
    expect(await score("check_structure_sim", file("a.png", there), file("b.png", here))).toMatchObject({ score: 0 });
    expect(await score("image_similarity", file("a.png", here), file("b.png", here))).toEqual(passed);
    const judged = await score("image_similarity", file("a.png", there), file("b.png", here));
    expect(judged).toMatchObject({ kind: "score", score: expect.any(Number) });
    const larger = await sharp(here).resize(128, 128).png().toBuffer();
    expect(await score("image_similarity", file("a.png", larger), file("b.png", here))).toMatchObject({ score: 0 });
    const resized = await score("check_structure_sim", file("a.png", larger), file("b.png", here), { resize: true });
    expect(resized).toEqual(passed);
  });

  it("agree with the formula on windows that can be worked out by hand", () => {
    const size = { width: 8, height: 8 };
    const [black, white] = [new Uint8Array(64), new Uint8Array(64).fill(255)];
    const c1 = 6.5025;
    expect(structuralSimilarity(black, white, size)).toBeCloseTo(c1 / (255 * 255 + c1), 10);
    expect(structuralSimilarity(white, white, size)).toBe(1);
    expect(structuralSimilarity(new Uint8Array([0, 255]), new Uint8Array([255, 0]), { width: 2, height: 1 })).toBe(0);
  });

  it("know a picture's size, and give nothing for what is none", async () => {
    const picture = file("a.png", await square(10));
    expect(await score("check_image_size", picture, json({ width: 64 }))).toEqual(passed);
    expect(await score("check_image_size", picture, json({ width: 64, height: 63 }))).toMatchObject({ score: 0 });
    expect(await score("compare_images", file("a.png", "text"), picture)).toMatchObject({ kind: "score", score: 0 });
    expect(await score("compare_images", picture, file("b.png", "text"))).toMatchObject({ kind: "mistake" });
  });
});
