import type { ToolContext } from "../../core/context.ts";
import { ToolyardError } from "../../core/errors.ts";
import { type Input, tool } from "../../core/tool.ts";
import type { RagConfig } from "./config.ts";
import type { Embedder } from "./dense/embedder.ts";
import type { CollectionIndex } from "./index/collection-index.ts";
import type { DocumentRow, IndexReader } from "./index/reader.ts";
import {
  CollectionsResult,
  type DocumentListing,
  GetParams,
  GetResult,
  ListParams,
  ListResult,
  StatsResult,
} from "./schemas.ts";
import { MIN_FEEDBACK_CHUNKS, type Retriever, RETRIEVERS } from "./search/retrieve.ts";
import { isHidden, type Source, withSources } from "./search/sources.ts";
import type { Shelf } from "./shelf/shelf.ts";

const VERSION = "1";

/** `rag:get`, `rag:list`, `rag:collections` and `rag:stats`. */
export class ListingTools {
  readonly #shelf: Shelf;
  readonly #config: RagConfig;

  readonly #embedder: Embedder | undefined;

  constructor(shelf: Shelf, config: RagConfig, embedder: Embedder | undefined) {
    this.#embedder = embedder;
    this.#shelf = shelf;
    this.#config = config;
  }

  @tool({
    description: "Get a document's text, or a stretch of it, and what is known of it.",
    params: GetParams,
    result: GetResult,
    annotations: { title: "Get a document", readOnlyHint: true, idempotentHint: true },
  })
  async get({ id, collection, start, end, chunks }: Input<typeof GetParams>, context: ToolContext): Promise<GetResult> {
    return this.#withSource(collection, context, (source, name) => {
      const found = source && findDocument(source, id);
      if (found === undefined) {
        throw new ToolyardError("unknown_name", `there is no document "${id.slice(0, 100)}" in ${name}`, {
          suggestion: "rag:list lists those that there are.",
        });
      }
      const { reader, row, shared } = found;
      const stop = Math.min(end ?? row.characters, row.characters);
      return {
        collection: name,
        ...toListing(row, shared),
        start: Math.min(start, stop),
        end: stop,
        text: start < stop ? reader.text(row.document, start, stop) : "",
        ...(chunks && {
          chunks: reader.chunksOf(row).map((chunk) => ({
            start: chunk.start_at,
            end: chunk.end_at,
            heading: chunk.heading,
          })),
        }),
      };
    });
  }

  @tool({
    description: "List the documents of a collection by id, a page at a time.",
    params: ListParams,
    result: ListResult,
    annotations: { title: "List documents", readOnlyHint: true, idempotentHint: true },
  })
  async list(params: Input<typeof ListParams>, context: ToolContext): Promise<ListResult> {
    const { collection, prefix, limit, after } = params;
    return this.#withSource(collection, context, (source, name) => {
      const documents: DocumentListing[] = [];
      if (source !== undefined) {
        for (const entry of merged(source, after, prefix)) {
          if (documents.length > limit) break;
          documents.push(entry);
        }
      }
      const page = documents.slice(0, limit);
      return { collection: name, documents: page, next: documents.length > limit ? (page.at(-1)?.id ?? null) : null };
    });
  }

  @tool({
    description: "List the collections that can be searched: the shared ones and this worker's own.",
    result: CollectionsResult,
    annotations: { title: "List collections", readOnlyHint: true, idempotentHint: true },
  })
  async collections(_params: object, context: ToolContext): Promise<CollectionsResult> {
    const [shared, own] = await Promise.all([this.#shelf.listShared(), this.#shelf.listOwn(context)]);
    const names = [...new Set([this.#config.default_collection, ...shared, ...own])].toSorted();
    const model = this.#config.embeddings?.model;
    return withSources(this.#shelf, context, names, (sources) => ({
      collections: names.map((name) => {
        const source = sources.find((one) => one.name === name);
        return {
          name,
          default: name === this.#config.default_collection,
          shared: source?.shared === undefined ? null : toAmount(source.shared, model),
          own: source?.own === undefined ? null : toAmount(source.own, model),
        };
      }),
    }));
  }

  @tool({
    description: "Tell what is indexed for this worker, which rankings there are, and what the limits are.",
    result: StatsResult,
    annotations: { title: "Tell the state of the index", readOnlyHint: true, idempotentHint: true },
  })
  async stats(_params: object, context: ToolContext): Promise<StatsResult> {
    const { collections } = await this.collections({}, context);
    const amounts = collections.flatMap(({ shared, own }) => [shared, own]).filter((amount) => amount !== null);
    const sum = (key: "documents" | "chunks" | "text_bytes" | "disk_bytes") =>
      amounts.reduce((total, amount) => total + amount[key], 0);
    const { max_documents, max_text_mib, max_collections, max_top_k, max_queries } = this.#config;
    return {
      initialized: true,
      backend_version: VERSION,
      index: {
        documents: sum("documents"),
        chunks: sum("chunks"),
        text_bytes: sum("text_bytes"),
        disk_bytes: sum("disk_bytes"),
        collections: collections.length,
        open: this.#shelf.openIndexes,
        cache_bytes: this.#shelf.cacheBytes,
      },
      retrievers: RETRIEVERS.filter((name) => name !== "dense" || this.#embedder !== undefined),
      limits: { max_documents, max_text_mib, max_collections, max_top_k, max_queries },
      batcher: { ...this.#embedder?.counts },
    };
  }

  #withSource<T>(
    collection: string | undefined,
    context: ToolContext,
    work: (source: Source | undefined, name: string) => T,
  ): Promise<T> {
    const name = collection ?? this.#config.default_collection;
    return withSources(this.#shelf, context, [name], ([source]) => {
      if (source === undefined && name !== this.#config.default_collection) {
        throw new ToolyardError("unknown_name", `there is no collection "${name}"`, {
          suggestion: "rag:collections lists those that there are.",
        });
      }
      return work(source, name);
    });
  }
}

function findDocument({ shared, own }: Source, id: string) {
  const mine = own?.reader.document(id);
  if (own !== undefined && mine !== undefined) return { reader: own.reader, row: mine, shared: false };
  const row = isHidden(own?.reader, id) ? undefined : shared?.reader.document(id);
  return shared !== undefined && row !== undefined ? { reader: shared.reader, row, shared: true } : undefined;
}

/** The documents of both layers by id, the worker's own in place of shared ones. */
function* merged({ shared, own }: Source, after: string, prefix: string): Generator<DocumentListing> {
  const hidden = new Set(own?.reader.hidden());
  const mine = pages(own?.reader, after, prefix);
  const theirs = pages(shared?.reader, after, prefix);
  let left = mine.next();
  let right = theirs.next();
  while (left.done !== true || right.done !== true) {
    if (right.done === true || (left.done !== true && compareIds(left.value.id, right.value.id) <= 0)) {
      if (left.done === true) return;
      yield toListing(left.value, false);
      if (right.done !== true && right.value.id === left.value.id) right = theirs.next();
      left = mine.next();
    } else {
      if (!hidden.has(right.value.id)) yield toListing(right.value, true);
      right = theirs.next();
    }
  }
}

const PAGE = 200;

function* pages(reader: IndexReader | undefined, after: string, prefix: string): Generator<DocumentRow> {
  for (let last = after; reader !== undefined; ) {
    const rows = reader.list(last, PAGE, prefix);
    yield* rows;
    if (rows.length < PAGE) return;
    last = rows.at(-1)?.id ?? last;
  }
}

/** As SQLite orders them. */
function compareIds(left: string, right: string): number {
  return Buffer.compare(Buffer.from(left), Buffer.from(right));
}

function toListing(row: DocumentRow, shared: boolean): DocumentListing {
  return {
    id: row.id,
    title: row.title,
    source: row.source,
    media_type: row.media_type,
    metadata: row.metadata === null ? null : JSON.parse(row.metadata),
    characters: row.characters,
    chunk_count: row.chunks,
    shared,
    indexed_at: new Date(row.indexed_at).toISOString(),
  };
}

function toAmount({ reader, semantic, dense }: CollectionIndex, model: string | undefined) {
  const { documents, chunks, bytes } = reader.totals();
  const ready: Readonly<Record<Retriever, boolean>> = {
    bm25: true,
    feedback: chunks >= MIN_FEEDBACK_CHUNKS,
    lsa: semantic.model() !== undefined,
    dense: model !== undefined && dense.hasAny(model),
  };
  return {
    ...{ documents, chunks, text_bytes: bytes, disk_bytes: reader.sizeBytes(), generation: reader.generation },
    retrievers: RETRIEVERS.filter((name) => ready[name]),
  };
}
