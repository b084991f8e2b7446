import { ToolyardError } from "../../core/errors.ts";
import type { CollectionIndex } from "./index/collection-index.ts";
import type { IndexWriter, PreparedDocument, PutOutcome } from "./index/writer.ts";
import { type IncomingDocument, prepareDocument, type PrepareOptions } from "./read/prepare.ts";
import type { TimeSlice } from "./time-slice.ts";

const BATCH = { documents: 64, characters: 131_072, milliseconds: 20 } as const;

/** What became of one document. */
export interface IndexedDocument {
  readonly id: string | null;
  readonly status: PutOutcome | "failed";
  readonly chunks: number;
  /** The encoding that the document's bytes were read by. */
  readonly charset?: string;
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
    const batch = new Batch(writer, slice);
    const take = async (): Promise<void> => {
      const written = await batch.write();
      if (written.some(({ status }) => status === "added" || status === "updated")) checkRoom(writer, room);
      for (const outcome of written) {
        if (outcome.id !== null) kept.add(outcome.id);
        outcomes.push(outcome);
        onDocument?.(outcome);
      }
    };
    for await (const document of documents) {
      batch.add(await prepareOne(document, { ...prepare, ...(signal !== undefined && { signal }) }));
      if (batch.full) await take();
      await slice.pause(signal);
    }
    await take();
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

/** Documents that are written in one step: a step for each would cost more than all else. */
class Batch {
  readonly #writer: IndexWriter;
  readonly #slice: TimeSlice;
  #documents: (PreparedDocument | IndexedDocument)[] = [];
  #characters = 0;
  #began = 0;

  constructor(writer: IndexWriter, slice: TimeSlice) {
    this.#writer = writer;
    this.#slice = slice;
  }

  /** Whether it is as much as may hold the thread, or the first has waited for long. */
  get full(): boolean {
    const count = this.#documents.length;
    return count >= BATCH.documents || this.#characters >= BATCH.characters || this.#age() >= BATCH.milliseconds;
  }

  add(document: PreparedDocument | IndexedDocument): void {
    if (this.#documents.length === 0) this.#began = performance.now();
    this.#documents.push(document);
    if ("text" in document) this.#characters += document.text.length;
  }

  async write(): Promise<IndexedDocument[]> {
    const documents = this.#documents;
    this.#documents = [];
    this.#characters = 0;
    const prepared = documents.filter((document) => "text" in document);
    const statuses = prepared.length === 0 ? [] : await this.#writer.put(prepared, this.#slice);
    return documents.map((document): IndexedDocument => {
      if (!("text" in document)) return document;
      const status = statuses.shift();
      if (status === undefined) throw new Error("the index did not say what became of a document");
      const { id, chunks, charset } = document;
      return { id, status, chunks: chunks.length, ...(charset !== null && { charset }) };
    });
  }

  #age(): number {
    return this.#documents.length === 0 ? 0 : performance.now() - this.#began;
  }
}

async function prepareOne(
  document: IncomingDocument,
  prepare: PrepareOptions,
): Promise<PreparedDocument | IndexedDocument> {
  try {
    return await prepareDocument(document, prepare);
  } catch (error) {
    // A failing disk is no document's fault.
    if (!ToolyardError.is(error)) throw error;
    const id = document.id ?? document.source;
    return { id, status: "failed", chunks: 0, error: error.error, message: error.message.slice(0, 1_000) };
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
