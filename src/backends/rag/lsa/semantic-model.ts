import { decodePostings } from "../index/codec.ts";
import type { SegmentView } from "../index/segment.ts";
import type { Statements } from "../index/statements.ts";
import type { TimeSlice } from "../time-slice.ts";
import { findBasis, type TermMatrix } from "./train.ts";

/** What was learned of an index: a direction for each term. */
export interface SemanticModel {
  readonly model: number;
  readonly rank: number;
  /** How many chunks there were when it was learned. */
  readonly chunks: number;
  readonly terms: ReadonlyMap<string, number>;
  /** How much each term tells, by its number. */
  readonly weights: Float32Array;
  /** `rank` numbers per term. */
  readonly basis: Float32Array;
}

const RANK = 200;
const MAX_TERMS = 30_000;
/** Chunks that are learned from; of more, an even selection. */
const MAX_SAMPLE = 20_000;
const PAGE = 2_000;

interface TermRow {
  readonly term: string;
  readonly chunks: number;
  readonly data: Uint8Array;
}

/** Learns a model from an index's postings; `undefined` where there is too little to learn from. */
export async function learnModel(
  statements: Statements,
  segments: readonly SegmentView[],
  slice: TimeSlice,
): Promise<Omit<SemanticModel, "model"> | undefined> {
  const chunks = segments.reduce((sum, { chunks: living }) => sum + living, 0);
  const vocabulary = await chooseTerms(statements, segments, chunks, slice);
  if (vocabulary.length < 2 * RANK) return undefined;
  const weights = Float32Array.from(vocabulary, ([, frequency]) => Math.log((chunks + 1) / frequency));
  const matrix = await buildMatrix(statements, segments, { vocabulary, weights, chunks }, slice);
  const basis = await findBasis(matrix, RANK, slice);
  const terms = new Map(vocabulary.map(([term], index) => [term, index]));
  return { rank: RANK, chunks, terms, weights, basis };
}

/** The vectors of a segment's chunks, each of length 1 or 0, one after another. */
export async function foldSegment(
  statements: Statements,
  segment: number,
  chunks: number,
  { rank, terms, weights, basis }: Omit<SemanticModel, "model">,
  slice: TimeSlice,
): Promise<Float32Array> {
  const vectors = new Float32Array(chunks * rank);
  for await (const { term, postings } of walkPostings(statements, segment, slice)) {
    const number = terms.get(term);
    if (number === undefined) continue;
    const { ordinals, frequencies } = postings();
    for (let index = 0; index < ordinals.length; index++) {
      const weight = (1 + Math.log(frequencies[index] ?? 1)) * (weights[number] ?? 0);
      addScaled(vectors, (ordinals[index] ?? 0) * rank, { basis, from: number * rank, rank, weight });
    }
  }
  for (let chunk = 0; chunk < chunks; chunk++) normalize(vectors.subarray(chunk * rank, (chunk + 1) * rank));
  return vectors;
}

/** The vector of a query; `undefined` when the model knows none of its terms. */
export function foldQuery(
  query: ReadonlyMap<string, number>,
  { rank, terms, weights, basis }: SemanticModel,
): Float32Array | undefined {
  const vector = new Float32Array(rank);
  for (const [term, count] of query) {
    const number = terms.get(term);
    if (number === undefined || count <= 0) continue;
    const weight = (1 + Math.log(Math.max(1, count))) * (weights[number] ?? 0);
    addScaled(vector, 0, { basis, from: number * rank, rank, weight });
  }
  return normalize(vector) ? vector : undefined;
}

/** The terms that tell most: in more than one chunk, not in every other one, the commonest of them. */
async function chooseTerms(
  statements: Statements,
  segments: readonly SegmentView[],
  chunks: number,
  slice: TimeSlice,
): Promise<[string, number][]> {
  const frequencies = new Map<string, number>();
  for (const { segment } of segments) {
    // oxlint-disable-next-line no-await-in-loop
    for await (const { term, count } of walkPostings(statements, segment, slice)) {
      frequencies.set(term, (frequencies.get(term) ?? 0) + count);
    }
  }
  return [...frequencies]
    .filter(([, frequency]) => frequency > 1 && frequency < chunks / 2)
    .toSorted((left, right) => right[1] - left[1] || (left[0] < right[0] ? -1 : 1))
    .slice(0, MAX_TERMS);
}

interface Learning {
  readonly vocabulary: readonly (readonly [string, number])[];
  readonly weights: Float32Array;
  readonly chunks: number;
}

async function buildMatrix(
  statements: Statements,
  segments: readonly SegmentView[],
  { vocabulary, weights, chunks }: Learning,
  slice: TimeSlice,
): Promise<TermMatrix> {
  const step = Math.max(1, Math.ceil(chunks / MAX_SAMPLE));
  const numbers = new Map(vocabulary.map(([term], index) => [term, index]));
  const columns = vocabulary.map((): { row: number; value: number }[] => []);
  let rows = 0;
  for (const { segment, ids, dead } of segments) {
    const rowOf = new Int32Array(ids.length).fill(-1);
    for (let ordinal = 0; ordinal < ids.length; ordinal += step) if (dead?.[ordinal] !== 1) rowOf[ordinal] = rows++;
    // oxlint-disable-next-line no-await-in-loop
    for await (const { term, postings } of walkPostings(statements, segment, slice)) {
      const number = numbers.get(term);
      if (number === undefined) continue;
      const { ordinals, frequencies } = postings();
      for (let index = 0; index < ordinals.length; index++) {
        const row = rowOf[ordinals[index] ?? 0] ?? -1;
        if (row < 0) continue;
        const value = (1 + Math.log(frequencies[index] ?? 1)) * (weights[number] ?? 0);
        columns[number]?.push({ row, value });
      }
    }
  }
  return toMatrix(columns, rows);
}

/** Packs columns, with every chunk brought to length 1: long ones must not decide alone. */
function toMatrix(columns: readonly (readonly { row: number; value: number }[])[], rows: number): TermMatrix {
  const squares = new Float64Array(rows);
  for (const column of columns) for (const { row, value } of column) squares[row] = (squares[row] ?? 0) + value * value;
  const entries = columns.reduce((sum, column) => sum + column.length, 0);
  const starts = new Uint32Array(columns.length + 1);
  const chunks = new Uint32Array(entries);
  const values = new Float32Array(entries);
  let at = 0;
  for (const [index, column] of columns.entries()) {
    starts[index] = at;
    for (const { row, value } of column) {
      chunks[at] = row;
      values[at] = value / Math.sqrt(squares[row] ?? 1);
      at += 1;
    }
  }
  starts[columns.length] = at;
  return { rows, starts, chunks, values };
}

/** Walks through a segment's terms, a page at a time; postings are decoded when they are asked for. */
async function* walkPostings(statements: Statements, segment: number, slice: TimeSlice) {
  for (let after = ""; ; ) {
    const rows = statements.all<TermRow>(
      "SELECT term, chunks, data FROM postings WHERE segment = ? AND term > ? ORDER BY term LIMIT ?",
      ...[segment, after, PAGE],
    );
    for (const { term, chunks, data } of rows) {
      yield { term, count: chunks, postings: () => decodePostings(data, chunks) };
      // oxlint-disable-next-line no-await-in-loop
      await slice.pause();
    }
    if (rows.length < PAGE) return;
    after = rows.at(-1)?.term ?? after;
  }
}

interface Addend {
  readonly basis: Float32Array;
  readonly from: number;
  readonly rank: number;
  readonly weight: number;
}

function addScaled(target: Float32Array, to: number, { basis, from, rank, weight }: Addend): void {
  for (let at = 0; at < rank; at++) target[to + at] = (target[to + at] ?? 0) + weight * (basis[from + at] ?? 0);
}

/** Brings a vector to length 1; answers whether it had any length. */
export function normalize(vector: Float32Array): boolean {
  let sum = 0;
  for (const value of vector) sum += value * value;
  if (sum < 1e-20) return false;
  const scale = 1 / Math.sqrt(sum);
  for (let at = 0; at < vector.length; at++) vector[at] = (vector[at] ?? 0) * scale;
  return true;
}
