import type { z } from "zod";
import type { ToolContext } from "../../core/context.ts";
import { type Input, tool } from "../../core/tool.ts";
import { checkCount } from "./check-count.ts";
import type { WebConfig } from "./config.ts";
import { checkUrl } from "./http/url.ts";
import { type ItemError, runBatch, warnOf } from "./run-batch.ts";
import { ImageSearchParams, ReverseImageSearchParams, SearchParams } from "./schemas.ts";
import type { ImageHit, ProviderName, SearchKind, WebHit } from "./search/provider.ts";
import type { Found, SearchEngine } from "./search/search-engine.ts";
import { SEPARATOR, showImages, showWebResults } from "./show-results.ts";

const READS = { readOnlyHint: true, openWorldHint: true };

/** What became of one query. */
export interface QuerySearch {
  readonly query: string;
  readonly provider: ProviderName | null;
  readonly cached: boolean;
  readonly results: readonly WebHit[];
  readonly answer: string | null;
  readonly related: readonly string[];
  readonly error?: ItemError;
}

/** What became of one query for images. */
export interface QueryImages {
  readonly query: string;
  readonly provider: ProviderName | null;
  readonly cached: boolean;
  readonly images: readonly ImageHit[];
  readonly error?: ItemError;
}

interface Asked {
  readonly query: string;
  readonly found: Found | null;
  readonly error?: ItemError;
}

type Options = Omit<z.output<typeof SearchParams>, "query">;

/** The tools that ask providers of search. */
export class SearchTools {
  readonly #engine: SearchEngine;
  readonly #config: WebConfig;

  constructor(engine: SearchEngine, config: WebConfig) {
    this.#engine = engine;
    this.#config = config;
  }

  @tool({
    description: "Search the web. Gives titles, URLs and snippets; read the pages themselves with web:visit.",
    params: SearchParams,
    annotations: READS,
  })
  async search({ query, ...options }: Input<typeof SearchParams>, context: ToolContext) {
    const queries = [query].flat();
    const { asked, warning } = await this.#ask("web", queries, options, context);
    return {
      result: join(asked, showWebResults),
      searches: asked.map(
        ({ found, ...rest }): QuerySearch => ({
          ...rest,
          provider: found?.provider ?? null,
          cached: found?.cached ?? false,
          results: found?.results ?? [],
          answer: found?.answer ?? null,
          related: found?.related ?? [],
        }),
      ),
      inputs: { query },
      ...warning,
    };
  }

  @tool({
    description: "Search for images by words. Gives the images' URLs and the pages that show them.",
    params: ImageSearchParams,
    annotations: READS,
  })
  async imageSearch({ query, ...options }: Input<typeof ImageSearchParams>, context: ToolContext) {
    return { ...(await this.#images("images", [query].flat(), options, context)), inputs: { query } };
  }

  @tool({
    description: "Find where an image is used, and what it shows, by its URL.",
    params: ReverseImageSearchParams,
    annotations: READS,
  })
  async reverseImageSearch(
    { image_url: image, ...options }: Input<typeof ReverseImageSearchParams>,
    context: ToolContext,
  ) {
    const urls = [image].flat().map((url) => checkUrl(url).href);
    return { ...(await this.#images("reverse_images", urls, options, context)), inputs: { image_url: image } };
  }

  async #images(kind: SearchKind, queries: readonly string[], options: Options, context: ToolContext) {
    const { asked, warning } = await this.#ask(kind, queries, options, context);
    return {
      result: join(asked, showImages),
      searches: asked.map(
        ({ found, ...rest }): QueryImages => ({
          ...rest,
          provider: found?.provider ?? null,
          cached: found?.cached ?? false,
          images: found?.images ?? [],
        }),
      ),
      images: asked.flatMap(({ found }) => found?.images ?? []),
      ...warning,
    };
  }

  async #ask(
    kind: SearchKind,
    queries: readonly string[],
    { count, page, language, country, recency, provider, fresh }: Options,
    context: ToolContext,
  ): Promise<{ readonly asked: readonly Asked[]; readonly warning: { readonly warning?: string } }> {
    const { search } = this.#config;
    checkCount(queries.length, search.max_queries, "max_queries");
    const query = { kind, count: count ?? search.default_count, page, language, country, recency };
    const { tenant, signal } = context;
    const results = await runBatch(queries, search.parallel, context, (text) =>
      this.#engine.ask({ ...query, text }, { tenant, provider, fresh, signal }),
    );
    const asked = results.map((result, index): Asked => {
      const text = queries[index] ?? "";
      return "error" in result
        ? { query: text, found: null, error: result.error }
        : { query: text, found: result.value };
    });
    const warning = warnOf(results, "queries");
    return { asked, warning: warning === undefined ? {} : { warning } };
  }
}

function join(asked: readonly Asked[], show: (query: string, found: Found) => string): string {
  return asked
    .map(({ query, found, error }) =>
      found === null ? `[Search for '${query}' failed: ${error?.message}]` : show(query, found),
    )
    .join(SEPARATOR);
}
