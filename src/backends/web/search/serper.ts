import { NOTHING, type SearchAnswer, type SearchProvider, type SearchQuery, type SendRequest } from "./provider.ts";
import { fieldOf, objectOf, objectsIn, sizeOf, textOf, toImageHits, toWebHits, urlOf } from "./read-answer.ts";

const PATHS = { web: "/search", images: "/images", reverse_images: "/lens" } as const;
const RECENCY = { day: "qdr:d", week: "qdr:w", month: "qdr:m", year: "qdr:y" } as const;

/** Google's results by way of serper.dev. */
export function createSerper({
  url,
  api_key: key,
}: {
  readonly url: string;
  readonly api_key: string;
}): SearchProvider {
  return {
    name: "serper",
    kinds: ["web", "images", "reverse_images"],
    maxCount: 100,
    maxPage: { web: 100, images: 100, reverse_images: 1 },
    async search(query: SearchQuery, send: SendRequest) {
      const answer = await send({
        url: new URL(PATHS[query.kind], url).href,
        headers: { "x-api-key": key },
        body: toBody(query),
      });
      return readSerper(answer, query);
    },
  };
}

function toBody({ kind, text, count, page, language, country, recency }: SearchQuery): Record<string, unknown> {
  const place = {
    ...(country !== undefined && { gl: country.toLowerCase() }),
    ...(language !== undefined && { hl: language }),
  };
  if (kind === "reverse_images") return { url: text, ...place };
  return { q: text, num: count, page, ...place, ...(recency !== undefined && { tbs: RECENCY[recency] }) };
}

/** Reads what serper.dev answers. @throws ToolyardError `upstream_unreadable` */
export function readSerper(answer: unknown, { kind, count }: SearchQuery): SearchAnswer {
  const body = objectOf(answer, "serper");
  if (kind !== "web") {
    const images = objectsIn(kind === "images" ? body["images"] : body["organic"]).map((image) => ({
      title: textOf(image["title"]) ?? "",
      image_url: urlOf(image["imageUrl"]),
      thumbnail_url: urlOf(image["thumbnailUrl"]),
      width: sizeOf(image["imageWidth"]),
      height: sizeOf(image["imageHeight"]),
      link: urlOf(image["link"]),
      source: textOf(image["source"]) ?? textOf(image["domain"]),
    }));
    return { ...NOTHING, images: toImageHits(images, count) };
  }
  const hits = objectsIn(body["organic"]).map((hit) => ({
    title: textOf(hit["title"]) ?? "",
    url: urlOf(hit["link"]),
    snippet: textOf(hit["snippet"]) ?? "",
    date: textOf(hit["date"]),
    source: textOf(hit["source"]),
  }));
  const box = body["answerBox"];
  const graph = body["knowledgeGraph"];
  return {
    ...NOTHING,
    results: toWebHits(hits, count),
    answer: textOf(fieldOf(box, "answer")) ?? textOf(fieldOf(box, "snippet")) ?? textOf(fieldOf(graph, "description")),
    related: objectsIn(body["relatedSearches"]).flatMap((related) => textOf(related["query"]) ?? []),
  };
}
