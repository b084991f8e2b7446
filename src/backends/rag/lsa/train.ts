import { seededRandom } from "../seeded-random.ts";
import type { TimeSlice } from "../time-slice.ts";
import { RowSpace } from "./row-space.ts";

/** How often which term is in which chunk, term by term; rows are chunks. */
export interface TermMatrix {
  readonly rows: number;
  /** Where each term's entries begin, and at last where they end. */
  readonly starts: Uint32Array;
  readonly chunks: Uint32Array;
  readonly values: Float32Array;
}

const ITERATIONS = 4;

/**
 * Finds the directions along which the chunks differ most: an orthonormal basis of the leading right singular vectors, by
 * randomized subspace iteration (Halko, Martinsson and Tropp 2011). The same matrix always gives the same basis.
 *
 * @returns one row of `rank` numbers per term
 */
export async function findBasis(matrix: TermMatrix, rank: number, slice: TimeSlice): Promise<Float32Array> {
  const terms = matrix.starts.length - 1;
  const space = new RowSpace(rank, terms, matrix.rows);
  const random = seededRandom(terms);
  for (let at = 0; at < space.terms.length; at++) space.terms[at] = random() - 0.5;
  for (let round = 0; round < ITERATIONS; round++) {
    // Each step needs what the one before has made.
    /* oxlint-disable no-await-in-loop */
    await space.orthonormalize(slice);
    space.chunks.fill(0);
    // The chunks in the basis, then the terms in what those have become: the matrix times it, and transposed times that.
    await eachTerm(space, matrix, slice, (term, count) => space.scatter(term, count));
    await eachTerm(space, matrix, slice, (term, count) => space.gather(term, count));
    /* oxlint-enable no-await-in-loop */
  }
  await space.orthonormalize(slice);
  return space.terms.slice();
}

async function eachTerm(
  space: RowSpace,
  { starts, chunks, values }: TermMatrix,
  slice: TimeSlice,
  work: (term: number, count: number) => void,
): Promise<void> {
  for (let term = 0; term + 1 < starts.length; term++) {
    const start = starts[term] ?? 0;
    const end = starts[term + 1] ?? 0;
    space.rows.set(chunks.subarray(start, end));
    space.weights.set(values.subarray(start, end));
    work(term, end - start);
    // oxlint-disable-next-line no-await-in-loop
    await slice.pause();
  }
}
