import { type Hit, type SearchPart, selectHits } from "./bm25.ts";
import type { ByteVectors } from "./byte-vectors.ts";

/** Ranks chunks by the cosine to a query's vector; `vectorsOf` gives a part's vectors of length 1, or `undefined` where there are none. */
export function rankByVectors<P extends SearchPart>(
  parts: readonly P[],
  limit: number,
  vectorsOf: (part: P) => { readonly query: Float32Array; readonly chunks: ByteVectors } | undefined,
): Hit[] {
  const offsets: number[] = [];
  let total = 0;
  for (const { view } of parts) {
    offsets.push(total);
    total += view.ids.length;
  }
  const scores = new Float64Array(total);
  for (const [index, part] of parts.entries()) {
    const vectors = vectorsOf(part);
    vectors?.chunks.score(vectors.query, scores, offsets[index] ?? 0);
  }
  return selectHits(parts, offsets, scores, limit);
}
