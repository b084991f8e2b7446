import type { Postings } from "../index/codec.ts";
import type { IndexReader } from "../index/reader.ts";
import type { SegmentView } from "../index/segment.ts";
import { TopScores } from "./top.ts";

/** A part of what is searched: a segment, and the index to read it from. */
export interface SearchPart {
  readonly reader: IndexReader;
  readonly view: SegmentView;
}

/** A chunk that was found. */
export interface Hit {
  /** Which of the parts it is in. */
  readonly part: number;
  readonly ordinal: number;
  readonly chunk: number;
  readonly score: number;
}

/** How often a term counts. */
export type WeightedTerms = ReadonlyMap<string, number>;

/** How fast further occurrences of a term lose weight (k1), and how much long chunks are held back (b). */
export const BM25 = { k1: 0.9, b: 0.4 } as const;

/** What of all parts together is known of their chunks; dead ones do not count. */
export interface CollectionStatistics {
  readonly chunks: number;
  readonly averageLength: number;
}

export function statisticsOf(parts: readonly SearchPart[]): CollectionStatistics {
  let chunks = 0;
  let terms = 0;
  for (const { view } of parts) {
    chunks += view.chunks;
    terms += view.terms;
  }
  return { chunks, averageLength: chunks === 0 ? 1 : Math.max(1, terms / chunks) };
}

/** Ranks chunks by Okapi BM25 with the statistics of all parts together, best first. */
export function rankByTerms(parts: readonly SearchPart[], query: WeightedTerms, limit: number): Hit[] {
  const statistics = statisticsOf(parts);
  const offsets: number[] = [];
  let total = 0;
  for (const { view } of parts) {
    offsets.push(total);
    total += view.ids.length;
  }
  const scores = new Float64Array(total);
  for (const [term, weight] of query) {
    const found = parts.map(({ reader, view }) => reader.postings(view.segment, term));
    const frequency = found.reduce((sum, postings, index) => sum + countLiving(postings, parts[index]?.view.dead), 0);
    if (frequency === 0 || weight === 0) continue;
    const idf = Math.log(1 + (statistics.chunks - frequency + 0.5) / (frequency + 0.5));
    for (const [index, postings] of found.entries()) {
      const part = parts[index];
      if (postings === undefined || part === undefined) continue;
      addScores(scores, offsets[index] ?? 0, { postings, view: part.view, weight: weight * idf }, statistics);
    }
  }
  return selectHits(parts, offsets, scores, limit);
}

interface TermInPart {
  readonly postings: Postings;
  readonly view: SegmentView;
  readonly weight: number;
}

function addScores(
  scores: Float64Array,
  offset: number,
  { postings, view, weight }: TermInPart,
  { averageLength }: CollectionStatistics,
): void {
  const { ordinals, frequencies } = postings;
  const { k1, b } = BM25;
  for (let index = 0; index < ordinals.length; index++) {
    const ordinal = ordinals[index] ?? 0;
    const frequency = frequencies[index] ?? 0;
    const length = view.lengths[ordinal] ?? 0;
    const at = offset + ordinal;
    scores[at] =
      (scores[at] ?? 0) + (weight * frequency * (k1 + 1)) / (frequency + k1 * (1 - b + (b * length) / averageLength));
  }
}

/** Picks the best living chunks of all parts. */
export function selectHits(
  parts: readonly SearchPart[],
  offsets: readonly number[],
  scores: Float64Array,
  limit: number,
): Hit[] {
  const top = new TopScores(limit);
  for (const [index, { view }] of parts.entries()) {
    const offset = offsets[index] ?? 0;
    for (let ordinal = 0; ordinal < view.ids.length; ordinal++) {
      const score = scores[offset + ordinal] ?? 0;
      if (score > 0 && score > top.threshold && view.dead?.[ordinal] !== 1) top.offer(offset + ordinal, score);
    }
  }
  return top.finish().map(({ item, score }) => {
    const part = offsets.findLastIndex((offset) => offset <= item);
    const ordinal = item - (offsets[part] ?? 0);
    return { part, ordinal, chunk: parts[part]?.view.ids[ordinal] ?? 0, score };
  });
}

function countLiving(postings: Postings | undefined, dead: Uint8Array | undefined): number {
  if (postings === undefined) return 0;
  if (dead === undefined) return postings.ordinals.length;
  let count = 0;
  for (const ordinal of postings.ordinals) if (dead[ordinal] !== 1) count += 1;
  return count;
}
