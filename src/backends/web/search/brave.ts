import { NOTHING, type SearchAnswer, type SearchProvider, type SearchQuery, type SendRequest } from "./provider.ts";
import { fieldOf, objectOf, objectsIn, sizeOf, textOf, toImageHits, toWebHits, urlOf } from "./read-answer.ts";

const RECENCY = { day: "pd", week: "pw", month: "pm", year: "py" } as const;

/** Brave's own index. */
export function createBrave({ url, api_key: key }: { readonly url: string; readonly api_key: string }): SearchProvider {
  return {
    name: "brave",
    kinds: ["web", "images"],
    maxCount: 20,
    // Pages are numbered from 0 to 9; those of images are not.
    maxPage: { web: 10, images: 1, reverse_images: 1 },
    async search(query: SearchQuery, send: SendRequest) {
      const answer = await send({
        url: toUrl(url, query),
        headers: { accept: "application/json", "x-subscription-token": key },
      });
      return readBrave(answer, query);
    },
  };
}

function toUrl(base: string, { kind, text, count, page, language, country, recency }: SearchQuery): string {
  const url = new URL(`/res/v1/${kind === "images" ? "images" : "web"}/search`, base);
  url.searchParams.set("q", text);
  url.searchParams.set("count", String(count));
  if (country !== undefined) url.searchParams.set("country", country.toUpperCase());
  if (language !== undefined) url.searchParams.set("search_lang", language);
  if (kind === "web") {
    url.searchParams.set("text_decorations", "false");
    if (page > 1) url.searchParams.set("offset", String(page - 1));
    if (recency !== undefined) url.searchParams.set("freshness", RECENCY[recency]);
  }
  return url.href;
}

/** Reads what Brave answers. @throws ToolyardError `upstream_unreadable` */
export function readBrave(answer: unknown, { kind, count }: SearchQuery): SearchAnswer {
  const body = objectOf(answer, "brave");
  if (kind === "images") {
    const images = objectsIn(body["results"]).map((image) => ({
      title: textOf(image["title"]) ?? "",
      image_url: urlOf(fieldOf(image["properties"], "url")),
      thumbnail_url: urlOf(fieldOf(image["thumbnail"], "src")),
      width: sizeOf(fieldOf(image["properties"], "width")),
      height: sizeOf(fieldOf(image["properties"], "height")),
      link: urlOf(image["url"]),
      source: textOf(image["source"]),
    }));
    return { ...NOTHING, images: toImageHits(images, count) };
  }
  const hits = objectsIn(fieldOf(body["web"], "results")).map((hit) => ({
    title: textOf(hit["title"]) ?? "",
    url: urlOf(hit["url"]),
    snippet: textOf(hit["description"]) ?? "",
    date: textOf(hit["page_age"]) ?? textOf(hit["age"]),
    source: textOf(fieldOf(hit["profile"], "name")),
  }));
  return { ...NOTHING, results: toWebHits(hits, count) };
}
