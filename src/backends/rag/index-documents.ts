import { describeError, ToolyardError } from "../../core/errors.ts";
import type { CollectionIndex } from "./index/collection-index.ts";
import type { IndexWriter, PutOutcome } from "./index/writer.ts";
import { type IncomingDocument, prepareDocument, type PrepareOptions } from "./read/prepare.ts";

/** What became of one document. */
export interface IndexedDocument {
  readonly id: string | null;
  readonly status: PutOutcome | "failed";
  readonly chunks: number;
  readonly error?: string;
  readonly message?: string;
}

/** What documents may amount to in a collection, with those that it has. */
export interface CollectionRoom {
  readonly maxDocuments: number;
  readonly maxBytes: number;
}

export interface IndexDocumentsOptions extends PrepareOptions {
  readonly room?: CollectionRoom;
  readonly signal?: AbortSignal;
  /** Called after each document. */
  readonly onDocument?: (document: IndexedDocument) => void;
  /** Removes every document that was not among these. */
  readonly prune?: boolean;
}

/**
 * Indexes documents as one generation: searches see all of it, or nothing when it is given up. A document that cannot be read
 * fails alone.
 *
 * @throws ToolyardError `limit_exceeded` when there is no room for them; the signal's reason once it is aborted
 */
export function indexDocuments(
  index: CollectionIndex,
  documents: Iterable<IncomingDocument> | AsyncIterable<IncomingDocument>,
  { room, signal, onDocument, prune = false, ...prepare }: IndexDocumentsOptions,
): Promise<{ readonly documents: IndexedDocument[]; readonly pruned: number }> {
  return index.write(async (writer, slice) => {
    const outcomes: IndexedDocument[] = [];
    const kept = new Set<string>();
    for await (const document of documents) {
      const outcome = await indexOne(writer, document, { ...prepare, ...(signal !== undefined && { signal }) });
      if (outcome.status === "added" || outcome.status === "updated") checkRoom(writer, room);
      if (outcome.id !== null) kept.add(outcome.id);
      outcomes.push(outcome);
      onDocument?.(outcome);
      await slice.pause(signal);
    }
    let pruned = 0;
    for (let after = ""; prune; ) {
      const ids = writer.ids(after, 1_000);
      for (const id of ids) if (!kept.has(id) && writer.remove(id)) pruned += 1;
      const last = ids.at(-1);
      if (last === undefined) break;
      after = last;
      // oxlint-disable-next-line no-await-in-loop
      await slice.pause(signal);
    }
    return { documents: outcomes, pruned };
  });
}

async function indexOne(
  writer: IndexWriter,
  document: IncomingDocument,
  prepare: PrepareOptions,
): Promise<IndexedDocument> {
  try {
    const prepared = await prepareDocument(document, prepare);
    return { id: prepared.id, status: writer.put(prepared), chunks: prepared.chunks.length };
  } catch (error) {
    // A failing disk is no document's fault.
    if (!ToolyardError.is(error)) throw error;
    const id = document.id ?? document.source;
    return { id, status: "failed", chunks: 0, error: error.error, message: describeError(error).slice(0, 1_000) };
  }
}

function checkRoom(writer: IndexWriter, room: CollectionRoom | undefined): void {
  if (room === undefined) return;
  const { documents, bytes } = writer.totals();
  const over =
    documents > room.maxDocuments
      ? { limit: "max_documents", max: room.maxDocuments, what: "documents" }
      : bytes > room.maxBytes
        ? { limit: "max_text_mib", max: room.maxBytes, what: "bytes of text" }
        : undefined;
  if (over === undefined) return;
  throw new ToolyardError("limit_exceeded", `there is room for ${over.max} ${over.what} in this collection`, {
    details: { limit: over.limit, max: over.max },
    suggestion: "Delete documents with rag:delete, or raise the limit that data.limit names.",
  });
}
