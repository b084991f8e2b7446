import { z } from "zod";
import { EmbeddingsConfig } from "./dense/embedder.ts";
import type { ChunkSize } from "./chunk/chunk-text.ts";
import type { PrepareOptions } from "./read/prepare.ts";
import { RerankConfig } from "./rerank/reranker.ts";
import { DEFAULT_RETRIEVERS, RETRIEVERS } from "./search/retrieve.ts";

const Limit = (maximum: number) => z.int().min(1).max(maximum);

/** A collection's name, which is also that of its file. */
export const CollectionName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, { error: "a collection is named with small letters, digits, - and _" });

/** The backend's entry in the config file. */
export const RagConfig = z.strictObject({
  /** The collection that calls mean when they name none. */
  default_collection: CollectionName.default("default"),
  /** The rankings that a search puts together when it does not say. */
  retrievers: z
    .array(z.enum(RETRIEVERS))
    .min(1)
    .default([...DEFAULT_RETRIEVERS]),
  /** Where vectors for `dense` come from; there is no such ranking without. */
  embeddings: EmbeddingsConfig.optional(),
  /** What reads the best chunks again with the query, unless a search does not want it. */
  rerank: RerankConfig.optional(),
  /** Results when the call does not say. */
  default_top_k: Limit(100).default(5),
  max_top_k: Limit(10_000).default(100),
  max_queries: Limit(10_000).default(256),
  chunk_tokens: z.int().min(32).max(8_192).default(400),
  overlap_tokens: z.int().min(0).max(2_048).default(40),
  /** What each worker may have of its own, in all its collections together. */
  max_documents: Limit(10_000_000).default(20_000),
  max_text_mib: Limit(1 << 20).default(256),
  max_collections: Limit(10_000).default(16),
  /** Bytes of one document as it is sent, and characters of the text in it. */
  max_document_mib: Limit(1_024).default(16),
  /** Hours after which what a worker has is removed, when it was not used; 0 for never. */
  unused_hours: z.int().min(0).max(87_600).default(168),
  /** MiB of postings that are kept in memory. */
  cache_mib: Limit(65_536).default(64),
});
export type RagConfig = z.infer<typeof RagConfig>;

/** How documents are cut and bounded by a config. */
export function toPrepareOptions({ chunk_tokens, overlap_tokens, max_document_mib }: RagConfig): PrepareOptions {
  return { size: toChunkSize(chunk_tokens, overlap_tokens), maxCharacters: max_document_mib * 1024 * 1024 };
}

/** Chunks of up to so many tokens. */
export function toChunkSize(maxTokens: number, overlapTokens: number): ChunkSize {
  return {
    maxTokens,
    minTokens: Math.min(400, Math.floor(maxTokens / 5)),
    overlapTokens: Math.min(overlapTokens, Math.floor(maxTokens / 2)),
  };
}
