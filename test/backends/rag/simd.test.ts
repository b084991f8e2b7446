import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import wabt from "wabt";
import { RowSpace } from "../../../src/backends/rag/lsa/row-space.ts";
import { seededRandom } from "../../../src/backends/rag/seeded-random.ts";
import { BYTE_DOTS_WASM } from "../../../src/backends/rag/simd/byte-dots.ts";
import { ROW_KERNELS_WASM } from "../../../src/backends/rag/simd/row-kernels.ts";
import { TimeSlice } from "../../../src/backends/rag/time-slice.ts";

it.each([
  ["byte-dots", BYTE_DOTS_WASM],
  ["row-kernels", ROW_KERNELS_WASM],
])("%s is assembled from what its source says", async (name, assembled) => {
  const path = `src/backends/rag/simd/${name}.wat`;
  const { parseWat } = await wabt();
  const { buffer } = parseWat(path, readFileSync(path, "utf8"), { simd: true }).toBinary({});
  expect(Buffer.from(buffer).toString("base64")).toBe(assembled);
});

describe("rows of floats", () => {
  const random = seededRandom(5);
  const [rank, terms, chunks] = [12, 700, 9];
  const fill = (numbers: Float32Array) => {
    for (let at = 0; at < numbers.length; at++) numbers[at] = random() - 0.5;
    return numbers.slice();
  };
  const column = (rows: Float32Array, at: number) => rows.filter((_, index) => index % rank === at);
  const dot = (left: Float32Array, right: Float32Array) =>
    left.reduce((sum, value, at) => sum + value * (right[at] ?? 0), 0);

  it("are added up as a plain loop adds them", () => {
    const space = new RowSpace(rank, terms, chunks);
    const before = { terms: fill(space.terms), chunks: fill(space.chunks) };
    space.rows.set([7, 0, 3]);
    space.weights.set([0.5, -2, 3]);
    space.scatter(699, 3);
    for (const [index, value] of space.chunks.entries()) {
      const weight = { 7: 0.5, 0: -2, 3: 3 }[Math.floor(index / rank)] ?? 0;
      const expected = (before.chunks[index] ?? 0) + weight * (before.terms[699 * rank + (index % rank)] ?? 0);
      expect(value).toBeCloseTo(expected, 5);
    }
    const source = space.chunks.slice();
    space.gather(1, 2);
    for (let at = 0; at < rank; at++) {
      const expected = 0.5 * (source[7 * rank + at] ?? 0) - 2 * (source[at] ?? 0);
      expect(space.terms[rank + at]).toBeCloseTo(expected, 5);
    }
    expect(space.terms.subarray(0, rank)).toEqual(before.terms.subarray(0, rank));
  });

  it("become orthonormal in their columns, which span what they spanned; one that adds nothing becomes zero", async () => {
    const space = new RowSpace(rank, terms, chunks);
    fill(space.terms);
    // The fourth is the sum of the first two.
    for (let row = 0; row < terms; row++) {
      space.terms[row * rank + 3] = (space.terms[row * rank] ?? 0) + (space.terms[row * rank + 1] ?? 0);
    }
    const before = space.terms.slice();
    await space.orthonormalize(new TimeSlice());
    for (let left = 0; left < rank; left++) {
      for (let right = 0; right <= left; right++) {
        const expected = left === right && left !== 3 ? 1 : 0;
        expect(dot(column(space.terms, left), column(space.terms, right))).toBeCloseTo(expected, 5);
      }
      // What is left of a column of before beside all of now is nothing.
      const old = column(before, left);
      let rest = dot(old, old);
      for (let at = 0; at < rank; at++) rest -= dot(old, column(space.terms, at)) ** 2;
      expect(rest).toBeCloseTo(0, 3);
    }
  });
});
