import { openRowKernels } from "../simd/row-kernels.ts";
import type { TimeSlice } from "../time-slice.ts";

/** Rows that are worked on before others may have the thread. */
const ROWS_AT_ONCE = 256;
/** A column depends on those before it when no more than this share of its square is left beside them. */
const DEPENDENT = 1e-13;

/**
 * Rows of floats of one size in a memory of their own, one for each term and one for each of some chunks, which are multiplied four
 * places at a time.
 */
export class RowSpace {
  readonly terms: Float32Array<ArrayBuffer>;
  readonly chunks: Float32Array<ArrayBuffer>;
  /** The chunks whose rows a sum is over, and the weight of each. */
  readonly rows: Uint32Array;
  readonly weights: Float32Array;
  readonly #rank: number;
  readonly #kernels: ReturnType<typeof openRowKernels>;
  readonly #wide: Float64Array;
  readonly #square: Float64Array;
  readonly #scales: Float64Array;

  /** @param rank numbers of a row, in whole fours */
  constructor(rank: number, terms: number, chunks: number) {
    this.#rank = rank;
    const doubles = rank + rank * rank + rank;
    this.#kernels = openRowKernels(doubles * 8 + 4 * (terms * rank + chunks * rank + 2 * chunks));
    const { buffer } = this.#kernels.memory;
    this.#wide = new Float64Array(buffer, 0, rank);
    this.#square = new Float64Array(buffer, rank * 8, rank * rank);
    this.#scales = new Float64Array(buffer, (rank + rank * rank) * 8, rank);
    this.terms = new Float32Array(buffer, doubles * 8, terms * rank);
    this.chunks = new Float32Array(buffer, endOf(this.terms), chunks * rank);
    this.rows = new Uint32Array(buffer, endOf(this.chunks), chunks);
    this.weights = new Float32Array(buffer, endOf(this.rows), chunks);
  }

  /** Adds a term's row, times each of the first `count` weights, to the rows of chunks. */
  scatter(term: number, count: number): void {
    this.#kernels.scatter(...this.#operands(term, count, this.chunks));
  }

  /** Puts the sum of the first `count` rows of chunks, each times its weight, in the place of a term's. */
  gather(term: number, count: number): void {
    this.terms.fill(0, term * this.#rank, (term + 1) * this.#rank);
    this.#kernels.gather(...this.#operands(term, count, this.chunks));
  }

  /** Makes the columns of the terms' rows orthonormal (Cholesky QR); one that depends on those before becomes zero. */
  async orthonormalize(slice: TimeSlice): Promise<void> {
    const { byteOffset: wide } = this.#wide;
    const { byteOffset: square } = this.#square;
    const { byteOffset: scales } = this.#scales;
    this.#square.fill(0);
    await this.#walk(slice, (row, count) => this.#kernels.gram(row, count, this.#rank, wide, square));
    factorize(this.#square, this.#scales);
    await this.#walk(slice, (row, count) => this.#kernels.solve(row, count, this.#rank, wide, square, scales));
  }

  #operands(term: number, count: number, chunks: Float32Array) {
    const { byteOffset: rows } = this.rows;
    const { byteOffset: weights } = this.weights;
    const sizeBytes = this.#rank * 4;
    return [this.terms.byteOffset + term * sizeBytes, rows, weights, count, chunks.byteOffset, sizeBytes] as const;
  }

  async #walk(slice: TimeSlice, work: (row: number, count: number) => void): Promise<void> {
    const rows = this.terms.length / this.#rank;
    for (let row = 0; row < rows; row += ROWS_AT_ONCE) {
      work(this.terms.byteOffset + row * this.#rank * 4, Math.min(ROWS_AT_ONCE, rows - row));
      // oxlint-disable-next-line no-await-in-loop
      await slice.pause();
    }
  }
}

function endOf({ byteOffset, byteLength }: Float32Array | Uint32Array): number {
  return byteOffset + byteLength;
}

/**
 * Turns a square of products, of which the upper triangle counts, into what lies above the diagonal of its Cholesky factor, and
 * the diagonal's inverses.
 */
function factorize(square: Float64Array, scales: Float64Array): void {
  const size = scales.length;
  for (let row = 0; row < size; row++) {
    const line = square.subarray(row * size, (row + 1) * size);
    const whole = line[row] ?? 0;
    for (let above = 0; above < row; above++) {
      const factor = square[above * size + row] ?? 0;
      if (factor === 0) continue;
      for (let at = row; at < size; at++) line[at] = (line[at] ?? 0) - factor * (square[above * size + at] ?? 0);
    }
    const left = line[row] ?? 0;
    const scale = left > whole * DEPENDENT && left > 0 ? 1 / Math.sqrt(left) : 0;
    scales[row] = scale;
    line.fill(0, 0, row + 1);
    for (let at = row + 1; at < size; at++) line[at] = (line[at] ?? 0) * scale;
  }
}
