import { ToolyardError } from "../../../core/errors.ts";
import { NOTHING, type SearchAnswer, type SearchProvider, type SearchQuery, type SendRequest } from "./provider.ts";
import { fieldOf, objectOf, objectsIn, textOf, toImageHits, toWebHits, urlOf } from "./read-answer.ts";

/** It knows no week; what it finds of the month has that of the week among it. */
const RECENCY = { day: "day", week: "month", month: "month", year: "year" } as const;

/** An instance of SearXNG, whose settings must allow `json` among its formats. It gives as many results as it likes. */
export function createSearxng({ url }: { readonly url: string }): SearchProvider {
  return {
    name: "searxng",
    kinds: ["web", "images"],
    maxCount: 100,
    maxPage: { web: 100, images: 100, reverse_images: 1 },
    async search(query: SearchQuery, send: SendRequest) {
      return readSearxng(await send({ url: toUrl(url, query), headers: { accept: "application/json" } }), query);
    },
  };
}

function toUrl(base: string, { kind, text, page, language, country, recency }: SearchQuery): string {
  // An instance may lie below a path.
  const url = new URL("search", base.endsWith("/") ? base : `${base}/`);
  url.searchParams.set("q", text);
  url.searchParams.set("format", "json");
  url.searchParams.set("categories", kind === "images" ? "images" : "general");
  url.searchParams.set("pageno", String(page));
  if (language !== undefined) {
    url.searchParams.set("language", country === undefined ? language : `${language}-${country.toUpperCase()}`);
  }
  if (recency !== undefined) url.searchParams.set("time_range", RECENCY[recency]);
  return url.href;
}

/** Reads what SearXNG answers, of old and of new versions. @throws ToolyardError `upstream_unreadable` */
export function readSearxng(answer: unknown, { kind, count }: SearchQuery): SearchAnswer {
  const body = objectOf(answer, "searxng");
  const found = objectsIn(body["results"]);
  if (found.length === 0) demandEngines(body["unresponsive_engines"]);
  if (kind === "images") {
    const images = found.map((image) => {
      const [, width, height] = /^(\d{1,6})\s*[x×]\s*(\d{1,6})/.exec(textOf(image["resolution"]) ?? "") ?? [];
      return {
        title: textOf(image["title"]) ?? "",
        image_url: urlOf(image["img_src"]),
        thumbnail_url: urlOf(image["thumbnail_src"]),
        width: width === undefined ? null : Number(width),
        height: height === undefined ? null : Number(height),
        link: urlOf(image["url"]),
        source: textOf(image["source"]) ?? textOf(image["engine"]),
      };
    });
    return { ...NOTHING, images: toImageHits(images, count) };
  }
  const hits = found.map((hit) => ({
    title: textOf(hit["title"]) ?? "",
    url: urlOf(hit["url"]),
    snippet: textOf(hit["content"]) ?? "",
    date: textOf(hit["publishedDate"]),
    source: textOf(hit["engine"]),
  }));
  const answers: readonly unknown[] = Array.isArray(body["answers"]) ? body["answers"] : [];
  const [said] = answers.flatMap((one) => textOf(one) ?? textOf(fieldOf(one, "answer")) ?? []);
  const [box] = objectsIn(body["infoboxes"]).flatMap((infobox) => textOf(infobox["content"]) ?? []);
  const suggestions: readonly unknown[] = Array.isArray(body["suggestions"]) ? body["suggestions"] : [];
  return {
    ...NOTHING,
    results: toWebHits(hits, count),
    answer: said ?? box ?? null,
    related: suggestions.flatMap((suggestion) => textOf(suggestion) ?? []),
  };
}

/** That nothing was found is no answer while engines did not answer. @throws ToolyardError `upstream_failed` */
function demandEngines(unresponsive: unknown): void {
  const engines: readonly unknown[] = Array.isArray(unresponsive) ? unresponsive : [];
  const said = engines.flatMap((engine) => (Array.isArray(engine) ? [engine.map(String).join(": ")] : []));
  if (said.length === 0) return;
  throw new ToolyardError(
    "upstream_failed",
    `searxng found nothing, and engines failed it: ${said.join(", ").slice(0, 300)}`,
    {
      details: { provider: "searxng" },
    },
  );
}
