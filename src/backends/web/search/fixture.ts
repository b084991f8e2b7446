import { z } from "zod";
import { NOTHING, type SearchAnswer, type SearchProvider, type SearchQuery } from "./provider.ts";
import { toImageHits, toWebHits } from "./read-answer.ts";

const HttpUrl = z.url({ protocol: /^https?$/ });

/** A page of the local provider, and the image that it shows. */
export const FixtureDocument = z.strictObject({
  url: HttpUrl,
  title: z.string().max(1_024).default(""),
  text: z.string().max(100_000).default(""),
  date: z.string().max(64).optional(),
  image_url: HttpUrl.optional(),
});
export type FixtureDocument = z.infer<typeof FixtureDocument>;

const SNIPPET = 300;

/** Finds documents that the config holds by how many of the query's words they have; asks nobody. */
export function createFixture({ documents }: { readonly documents: readonly FixtureDocument[] }): SearchProvider {
  return {
    name: "fixture",
    kinds: ["web", "images", "reverse_images"],
    maxCount: 100,
    maxPage: { web: 100, images: 100, reverse_images: 100 },
    search: async (query) => findIn(documents, query),
  };
}

function findIn(documents: readonly FixtureDocument[], { kind, text, count, page }: SearchQuery): SearchAnswer {
  const matching =
    kind === "reverse_images"
      ? documents.filter(({ image_url: image }) => image !== undefined && image === text)
      : rank(documents, text).filter(({ image_url: image }) => kind === "web" || image !== undefined);
  const shown = matching.slice((page - 1) * count, page * count);
  if (kind === "web") {
    const hits = shown.map(({ title, url, text: body, date }) => ({
      title,
      url,
      snippet: body.slice(0, SNIPPET),
      date: date ?? null,
      source: null,
    }));
    return { ...NOTHING, results: toWebHits(hits, count) };
  }
  const images = shown.map(({ title, url, image_url: image }) => ({
    title,
    image_url: image ?? null,
    thumbnail_url: null,
    width: null,
    height: null,
    link: url,
    source: new URL(url).hostname,
  }));
  return { ...NOTHING, images: toImageHits(images, count) };
}

/** Those that have any of the words, most of them first, a word in the title counting twice; else as they stand. */
function rank(documents: readonly FixtureDocument[], query: string): FixtureDocument[] {
  const words = new Set(wordsOf(query));
  const scored = documents.map((document) => {
    const inTitle = new Set(wordsOf(document.title));
    const inText = new Set(wordsOf(document.text));
    let score = 0;
    for (const word of words) score += (inTitle.has(word) ? 2 : 0) + (inText.has(word) ? 1 : 0);
    return { document, score };
  });
  return scored
    .filter(({ score }) => score > 0)
    .toSorted((left, right) => right.score - left.score)
    .map(({ document }) => document);
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}
