import fc from "fast-check";
import { expect, it } from "vitest";
import { rankSections } from "../../../src/backends/doc/rank-sections.ts";
import { countTerms, toTerms } from "../../../src/backends/doc/section-terms.ts";

const WORDS = ["copper", "wire", "zinc", "über", "metals", "metal", "銅線", "x1"];
const section = fc.record({
  title: fc.array(fc.constantFrom(...WORDS), { maxLength: 2 }).map((words) => words.join(" ")),
  body: fc.array(fc.constantFrom(...WORDS), { maxLength: 12 }).map((words) => words.join(", ")),
});
const library = fc.array(fc.array(section, { minLength: 1, maxLength: 5 }), { maxLength: 4 });

/** BM25 as it is written, over all sections, word by word. */
function naive(documents: readonly (readonly { title: string; body: string }[])[], query: string) {
  const all = documents.flatMap((sections, document) =>
    sections.map(({ title, body }, index) => {
      const heading = toTerms(title);
      return { id: String(document), index, terms: [...toTerms(body), ...heading, ...heading] };
    }),
  );
  const mean = Math.max(1, all.reduce((sum, { terms }) => sum + terms.length, 0) / Math.max(1, all.length));
  return all
    .map(({ id, index, terms }) => {
      let score = 0;
      for (const word of new Set(toTerms(query))) {
        const holding = all.filter((other) => other.terms.includes(word)).length;
        const times = terms.filter((term) => term === word).length;
        const weight = Math.log(1 + (all.length - holding + 0.5) / (holding + 0.5));
        score += (weight * times * 1.9) / (times + 0.9 * (0.6 + (0.4 * terms.length) / mean));
      }
      return { id, index, score };
    })
    .filter(({ score }) => score > 0)
    .toSorted((left, right) => right.score - left.score);
}

it("ranks sections by their counted words as BM25 ranks them by their texts", () => {
  fc.assert(
    fc.property(library, fc.array(fc.constantFrom(...WORDS), { maxLength: 3 }), (documents, words) => {
      const counted = documents.map((sections, document) => {
        const text = sections.map(({ body }) => body).join("\n");
        let start = 0;
        const parts = sections.map(({ title, body }, index) => {
          const part = { id: String(index), title, level: 1, page: null, start, end: start + body.length };
          start += body.length + 1;
          return part;
        });
        return { id: String(document), ...countTerms(text, parts) };
      });
      const terms = [...new Set(toTerms(words.join(" ")))].map((term) =>
        counted.flatMap(({ id, counts }) => {
          const found = counts.get(term);
          return found === undefined ? [] : [{ id, counts: found }];
        }),
      );
      const ranked = rankSections(counted, terms, 1_000);
      const expected = naive(documents, words.join(" "));
      expect(ranked.map(({ score }) => score.toFixed(9))).toEqual(expected.map(({ score }) => score.toFixed(9)));
      const key = ({ id, index, score }: { id: string; index: number; score: number }) =>
        `${id} ${index} ${score.toFixed(9)}`;
      expect(ranked.map(key).toSorted()).toEqual(expected.map(key).toSorted());
    }),
  );
});
