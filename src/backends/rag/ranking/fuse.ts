import { TopScores } from "./top.ts";
import type { Hit } from "./bm25.ts";

/** How one retriever ranked, best first. */
export interface RankedList {
  readonly retriever: string;
  /** How much its ranks count beside the others'. */
  readonly weight: number;
  readonly hits: readonly Hit[];
}

/** Where a retriever had a chunk, from 1, and with which score. */
export interface RetrieverRank {
  readonly rank: number;
  readonly score: number;
}

/** A chunk with the score of all retrievers together. */
export interface FusedHit extends Hit {
  readonly ranks: Readonly<Record<string, RetrieverRank>>;
}

/**
 * How rankings are put together: by their scores as shares of each ranking's best, or by reciprocal ranks. Ranks need no scores that
 * compare, but let a weak ranking push a strong one's results apart.
 */
export const FUSIONS = ["score", "rank"] as const;
export type Fusion = (typeof FUSIONS)[number];

/** What damps the lead of the first ranks (Cormack, Clarke and Büttcher 2009). */
const DAMPING = 60;

/** Puts rankings together; a single one keeps its order and its scores. */
export function fuse(lists: readonly RankedList[], limit: number, fusion: Fusion): FusedHit[] {
  const [only] = lists;
  if (lists.length === 1 && only !== undefined) {
    return only.hits.slice(0, limit).map((hit, index) => ({
      ...hit,
      ranks: { [only.retriever]: { rank: index + 1, score: hit.score } },
    }));
  }
  const fused = new Map<string, { hit: Hit; score: number; ranks: Record<string, RetrieverRank> }>();
  for (const { retriever, weight, hits } of lists) {
    const best = hits[0]?.score ?? 0;
    for (const [index, hit] of hits.entries()) {
      const key = `${hit.part} ${hit.ordinal}`;
      const entry = fused.get(key) ?? { hit, score: 0, ranks: {} };
      fused.set(key, entry);
      const share = best > 0 ? hit.score / best : 0;
      entry.score += weight * (fusion === "rank" ? 1 / (DAMPING + index + 1) : share);
      entry.ranks[retriever] = { rank: index + 1, score: hit.score };
    }
  }
  const entries = [...fused.values()];
  const top = new TopScores(limit);
  for (const [index, { score }] of entries.entries()) top.offer(index, score);
  return top.finish().flatMap(({ item, score }) => {
    const entry = entries[item];
    return entry === undefined ? [] : [{ ...entry.hit, score, ranks: entry.ranks }];
  });
}
