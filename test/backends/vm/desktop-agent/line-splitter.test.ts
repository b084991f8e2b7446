import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LineSplitter } from "../../../../src/backends/vm/desktop-agent/line-splitter.ts";

describe("lines of a stream", () => {
  it("are the same however the stream is cut", () => {
    const text = fc.array(fc.string({ unit: "binary", maxLength: 20 }).map((line) => line.replaceAll("\n", "")));
    fc.assert(
      fc.property(text, fc.array(fc.nat(200)), (lines, cuts) => {
        const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(""));
        const splitter = new LineSplitter(1_000);
        const points = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)).toSorted((one, other) => one - other)];
        const found = [...points, bytes.length].flatMap((point, index) =>
          splitter.push(bytes.subarray(points[index - 1] ?? 0, point)),
        );
        // Half of a surrogate pair is no UTF-8, and comes back as what stands for it.
        expect(found).toEqual(lines.map((line) => line.toWellFormed()));
      }),
    );
  });

  it("are not held beyond their maximum", () => {
    const splitter = new LineSplitter(8);
    expect(splitter.push(Buffer.from("12345678\n1234"))).toEqual(["12345678"]);
    expect(() => splitter.push(Buffer.from("56789"))).toThrow(RangeError);
  });
});
