import { seededRandom } from "../seeded-random.ts";
import type { TimeSlice } from "../time-slice.ts";

/** How often which term is in which chunk, term by term; rows are chunks. */
export interface TermMatrix {
  readonly rows: number;
  /** Where each term's entries begin, and at last where they end. */
  readonly starts: Uint32Array;
  readonly chunks: Uint32Array;
  readonly values: Float32Array;
}

const ITERATIONS = 3;

/**
 * Finds the directions along which the chunks differ most: an orthonormal basis of the leading right singular vectors, by
 * randomized subspace iteration (Halko, Martinsson and Tropp 2011). The same matrix always gives the same basis.
 *
 * @returns one row of `rank` numbers per term
 */
export async function findBasis(matrix: TermMatrix, rank: number, slice: TimeSlice): Promise<Float32Array> {
  const terms = matrix.starts.length - 1;
  const random = seededRandom(terms);
  let basis = Float32Array.from({ length: terms * rank }, () => random() - 0.5);
  for (let round = 0; round < ITERATIONS; round++) {
    // oxlint-disable-next-line no-await-in-loop
    await orthonormalize(basis, rank, slice);
    // oxlint-disable-next-line no-await-in-loop
    const projected = await project(matrix, basis, rank, slice);
    // oxlint-disable-next-line no-await-in-loop
    basis = await projectBack(matrix, projected, rank, slice);
  }
  await orthonormalize(basis, rank, slice);
  return basis;
}

/** The chunks in the basis: the matrix times it. */
async function project(
  { rows, starts, chunks, values }: TermMatrix,
  basis: Float32Array,
  rank: number,
  slice: TimeSlice,
): Promise<Float32Array> {
  const result = new Float32Array(rows * rank);
  for (let term = 0; term + 1 < starts.length; term++) {
    const from = term * rank;
    for (let entry = starts[term] ?? 0; entry < (starts[term + 1] ?? 0); entry++) {
      const value = values[entry] ?? 0;
      const to = (chunks[entry] ?? 0) * rank;
      for (let at = 0; at < rank; at++) result[to + at] = (result[to + at] ?? 0) + value * (basis[from + at] ?? 0);
    }
    // oxlint-disable-next-line no-await-in-loop
    if (term % 64 === 0) await slice.pause();
  }
  return result;
}

/** The transposed matrix times what the chunks have become. */
async function projectBack(
  { starts, chunks, values }: TermMatrix,
  projected: Float32Array,
  rank: number,
  slice: TimeSlice,
): Promise<Float32Array<ArrayBuffer>> {
  const result = new Float32Array((starts.length - 1) * rank);
  for (let term = 0; term + 1 < starts.length; term++) {
    const to = term * rank;
    for (let entry = starts[term] ?? 0; entry < (starts[term + 1] ?? 0); entry++) {
      const value = values[entry] ?? 0;
      const from = (chunks[entry] ?? 0) * rank;
      for (let at = 0; at < rank; at++) result[to + at] = (result[to + at] ?? 0) + value * (projected[from + at] ?? 0);
    }
    // oxlint-disable-next-line no-await-in-loop
    if (term % 64 === 0) await slice.pause();
  }
  return result;
}

/** Makes the columns orthonormal, in place (modified Gram-Schmidt); ones that depend on those before become zero. */
async function orthonormalize(matrix: Float32Array, rank: number, slice: TimeSlice): Promise<void> {
  const rows = matrix.length / rank;
  // Column by column in memory, which is how they are walked through.
  const columns = Array.from({ length: rank }, (_, column) => {
    const values = new Float64Array(rows);
    for (let row = 0; row < rows; row++) values[row] = matrix[row * rank + column] ?? 0;
    return values;
  });
  for (const [index, column] of columns.entries()) {
    const before = norm(column);
    for (const earlier of columns.slice(0, index)) subtractAlong(column, earlier);
    const length = norm(column);
    const scale = length > before * 1e-9 && length > 0 ? 1 / length : 0;
    for (let row = 0; row < rows; row++) column[row] = (column[row] ?? 0) * scale;
    // oxlint-disable-next-line no-await-in-loop
    await slice.pause();
  }
  for (const [index, column] of columns.entries()) {
    for (let row = 0; row < rows; row++) matrix[row * rank + index] = column[row] ?? 0;
  }
}

function subtractAlong(column: Float64Array, direction: Float64Array): void {
  let dot = 0;
  for (let row = 0; row < column.length; row++) dot += (column[row] ?? 0) * (direction[row] ?? 0);
  if (dot === 0) return;
  for (let row = 0; row < column.length; row++) column[row] = (column[row] ?? 0) - dot * (direction[row] ?? 0);
}

function norm(values: Float64Array): number {
  let sum = 0;
  for (const value of values) sum += value * value;
  return Math.sqrt(sum);
}
