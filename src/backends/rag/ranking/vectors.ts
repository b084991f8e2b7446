import { type Hit, type SearchPart, selectHits } from "./bm25.ts";

/** Ranks chunks by the cosine to a query's vector; `vectorsOf` gives a part's vectors of length 1, or `undefined` where there are none. */
export function rankByVectors<P extends SearchPart>(
  parts: readonly P[],
  limit: number,
  vectorsOf: (part: P) => { readonly query: Float32Array; readonly chunks: Float32Array } | undefined,
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
    if (vectors === undefined) continue;
    const { query, chunks } = vectors;
    const size = query.length;
    const offset = offsets[index] ?? 0;
    for (let ordinal = 0; ordinal < part.view.ids.length; ordinal++) {
      const from = ordinal * size;
      let dot = 0;
      for (let at = 0; at < size; at++) dot += (query[at] ?? 0) * (chunks[from + at] ?? 0);
      scores[offset + ordinal] = dot;
    }
  }
  return selectHits(parts, offsets, scores, limit);
}
