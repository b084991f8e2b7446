import type { z } from "zod";
import { ToolyardError } from "../../core/errors.ts";
import type { ToolContext } from "../../core/context.ts";
import { type Input, tool } from "../../core/tool.ts";
import type { Embedder } from "./dense/embedder.ts";
import type { RagConfig } from "./config.ts";
import { BatchSearchParams, BatchSearchResult, type SearchHit, SearchParams, SearchResult } from "./schemas.ts";
import { type FoundChunk, retrieve, type Retriever } from "./search/retrieve.ts";
import { readSources, type Source, type SourcePart, withSources } from "./search/sources.ts";
import type { Shelf } from "./shelf/shelf.ts";
import { TimeSlice } from "./time-slice.ts";

type SearchOptions = Omit<z.infer<typeof SearchParams>, "query">;

/** `rag:search` and `rag:batch_search`. */
export class SearchTools {
  readonly #shelf: Shelf;
  readonly #config: RagConfig;

  readonly #embedder: Embedder | undefined;

  constructor(shelf: Shelf, config: RagConfig, embedder: Embedder | undefined) {
    this.#embedder = embedder;
    this.#shelf = shelf;
    this.#config = config;
  }

  @tool({
    description:
      "Search the indexed documents. Answers the chunks that fit best with their places, scores and ranks, and all of them as one context.",
    params: SearchParams,
    result: SearchResult,
    annotations: { title: "Search documents", readOnlyHint: true, idempotentHint: true },
  })
  async search({ query, ...options }: Input<typeof SearchParams>, context: ToolContext): Promise<SearchResult> {
    return this.#withSources(options, context, async (sources) => {
      const retrievers = this.#choose(options);
      const [vector] = await this.#embed([query], retrievers);
      const found = readSources(sources, (parts) => this.#retrieve(parts, { query, vector }, options, retrievers));
      return { query, context: toContext(found), results: found, retrievers };
    });
  }

  @tool({
    description: "Search for several queries at once; each is answered as rag:search answers it.",
    params: BatchSearchParams,
    result: BatchSearchResult,
    annotations: { title: "Search for several queries", readOnlyHint: true, idempotentHint: true },
  })
  async batchSearch(
    { queries, ...options }: Input<typeof BatchSearchParams>,
    context: ToolContext,
  ): Promise<BatchSearchResult> {
    if (queries.length > this.#config.max_queries) {
      const max = this.#config.max_queries;
      throw new ToolyardError("limit_exceeded", `at most ${max} queries at once`, {
        details: { limit: "max_queries", max },
      });
    }
    return this.#withSources(options, context, async (sources) => {
      const retrievers = this.#choose(options);
      const slice = new TimeSlice();
      const vectors = await this.#embed(queries, retrievers);
      const contexts: string[] = [];
      const results: SearchHit[][] = [];
      const errors: NonNullable<BatchSearchResult["errors"]> = [];
      for (const [index, query] of queries.entries()) {
        // oxlint-disable-next-line no-await-in-loop
        await slice.pause(context.signal);
        if (query.trim() === "") {
          errors.push({ index, query, error: "invalid_input", message: "the query is empty" });
          contexts.push("");
          results.push([]);
          continue;
        }
        const found = readSources(sources, (parts) =>
          this.#retrieve(parts, { query, vector: vectors[index] }, options, retrievers),
        );
        contexts.push(toContext(found));
        results.push(found);
      }
      if (errors.length === queries.length) {
        throw new ToolyardError("all_failed", "no query could be answered", { details: { errors } });
      }
      return { count: queries.length, contexts, results, retrievers, ...(errors.length > 0 && { errors }) };
    });
  }

  #retrieve(
    parts: readonly SourcePart[],
    { query, vector }: { readonly query: string; readonly vector: Float32Array | undefined },
    { top_k: topK, fusion, per_document: perDocument, filter }: SearchOptions,
    retrievers: readonly Retriever[],
  ): SearchHit[] {
    const request = { query, topK: topK ?? this.#config.default_top_k, retrievers, fusion, perDocument, filter };
    const model = this.#config.embeddings?.model;
    if (vector !== undefined && model !== undefined) {
      return retrieve(parts, { ...request, dense: { model, query: vector } }).map(toHit);
    }
    return retrieve(parts, request).map(toHit);
  }

  #choose({ retrievers }: SearchOptions): Retriever[] {
    const chosen = [...new Set(retrievers ?? this.#config.retrievers)];
    if (chosen.includes("dense") && this.#embedder === undefined) {
      throw new ToolyardError("invalid_input", "there is no dense ranking: the server's config names no embeddings");
    }
    return chosen;
  }

  async #embed(queries: readonly string[], retrievers: readonly Retriever[]): Promise<Float32Array[]> {
    if (this.#embedder === undefined || !retrievers.includes("dense")) return [];
    const { query_prefix: prefix } = this.#embedder.config;
    return this.#embedder.embed(queries.map((query) => prefix + query));
  }

  async #withSources<T>(
    { collection, top_k: topK }: SearchOptions,
    context: ToolContext,
    work: (sources: readonly Source[]) => Promise<T>,
  ): Promise<T> {
    const max = this.#config.max_top_k;
    if (topK !== undefined && topK > max) {
      throw new ToolyardError("limit_exceeded", `top_k is at most ${max}`, { details: { limit: "max_top_k", max } });
    }
    const names = [...new Set([collection ?? this.#config.default_collection].flat())];
    return withSources(this.#shelf, context, names, async (sources) => {
      const missing = names.filter((name) => !sources.some((source) => source.name === name));
      // The default one is there from the start, empty.
      const unknown = missing.find((name) => name !== this.#config.default_collection);
      if (unknown !== undefined) {
        throw new ToolyardError("unknown_name", `there is no collection "${unknown}"`, {
          suggestion: "rag:collections lists those that there are.",
        });
      }
      return work(sources);
    });
  }
}

/** The chunks as one text, as the known implementation joins them. */
function toContext(found: readonly SearchHit[]): string {
  return found.map(({ title, document_id: id, text }) => `[${title ?? id}]\n${text}`).join("\n---\n");
}

function toHit({ hit, document, ...chunk }: FoundChunk, index: number): SearchHit {
  return {
    rank: index + 1,
    score: hit.score,
    document_id: document.id,
    chunk: chunk.ordinal,
    collection: chunk.collection,
    shared: chunk.shared,
    title: document.title,
    source: document.source,
    heading: chunk.heading,
    start: chunk.start,
    end: chunk.end,
    text: chunk.text(),
    metadata: document.metadata === null ? null : JSON.parse(document.metadata),
    retrievers: hit.ranks,
  };
}
