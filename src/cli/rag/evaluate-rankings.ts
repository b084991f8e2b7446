import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ChunkSize } from "../../backends/rag/chunk/chunk-text.ts";
import { openTestCollection } from "../../backends/rag/eval/collection.ts";
import { evaluate, indexTestCollection } from "../../backends/rag/eval/evaluate.ts";
import { estimateMean, MEASURES } from "../../backends/rag/eval/metrics.ts";
import { CollectionIndex } from "../../backends/rag/index/collection-index.ts";
import { PostingsCache } from "../../backends/rag/index/postings-cache.ts";
import { DEFAULT_RETRIEVERS, type Retriever } from "../../backends/rag/search/retrieve.ts";

const CACHE_BYTES = 256 * 1024 * 1024;
const RANKINGS: readonly (readonly Retriever[])[] = [["bm25"], ["feedback"], ["lsa"], DEFAULT_RETRIEVERS];

/** Indexes a test collection into a temporary file and measures each ranking, or the chosen one. */
export async function evaluateRankings(
  folder: string,
  options: {
    readonly size: ChunkSize;
    readonly chosen: readonly Retriever[] | undefined;
    readonly onDocument: () => void;
  },
) {
  const collection = await openTestCollection(folder);
  const temporary = await mkdtemp(join(tmpdir(), "toolyard-eval-"));
  const index = await CollectionIndex.open(join(temporary, "eval.sqlite"), new PostingsCache(CACHE_BYTES));
  try {
    const prepare = { size: options.size, maxCharacters: 256 * 1024 * 1024 };
    const documents = await indexTestCollection(index, collection, prepare, options.onDocument);
    let queries = 0;
    const rankings = (options.chosen === undefined ? RANKINGS : [options.chosen]).map((retrievers) => {
      const scores = evaluate(index, collection, retrievers);
      queries = scores.length;
      const measures = MEASURES.map(([key, name]) => [name, estimateMean(scores.map((one) => one[key]))] as const);
      return { ranking: retrievers.join(" + "), measures: Object.fromEntries(measures) };
    });
    return { collection: collection.name, documents, queries, rankings };
  } finally {
    await index.close();
    await rm(temporary, { recursive: true, force: true });
  }
}
