import { z } from "zod";
import { CollectionName } from "./config.ts";
import { FUSIONS } from "./ranking/fuse.ts";
import { RETRIEVERS } from "./search/retrieve.ts";

const Id = z.string().min(1).max(1_024);
const Name = CollectionName.optional().describe("The server's default collection by default.");
const Metadata = z.record(z.string().max(256), z.unknown());

const SearchOptions = {
  top_k: z.int().min(1).max(10_000).optional().describe("How many chunks at most."),
  collection: z
    .union([CollectionName, z.array(CollectionName).min(1).max(16)])
    .optional()
    .describe("Where to search, several for all of them together; the server's default collection by default."),
  retrievers: z
    .array(z.enum(RETRIEVERS))
    .min(1)
    .max(RETRIEVERS.length)
    .optional()
    .describe("Which rankings to put together; the server's choice by default."),
  fusion: z
    .enum(FUSIONS)
    .default("score")
    .describe("Put rankings together by relative scores, or by reciprocal ranks."),
  rerank: z
    .boolean()
    .optional()
    .describe("Have the best chunks read again with the query; by default where the server has what does it."),
  per_document: z.boolean().default(false).describe("At most one chunk of each document."),
  filter: Metadata.optional().describe("Values that a document's metadata must have; a list allows any of its values."),
};

export const SearchParams = z.strictObject({ query: z.string().min(1).max(32_768), ...SearchOptions });
export const BatchSearchParams = z.strictObject({
  queries: z.array(z.string().max(32_768)).min(1).max(10_000),
  ...SearchOptions,
});

const Notes = z
  .array(z.object({ retriever: z.string(), note: z.string() }))
  .describe("Rankings that were asked for and left out, or that ranked otherwise than usual, and why.");

export const SearchHit = z.object({
  rank: z.number(),
  score: z.number().describe("Comparable within one answer only; the reranker's, where one has read the chunks."),
  document_id: z.string(),
  chunk: z.number().describe("Which chunk of its document, from 0."),
  collection: z.string(),
  shared: z.boolean(),
  title: z.string().nullable(),
  source: z.string().nullable(),
  heading: z.string().nullable(),
  start: z.number().describe("Where the chunk begins in the document's text, in UTF-16 code units."),
  end: z.number(),
  text: z.string(),
  metadata: Metadata.nullable(),
  retrievers: z.record(z.string(), z.object({ rank: z.number(), score: z.number() })),
});
export type SearchHit = z.infer<typeof SearchHit>;

export const SearchResult = z.object({
  query: z.string(),
  context: z.string().describe("The chunks as one text."),
  results: z.array(SearchHit),
  retrievers: z
    .array(z.string())
    .describe("The rankings that were put together: what was asked for but what `notes` says was left out."),
  notes: Notes.optional(),
  reranked: z.literal(true).optional().describe("A model put the best of them in this order."),
});
export type SearchResult = z.infer<typeof SearchResult>;

export const BatchSearchResult = z.object({
  count: z.number(),
  contexts: z.array(z.string()).describe("One per query, in their order."),
  results: z.array(z.array(SearchHit)),
  retrievers: z.array(z.string()).describe("The rankings that were put together for every query."),
  notes: Notes.optional(),
  reranked: z.literal(true).optional(),
  errors: z
    .array(z.object({ index: z.number(), query: z.string(), error: z.string(), message: z.string() }))
    .optional(),
});
export type BatchSearchResult = z.infer<typeof BatchSearchResult>;

const IncomingDocument = z
  .strictObject({
    id: Id.optional().describe(
      "Replaces the document of the same id; by default its source, else a digest of its content.",
    ),
    text: z.string().optional(),
    base64: z.base64().optional().describe("The bytes of a PDF, DOCX, XLSX or any other file."),
    media_type: z
      .string()
      .max(256)
      .optional()
      .describe(
        "By default as the source's ending says, else plain text; text/plain; charset=shift_jis says the encoding, too.",
      ),
    title: z.string().max(1_024).optional(),
    source: z.string().max(4_096).optional().describe("A file name or URL, kept with the document."),
    metadata: Metadata.optional(),
  })
  .refine(({ text, base64 }) => (text === undefined) !== (base64 === undefined), {
    error: "a document has either text or base64",
  });

export const IndexParams = z.strictObject({
  documents: z.array(IncomingDocument).min(1).max(10_000),
  collection: Name,
});
export type IndexParams = z.infer<typeof IndexParams>;

export const IndexResult = z.object({
  collection: z.string(),
  added: z.number(),
  updated: z.number(),
  unchanged: z.number(),
  failed: z.number(),
  generation: z.number(),
  documents: z.array(
    z.object({
      id: z.string().nullable(),
      status: z.enum(["added", "updated", "unchanged", "failed"]),
      chunks: z.number(),
      charset: z.string().optional().describe("The encoding that the document's bytes were read by."),
      error: z.string().optional(),
      message: z.string().optional(),
    }),
  ),
});
export type IndexResult = z.infer<typeof IndexResult>;

export const DeleteParams = z
  .strictObject({
    ids: z.array(Id).min(1).max(10_000).optional(),
    all: z.literal(true).optional().describe("Delete all that is the worker's own in the collection."),
    collection: Name,
  })
  .refine(({ ids, all }) => (ids === undefined) !== (all === undefined), { error: "give either ids or all" });
export const DeleteResult = z.object({
  collection: z.string(),
  deleted: z.number(),
  hidden: z.number().describe("Shared documents that this worker no longer sees."),
  missing: z.array(z.string()),
});
export type DeleteResult = z.infer<typeof DeleteResult>;

export const GetParams = z
  .strictObject({
    id: Id,
    collection: Name,
    start: z.int().min(0).default(0),
    end: z.int().min(0).optional().describe("Where to stop, exclusive; the end of the text by default."),
    chunks: z.boolean().default(false).describe("Tell its chunks too."),
  })
  .refine(({ start, end }) => end === undefined || start <= end, { path: ["end"], error: "is before start" });
const DocumentFacts = {
  id: z.string(),
  title: z.string().nullable(),
  source: z.string().nullable(),
  media_type: z.string(),
  metadata: Metadata.nullable(),
  characters: z.number(),
  chunk_count: z.number(),
  shared: z.boolean(),
  indexed_at: z.string().describe("ISO 8601, UTC."),
};
export const GetResult = z.object({
  collection: z.string(),
  ...DocumentFacts,
  start: z.number(),
  end: z.number(),
  text: z.string(),
  chunks: z.array(z.object({ start: z.number(), end: z.number(), heading: z.string().nullable() })).optional(),
});
export type GetResult = z.infer<typeof GetResult>;

export const ListParams = z.strictObject({
  collection: Name,
  prefix: z.string().max(1_024).default("").describe("Of the ids."),
  limit: z.int().min(1).max(1_000).default(100),
  after: z.string().max(1_024).default("").describe("The `next` of the page before."),
});
export const DocumentListing = z.object(DocumentFacts);
export type DocumentListing = z.infer<typeof DocumentListing>;
export const ListResult = z.object({
  collection: z.string(),
  documents: z.array(DocumentListing),
  next: z.string().nullable().describe("What to go on after; null at the end."),
});
export type ListResult = z.infer<typeof ListResult>;

const Amount = z.object({
  documents: z.number(),
  chunks: z.number(),
  text_bytes: z.number(),
  disk_bytes: z.number(),
  generation: z.number(),
  retrievers: z.array(z.string()).describe("The rankings that it has what they need for, now."),
});
export const CollectionsResult = z.object({
  collections: z.array(
    z.object({ name: z.string(), default: z.boolean(), shared: Amount.nullable(), own: Amount.nullable() }),
  ),
});
export type CollectionsResult = z.infer<typeof CollectionsResult>;

export const StatsResult = z.object({
  initialized: z.boolean(),
  backend_version: z.string(),
  index: z.object({
    documents: z.number(),
    chunks: z.number(),
    text_bytes: z.number(),
    disk_bytes: z.number(),
    collections: z.number(),
    open: z.number(),
    cache_bytes: z.number(),
  }),
  retrievers: z.array(z.string()).describe("That a search may ask for; rag:collections tells which rank where."),
  limits: z.record(z.string(), z.number()),
  batcher: z.record(z.string(), z.number()),
});
export type StatsResult = z.infer<typeof StatsResult>;
