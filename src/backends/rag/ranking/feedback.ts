import { countTerms } from "../text/analyze.ts";
import { type Hit, type SearchPart, statisticsOf, type WeightedTerms } from "./bm25.ts";

/** How a query learns from its own first results: from how many, how many terms, and how much its own words keep. */
export const FEEDBACK = { chunks: 10, terms: 10, ownWeight: 0.5 } as const;

const MAX_SHARE = 0.1;
const GOOD_TERM = /^[\p{L}\p{N}]{2,20}$/u;

/**
 * Widens a query by the terms that its best chunks share (RM3): a mixture of its own words and a relevance model of the chunks,
 * each of which counts by its score.
 *
 * @param termsOf reads the terms of a chunk again
 */
export function widenQuery(
  parts: readonly SearchPart[],
  query: WeightedTerms,
  hits: readonly Hit[],
  termsOf: (hit: Hit) => readonly string[],
): WeightedTerms {
  const model = new Map<string, number>();
  for (const hit of hits.slice(0, FEEDBACK.chunks)) {
    const terms = termsOf(hit);
    for (const [term, count] of countTerms(terms)) {
      model.set(term, (model.get(term) ?? 0) + (hit.score * count) / Math.max(1, terms.length));
    }
  }
  const chosen = chooseTerms(parts, model);
  const total = chosen.reduce((sum, [, weight]) => sum + weight, 0);
  const own = [...query.values()].reduce((sum, weight) => sum + weight, 0);
  if (total === 0 || own === 0) return query;
  const widened = new Map<string, number>();
  for (const [term, weight] of query) widened.set(term, (FEEDBACK.ownWeight * weight) / own);
  for (const [term, weight] of chosen) {
    widened.set(term, (widened.get(term) ?? 0) + ((1 - FEEDBACK.ownWeight) * weight) / total);
  }
  return widened;
}

/** The weightiest terms that are not everywhere. */
function chooseTerms(parts: readonly SearchPart[], model: ReadonlyMap<string, number>): [string, number][] {
  const { chunks } = statisticsOf(parts);
  const chosen: [string, number][] = [];
  for (const [term, weight] of [...model].toSorted((left, right) => right[1] - left[1])) {
    if (chosen.length === FEEDBACK.terms) break;
    if (!GOOD_TERM.test(term)) continue;
    const frequency = parts.reduce((sum, { reader, view }) => sum + reader.frequency(view.segment, term), 0);
    // Of very few chunks each holds a good part of all terms.
    if (frequency > Math.max(1, chunks * MAX_SHARE)) continue;
    chosen.push([term, weight]);
  }
  return chosen;
}
