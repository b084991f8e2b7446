import type { CollectionIndex } from "../index/collection-index.ts";
import { indexDocuments } from "../index-documents.ts";
import type { PrepareOptions } from "../read/prepare.ts";
import { retrieve, type Retriever } from "../search/retrieve.ts";
import { readSources } from "../search/sources.ts";
import type { Fusion } from "../ranking/fuse.ts";
import type { TestCollection } from "./collection.ts";
import { type QueryScores, scoreRanking } from "./metrics.ts";

/** Documents per query that are ranked, as is usual. */
const DEPTH = 1_000;

/** Indexes a test collection's documents; what is there already stays. */
export async function indexTestCollection(
  index: CollectionIndex,
  collection: TestCollection,
  prepare: PrepareOptions,
  onDocument?: (count: number) => void,
): Promise<number> {
  let count = 0;
  const read = async function* () {
    for await (const { id, title, text } of collection.documents()) {
      yield { id, title, content: text, name: undefined, mediaType: "text/plain", source: null, metadata: undefined };
    }
  };
  await indexDocuments(index, read(), { ...prepare, onDocument: () => onDocument?.(++count) });
  await index.settled();
  return count;
}

/** Ranks every judged query's documents, each by its best chunk, and scores them. */
export function evaluate(
  index: CollectionIndex,
  { queries, judgements }: TestCollection,
  retrievers: readonly Retriever[],
  fusion: Fusion = "score",
): QueryScores[] {
  const scores: QueryScores[] = [];
  for (const [id, grades] of judgements) {
    const query = queries.get(id);
    if (query === undefined) continue;
    const found = readSources(
      [{ name: "eval", shared: index, own: undefined }],
      (parts) =>
        retrieve(parts, { query, topK: DEPTH, retrievers, fusion, perDocument: true, filter: undefined }).chunks,
    );
    const ranking = found.map(({ document }) => document.id);
    scores.push(scoreRanking(ranking, grades));
  }
  return scores;
}
