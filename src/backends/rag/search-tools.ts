import type { z } from "zod";
import { ToolyardError } from "../../core/errors.ts";
import type { ToolContext } from "../../core/context.ts";
import { type Input, tool } from "../../core/tool.ts";
import type { Embedder } from "./dense/embedder.ts";
import type { RagConfig } from "./config.ts";
import type { Reranker } from "./rerank/reranker.ts";
import { BatchSearchParams, BatchSearchResult, type SearchHit, SearchParams, SearchResult } from "./schemas.ts";
import { toSearchedText } from "./index/writer.ts";
import { type FoundChunk, type RankingNote, retrieve, type Retriever } from "./search/retrieve.ts";
import { readSources, type Source, type SourcePart, withSources } from "./search/sources.ts";
import { type SearchTurn, SearchTurns } from "./search/turns.ts";
import type { Shelf } from "./shelf/shelf.ts";
import { TimeSlice } from "./time-slice.ts";

type SearchOptions = Omit<z.infer<typeof SearchParams>, "query">;

/** The models that a config names, which none needs. */
export interface SearchModels {
  readonly embedder: Embedder | undefined;
  readonly reranker: Reranker | undefined;
}

/** `rag:search` and `rag:batch_search`. */
export class SearchTools {
  readonly #shelf: Shelf;
  readonly #config: RagConfig;
  readonly #embedder: Embedder | undefined;
  readonly #reranker: Reranker | undefined;
  readonly #turns = new SearchTurns();

  constructor(shelf: Shelf, config: RagConfig, { embedder, reranker }: SearchModels) {
    this.#embedder = embedder;
    this.#reranker = reranker;
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
    using turn = this.#turns.begin();
    return this.#withSources(options, context, async (sources) => {
      const chosen = this.#choose(options);
      const [vector] = await this.#embed([query], chosen, turn);
      const reranker = this.#chooseReranker(options);
      const wanted = { query, vector, reranker };
      const { hits, notes } = readSources(sources, (parts) => this.#retrieve(parts, wanted, options, chosen));
      turn.end();
      const found = await this.#rerank(hits, wanted, options, context.signal);
      return {
        query,
        context: toContext(found),
        results: found,
        ...tellRankings(chosen, notes),
        ...(reranker !== undefined && { reranked: true as const }),
      };
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
      const chosen = this.#choose(options);
      const reranker = this.#chooseReranker(options);
      const slice = new TimeSlice();
      const vectors = await this.#embed(queries, chosen);
      const contexts: string[] = [];
      const results: SearchHit[][] = [];
      const errors: NonNullable<BatchSearchResult["errors"]> = [];
      const notes: RankingNote[] = [];
      for (const [index, query] of queries.entries()) {
        // oxlint-disable-next-line no-await-in-loop
        await slice.pause(context.signal);
        // oxlint-disable-next-line no-await-in-loop
        await this.#turns.giveWay();
        if (query.trim() === "") {
          errors.push({ index, query, error: "invalid_input", message: "the query is empty" });
          contexts.push("");
          results.push([]);
          continue;
        }
        const wanted = { query, vector: vectors[index], reranker };
        const read = readSources(sources, (parts) => this.#retrieve(parts, wanted, options, chosen));
        notes.push(...read.notes);
        // oxlint-disable-next-line no-await-in-loop -- an endpoint that reads texts is not asked for all queries at once
        const found = await this.#rerank(read.hits, wanted, options, context.signal);
        contexts.push(toContext(found));
        results.push(found);
      }
      if (errors.length === queries.length) {
        throw new ToolyardError("all_failed", "no query could be answered", { details: { errors } });
      }
      return {
        count: queries.length,
        contexts,
        results,
        ...tellRankings(chosen, notes),
        ...(reranker !== undefined && { reranked: true as const }),
        ...(errors.length > 0 && { errors }),
      };
    });
  }

  #retrieve(
    parts: readonly SourcePart[],
    { query, vector, reranker }: Wanted,
    { top_k, fusion, per_document: perDocument, filter }: SearchOptions,
    retrievers: readonly Retriever[],
  ): { readonly hits: SearchHit[]; readonly notes: readonly RankingNote[] } {
    const topK = Math.max(top_k ?? this.#config.default_top_k, reranker?.config.candidates ?? 0);
    const request = { query, topK, retrievers, fusion, perDocument, filter };
    const model = this.#config.embeddings?.model;
    const isDense = vector !== undefined && model !== undefined;
    const { chunks, notes } = retrieve(parts, isDense ? { ...request, dense: { model, query: vector } } : request);
    return { hits: chunks.map(toHit), notes };
  }

  /** Has the best read again, and leaves as many as are wanted. */
  async #rerank(
    found: readonly SearchHit[],
    { query, reranker }: Wanted,
    { top_k: topK = this.#config.default_top_k }: SearchOptions,
    signal: AbortSignal,
  ): Promise<SearchHit[]> {
    if (reranker === undefined) return found.slice(0, topK);
    const read = found.slice(0, reranker.config.candidates);
    const scores = await reranker.score(
      query,
      read.map(({ title, heading, text }) => toSearchedText(title, heading, text)),
      signal,
    );
    const best = read
      .map((hit, index) => ({ ...hit, score: scores[index] ?? 0 }))
      .toSorted((left, right) => right.score - left.score || left.rank - right.rank);
    return [...best, ...found.slice(read.length)].slice(0, topK).map((hit, index) => ({ ...hit, rank: index + 1 }));
  }

  #chooseReranker({ rerank }: SearchOptions): Reranker | undefined {
    if (rerank === false) return undefined;
    if (rerank === true && this.#reranker === undefined) {
      throw new ToolyardError("invalid_input", "nothing can rerank: the server's config names no rerank endpoint");
    }
    return this.#reranker;
  }

  #choose({ retrievers }: SearchOptions): Retriever[] {
    const chosen = [...new Set(retrievers ?? this.#config.retrievers)];
    if (chosen.includes("dense") && this.#embedder === undefined) {
      throw new ToolyardError("invalid_input", "there is no dense ranking: the server's config names no embeddings");
    }
    return chosen;
  }

  async #embed(
    queries: readonly string[],
    retrievers: readonly Retriever[],
    turn?: SearchTurn,
  ): Promise<Float32Array[]> {
    if (this.#embedder === undefined || !retrievers.includes("dense")) return [];
    // Nobody waits for a search that waits for an endpoint; what it does afterwards, it does at once.
    turn?.end();
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

/** What is looked for, and what puts the best in order. */
interface Wanted {
  readonly query: string;
  readonly vector: Float32Array | undefined;
  readonly reranker: Reranker | undefined;
}

/** The rankings that truly ranked, and a word on each that did not or not as usual. */
function tellRankings(chosen: readonly Retriever[], notes: readonly RankingNote[]) {
  const told = new Map(notes.map(({ retriever, note }) => [retriever, note]));
  return {
    retrievers: chosen.filter((name) => !notes.some(({ retriever, leftOut }) => leftOut && retriever === name)),
    ...(told.size > 0 && { notes: [...told].map(([retriever, note]) => ({ retriever, note })) }),
  };
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
