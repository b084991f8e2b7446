import type { KeptDocument } from "./document-store.ts";
import type { Section } from "./outline.ts";
import { toTerms } from "./section-terms.ts";

/** A document as it is ranked: by the words that its sections have. */
export interface RankedDocument {
  readonly id: string;
  readonly lengths: readonly number[];
}

/** Where a word stands: the document's id, and what {@link SectionTerms.counts} has of it there. */
export interface TermCounts {
  readonly id: string;
  readonly counts: readonly number[];
}

/** A section and how well it fits. */
export interface RankedSection {
  readonly id: string;
  /** Of the section in its document. */
  readonly index: number;
  readonly score: number;
}

const K1 = 0.9;
const B = 0.4;

/** Ranks the sections of some documents by BM25 over them, best first; a section without any of the words is left out. */
export function rankSections(
  documents: readonly RankedDocument[],
  terms: readonly (readonly TermCounts[])[],
  limit: number,
): RankedSection[] {
  const byId = new Map(documents.map((document) => [document.id, document]));
  const sections = documents.reduce((sum, { lengths }) => sum + lengths.length, 0);
  const words = documents.reduce((sum, { lengths }) => sum + lengths.reduce((total, length) => total + length, 0), 0);
  const meanLength = Math.max(1, words / Math.max(1, sections));
  const scores = new Map<string, number[]>();
  for (const found of terms) {
    const here = found.filter(({ id }) => byId.has(id));
    const holding = here.reduce((sum, { counts }) => sum + counts.length / 2, 0);
    const weight = Math.log(1 + (sections - holding + 0.5) / (holding + 0.5));
    for (const { id, counts } of here) {
      const lengths = byId.get(id)?.lengths ?? [];
      const own = scores.get(id) ?? [];
      scores.set(id, own);
      for (let at = 0; at < counts.length; at += 2) {
        const [index = 0, times = 0] = [counts[at], counts[at + 1]];
        const saturation = times + K1 * (1 - B + (B * (lengths[index] ?? 0)) / meanLength);
        own[index] = (own[index] ?? 0) + (weight * times * (K1 + 1)) / saturation;
      }
    }
  }
  return (
    documents
      .flatMap(({ id }) => (scores.get(id) ?? []).flatMap((score, index) => (score > 0 ? [{ id, index, score }] : [])))
      // Of equals the first comes first.
      .toSorted((left, right) => right.score - left.score)
      .slice(0, limit)
  );
}

/** Where in a document's text the first of some words stands in a section, else where that begins. */
export function findFirst({ text }: KeptDocument, { start, end }: Section, terms: ReadonlySet<string>): number {
  for (const { 0: word, index } of text.slice(start, end).matchAll(/[\p{L}\p{N}]+/gu)) {
    if (toTerms(word).some((term) => terms.has(term))) return start + index;
  }
  return start;
}
