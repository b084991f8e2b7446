import { decodePostings, PostingsBuilder } from "../index/codec.ts";
import type { SegmentView } from "../index/segment.ts";
import type { Statements } from "../index/statements.ts";
import type { TimeSlice } from "../time-slice.ts";
import { dampen, type SemanticModel } from "./semantic-model.ts";
import { findBasis, type TermMatrix } from "./train.ts";
import { countChunksOfTerms, walkPostings } from "./walk-terms.ts";

/** Directions; in whole sixteens, as many as are multiplied at once. */
const RANK = 192;
/** Terms without which there is too little to learn from. */
export const MIN_TERMS = 2 * RANK;
const MAX_TERMS = 30_000;
/** Chunks that are learned from; of more, an even selection. */
const MAX_SAMPLE = 20_000;

/** Learns a model from an index's postings; `undefined` where there is too little to learn from. */
export async function learnModel(
  statements: Statements,
  segments: readonly SegmentView[],
  slice: TimeSlice,
): Promise<Omit<SemanticModel, "model"> | undefined> {
  const chunks = segments.reduce((sum, { chunks: living }) => sum + living, 0);
  const vocabulary = await chooseTerms(statements, segments, chunks, slice);
  if (vocabulary.length < MIN_TERMS) return undefined;
  const weights = Float32Array.from(vocabulary, ([, frequency]) => Math.log((chunks + 1) / frequency));
  const terms = new Map(vocabulary.map(([term], index) => [term, index]));
  const matrix = await buildMatrix(statements, segments, { terms, weights, chunks }, slice);
  const basis = await findBasis(matrix, RANK, slice);
  return { rank: RANK, chunks, terms, weights, basis };
}

/** The terms that tell most: in more than one chunk, not in every other one, the commonest of them. */
async function chooseTerms(
  statements: Statements,
  segments: readonly SegmentView[],
  chunks: number,
  slice: TimeSlice,
): Promise<(readonly [string, number])[]> {
  const numbers = segments.map(({ segment }) => segment);
  let chosen: (readonly [string, number])[] = [];
  let least = 1;
  const cut = (): void => {
    chosen = chosen.toSorted((left, right) => right[1] - left[1] || (left[0] < right[0] ? -1 : 1)).slice(0, MAX_TERMS);
    if (chosen.length === MAX_TERMS) least = chosen.at(-1)?.[1] ?? least;
  };
  for await (const counted of countChunksOfTerms(statements, numbers, slice)) {
    const [, frequency] = counted;
    if (frequency <= least || frequency >= chunks / 2) continue;
    // A large collection has millions of terms, of which most are rare.
    if (chosen.push(counted) >= 4 * MAX_TERMS) cut();
  }
  cut();
  return chosen;
}

interface Learning extends Pick<SemanticModel, "terms" | "weights" | "chunks"> {}

async function buildMatrix(
  statements: Statements,
  segments: readonly SegmentView[],
  { terms, weights, chunks }: Learning,
  slice: TimeSlice,
): Promise<TermMatrix> {
  const step = Math.max(1, Math.ceil(chunks / MAX_SAMPLE));
  const columns = Array.from(weights, () => new PostingsBuilder());
  let rows = 0;
  for (const { segment, ids, dead } of segments) {
    const rowOf = new Int32Array(ids.length).fill(-1);
    for (let ordinal = 0; ordinal < ids.length; ordinal += step) if (dead?.[ordinal] !== 1) rowOf[ordinal] = rows++;
    // oxlint-disable-next-line no-await-in-loop
    for await (const { term, chunks: count, data } of walkPostings(statements, segment, slice)) {
      const column = columns[terms.get(term) ?? -1];
      if (column === undefined) continue;
      const { ordinals, frequencies } = decodePostings(data, count);
      for (let index = 0; index < ordinals.length; index++) {
        const row = rowOf[ordinals[index] ?? 0] ?? -1;
        if (row >= 0) column.add(row, frequencies[index] ?? 1);
      }
    }
  }
  return toMatrix(columns, weights, rows);
}

/** Packs columns, with every chunk brought to length 1: long ones must not decide alone. */
function toMatrix(columns: readonly PostingsBuilder[], weights: Float32Array, rows: number): TermMatrix {
  const entries = columns.reduce((sum, { ordinals }) => sum + ordinals.length, 0);
  const squares = new Float64Array(rows);
  const starts = new Uint32Array(columns.length + 1);
  const chunks = new Uint32Array(entries);
  const values = new Float32Array(entries);
  let at = 0;
  for (const [term, { ordinals, frequencies }] of columns.entries()) {
    starts[term] = at;
    for (const [index, row] of ordinals.entries()) {
      const value = dampen(frequencies[index] ?? 1) * (weights[term] ?? 0);
      squares[row] = (squares[row] ?? 0) + value * value;
      chunks[at] = row;
      values[at] = value;
      at += 1;
    }
  }
  starts[columns.length] = at;
  for (let entry = 0; entry < entries; entry++) {
    values[entry] = (values[entry] ?? 0) / Math.sqrt(squares[chunks[entry] ?? 0] ?? 1);
  }
  return { rows, starts, chunks, values };
}
