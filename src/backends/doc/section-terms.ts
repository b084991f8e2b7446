import { stemmer } from "stemmer";
import type { Section } from "./outline.ts";

/** Which words a document's sections have, and how often; what a search ranks by, counted once. */
export interface SectionTerms {
  /** Words of each section, those of its title weighed. */
  readonly lengths: readonly number[];
  /** By word: the index of a section that has it, how often, the index of the next, and so on. */
  readonly counts: ReadonlyMap<string, readonly number[]>;
}

/** A word in a heading says more than one in the text. */
const TITLE_WEIGHT = 3;

export function countTerms(text: string, sections: readonly Section[]): SectionTerms {
  const counts = new Map<string, number[]>();
  const lengths = sections.map(({ title, start, end }, index) => {
    let length = 0;
    const add = (part: string, weight: number): void => {
      for (const term of toTerms(part)) {
        length += weight;
        const found = counts.get(term);
        if (found === undefined) counts.set(term, [index, weight]);
        else if (found.at(-2) === index) found[found.length - 1] = (found.at(-1) ?? 0) + weight;
        else found.push(index, weight);
      }
    };
    add(text.slice(start, end), 1);
    add(title, TITLE_WEIGHT - 1);
    return length;
  });
  return { lengths, counts };
}

/** Words without accents and English endings; of scripts without spaces, pairs of letters. */
export function toTerms(text: string): string[] {
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
