import { NOTHING, type SearchAnswer, type SearchProvider, type SearchQuery, type SendRequest } from "./provider.ts";
import { fieldOf, objectOf, objectsIn, textOf, toImageHits, toWebHits, urlOf } from "./read-answer.ts";

const REGIONS = new Intl.DisplayNames(["en"], { type: "region", fallback: "none" });

/** Tavily's search for agents. It knows no pages of results and no languages. */
export function createTavily({
  url,
  api_key: key,
}: {
  readonly url: string;
  readonly api_key: string;
}): SearchProvider {
  return {
    name: "tavily",
    kinds: ["web", "images"],
    maxCount: 20,
    maxPage: { web: 1, images: 1, reverse_images: 1 },
    async search(query: SearchQuery, send: SendRequest) {
      const answer = await send({
        url: new URL("/search", url).href,
        headers: { authorization: `Bearer ${key}` },
        body: toBody(query),
      });
      return readTavily(answer, query);
    },
  };
}

function toBody({ kind, text, count, country, recency }: SearchQuery): Record<string, unknown> {
  // It wants the country's English name, in small letters.
  const name = country === undefined ? undefined : REGIONS.of(country.toUpperCase())?.toLowerCase();
  const isImages = kind === "images";
  return {
    query: text,
    max_results: count,
    search_depth: "basic",
    include_images: isImages,
    include_image_descriptions: isImages,
    ...(name !== undefined && { country: name }),
    ...(recency !== undefined && { time_range: recency }),
  };
}

/** Reads what Tavily answers. @throws ToolyardError `upstream_unreadable` */
export function readTavily(answer: unknown, { kind, count }: SearchQuery): SearchAnswer {
  const body = objectOf(answer, "tavily");
  const text = textOf(body["answer"]);
  if (kind === "images") {
    const list: readonly unknown[] = Array.isArray(body["images"]) ? body["images"] : [];
    const images = list.map((image) => ({
      title: textOf(fieldOf(image, "description")) ?? "",
      image_url: urlOf(image) ?? urlOf(fieldOf(image, "url")),
      thumbnail_url: null,
      width: null,
      height: null,
      link: null,
      source: null,
    }));
    return { ...NOTHING, answer: text, images: toImageHits(images, count) };
  }
  const hits = objectsIn(body["results"]).map((hit) => ({
    title: textOf(hit["title"]) ?? "",
    url: urlOf(hit["url"]),
    snippet: textOf(hit["content"]) ?? "",
    date: textOf(hit["published_date"]),
    source: null,
  }));
  return { ...NOTHING, answer: text, results: toWebHits(hits, count) };
}
