import { stemmer } from "stemmer";
import type { KeptDocument } from "./document-store.ts";
import type { Section } from "./outline.ts";

/** A section and how well it fits. */
export interface RankedSection {
  readonly document: KeptDocument;
  readonly section: Section;
  readonly score: number;
  /** Where in the document's text the first of the words stands, else where the section begins. */
  readonly at: number;
}

const K1 = 0.9;
const B = 0.4;
/** A word in a heading says more than one in the text. */
const TITLE_WEIGHT = 3;

interface Counted {
  readonly document: KeptDocument;
  readonly section: Section;
  readonly counts: ReadonlyMap<string, number>;
  readonly length: number;
}

/** Ranks the sections of some documents by BM25 over them, best first; a section without any of the words is left out. */
export function rankSections(documents: readonly KeptDocument[], query: string, limit: number): RankedSection[] {
  const terms = new Set(toTerms(query));
  const counted = documents.flatMap((document) => document.sections.map((section) => count(document, section, terms)));
  const meanLength = counted.reduce((sum, { length }) => sum + length, 0) / Math.max(1, counted.length);
  const weights = [...terms].map((term) => {
    const holding = counted.filter(({ counts }) => counts.has(term)).length;
    return [term, Math.log(1 + (counted.length - holding + 0.5) / (holding + 0.5))] as const;
  });
  return counted
    .map(({ document, section, counts, length }) => {
      let score = 0;
      for (const [term, weight] of weights) {
        const times = counts.get(term) ?? 0;
        score += (weight * times * (K1 + 1)) / (times + K1 * (1 - B + (B * length) / Math.max(1, meanLength)));
      }
      return { document, section, score };
    })
    .filter(({ score }) => score > 0)
    .toSorted((left, right) => right.score - left.score)
    .slice(0, limit)
    .map((ranked) => ({ ...ranked, at: findFirst(ranked.document, ranked.section, terms) }));
}

function count(document: KeptDocument, section: Section, terms: ReadonlySet<string>): Counted {
  const counts = new Map<string, number>();
  let length = 0;
  const add = (text: string, weight: number) => {
    for (const term of toTerms(text)) {
      length += weight;
      if (terms.has(term)) counts.set(term, (counts.get(term) ?? 0) + weight);
    }
  };
  add(document.text.slice(section.start, section.end), 1);
  add(section.title, TITLE_WEIGHT - 1);
  return { document, section, counts, length };
}

function findFirst({ text }: KeptDocument, { start, end }: Section, terms: ReadonlySet<string>): number {
  for (const { 0: word, index } of text.slice(start, end).matchAll(/[\p{L}\p{N}]+/gu)) {
    if (toTerms(word).some((term) => terms.has(term))) return start + index;
  }
  return start;
}

/** Words without accents and English endings; of scripts without spaces, pairs of letters. */
function toTerms(text: string): string[] {
  const words =
    text
      .normalize("NFKD")
      .replace(/\p{M}+/gu, "")
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? [];
  return words.flatMap((word) => {
    if (/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u.test(word)) {
      const letters = [...word];
      return letters.length === 1 ? letters : letters.slice(1).map((letter, index) => `${letters[index]}${letter}`);
    }
    return [/^[a-z]+$/.test(word) ? stemmer(word) : word];
  });
}
