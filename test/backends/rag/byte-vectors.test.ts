import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ByteVectors } from "../../../src/backends/rag/ranking/byte-vectors.ts";
import { VectorBlob } from "../../../src/backends/rag/ranking/vector-blob.ts";
import { seededRandom } from "../../../src/backends/rag/seeded-random.ts";

const unit = (numbers: readonly number[]): Float32Array => {
  const length = Math.hypot(...numbers);
  return Float32Array.from(numbers, (number) => (length < 1e-6 ? 0 : number / length));
};

function dot(left: Float32Array, right: Float32Array): number {
  return left.reduce((sum, value, at) => sum + value * (right[at] ?? 0), 0);
}

function scoresOf(vectors: ByteVectors, query: Float32Array): Float64Array {
  const scores = new Float64Array(vectors.count);
  vectors.score(query, scores, 0);
  return scores;
}

/** Packs vectors, `size` numbers each. */
function pack(floats: Float32Array, size: number): ByteVectors {
  const vectors = new ByteVectors(size, floats.length / size);
  for (let at = 0; at < vectors.count; at++) vectors.set(at, floats.subarray(at * size, (at + 1) * size));
  return vectors;
}

describe("vectors of bytes", () => {
  it("give cosines that are at most 0.01 off, and the same ones after they were stored", () => {
    const vector = (size: number) =>
      fc.array(fc.double({ min: -1, max: 1, noNaN: true }), { minLength: size, maxLength: size }).map(unit);
    const space = fc
      .integer({ min: 1, max: 70 })
      .chain((size) => fc.tuple(vector(size), fc.array(vector(size), { minLength: 1, maxLength: 9 })));
    fc.assert(
      fc.property(space, ([query, all]) => {
        const floats = new Float32Array(all.length * query.length);
        for (const [index, one] of all.entries()) floats.set(one, index * query.length);
        const vectors = pack(floats, query.length);
        const scores = scoresOf(vectors, query);
        for (const [index, one] of all.entries())
          expect(Math.abs((scores[index] ?? 9) - dot(query, one))).toBeLessThan(0.01);
        const blob = VectorBlob.empty(query.length, all.length);
        for (const [index, one] of all.entries()) blob.set(index, one);
        // Bytes as a database gives them begin anywhere.
        const stored = new Uint8Array([9, ...blob.blob]).subarray(1);
        const loaded = new ByteVectors(query.length, all.length + 1);
        loaded.load(1, VectorBlob.of(query.length, stored));
        expect(scoresOf(loaded, query).subarray(1)).toEqual(scores);
      }),
    );
  });

  it("are many and few alike", () => {
    const random = seededRandom(7);
    const size = 100;
    const floats = Float32Array.from({ length: 5_000 * size }, () => random() - 0.5);
    const query = unit(Array.from({ length: size }, () => random() - 0.5));
    const many = scoresOf(pack(floats, size), query);
    for (const from of [0, 1_000, 4_000]) {
      const few = scoresOf(pack(floats.slice(from * size, (from + 1_000) * size), size), query);
      expect(few).toEqual(many.slice(from, from + 1_000));
    }
  });
});
