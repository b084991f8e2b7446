import type { ToolContext } from "../../core/context.ts";
import { ToolyardError } from "../../core/errors.ts";
import { type Input, tool } from "../../core/tool.ts";
import { workerOf } from "../../core/worker-of.ts";
import { type RagConfig, toPrepareOptions } from "./config.ts";
import { embedMissing } from "./dense/dense-index.ts";
import type { Embedder } from "./dense/embedder.ts";
import { indexDocuments } from "./index-documents.ts";
import type { CollectionIndex } from "./index/collection-index.ts";
import type { IncomingDocument } from "./read/prepare.ts";
import { DeleteParams, DeleteResult, IndexParams, IndexResult } from "./schemas.ts";
import type { Owner, Shelf } from "./shelf/shelf.ts";

/** `rag:index` and `rag:delete`: both touch only what is the worker's own. */
export class DocumentTools {
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
      "Index documents for rag:search: text, Markdown, HTML, code, PDF, DOCX or XLSX. They are this worker's own, over the shared " +
      "ones of the collection; searches see all of a call's documents at once. What has not changed is left as it is.",
    params: IndexParams,
    result: IndexResult,
    annotations: { title: "Index documents", idempotentHint: true, destructiveHint: false },
    timeoutMs: 600_000,
  })
  async index({ documents, collection }: Input<typeof IndexParams>, context: ToolContext): Promise<IndexResult> {
    const name = collection ?? this.#config.default_collection;
    await this.#checkCollections(context, name);
    const path = await this.#shelf.ownPath(context, name);
    return this.#shelf.make(path, async (index) => {
      await this.#shelf.touch(context);
      const maxBytes = this.#config.max_document_mib * 1024 * 1024;
      const { documents: outcomes } = await indexDocuments(index, toIncoming(documents, maxBytes), {
        ...toPrepareOptions(this.#config),
        room: await this.#roomIn(context, name),
        signal: context.signal,
        owner: workerOf(context),
        onDocument: ({ id, status }) => context.progress({ id, status }),
      });
      if (this.#embedder !== undefined) await embedMissing(index, this.#embedder, context.signal);
      const count = (status: string) => outcomes.filter((outcome) => outcome.status === status).length;
      const failed = count("failed");
      if (failed === outcomes.length) {
        throw new ToolyardError("all_failed", `no document could be indexed: ${outcomes[0]?.message}`, {
          details: { documents: outcomes },
        });
      }
      return {
        collection: name,
        added: count("added"),
        updated: count("updated"),
        unchanged: count("unchanged"),
        failed,
        generation: index.reader.generation,
        documents: outcomes,
      };
    });
  }

  @tool({
    description:
      "Delete documents of this worker, or all that it has in a collection; shared documents are only hidden from it.",
    params: DeleteParams,
    result: DeleteResult,
    annotations: { title: "Delete documents", destructiveHint: true, idempotentHint: true },
  })
  async delete({ ids, collection }: Input<typeof DeleteParams>, context: ToolContext): Promise<DeleteResult> {
    const name = collection ?? this.#config.default_collection;
    const path = await this.#shelf.ownPath(context, name);
    if (ids === undefined) {
      const deleted = (await this.#shelf.use(path, (index) => index.reader.totals().documents)) ?? 0;
      await this.#shelf.remove(path);
      return { collection: name, deleted, hidden: 0, missing: [] };
    }
    const wanted = [...new Set(ids)];
    const shared = await this.#shelf.use(await this.#shelf.sharedPath(name), (index) =>
      wanted.filter((id) => index.reader.document(id) !== undefined),
    );
    if (shared === undefined || shared.length === 0) {
      const answer = await this.#shelf.use(path, (index) => deleteFrom(index, wanted, new Set()));
      return { collection: name, ...(answer ?? { deleted: 0, hidden: 0, missing: wanted }) };
    }
    await this.#checkCollections(context, name);
    const answer = await this.#shelf.make(path, (index) => deleteFrom(index, wanted, new Set(shared)));
    return { collection: name, ...answer };
  }

  /** @throws ToolyardError `limit_exceeded` when another collection would be too many. */
  async #checkCollections(owner: Owner, name: string): Promise<void> {
    const own = await this.#shelf.listOwn(owner);
    const max = this.#config.max_collections;
    if (own.includes(name) || own.length < max) return;
    throw new ToolyardError("limit_exceeded", `a worker may have ${max} collections`, {
      details: { limit: "max_collections", max },
      suggestion: 'Delete one with rag:delete and "all".',
    });
  }

  /** What the worker's other collections leave for this one. */
  async #roomIn(owner: Owner, name: string) {
    let maxDocuments = this.#config.max_documents;
    let maxBytes = this.#config.max_text_mib * 1024 * 1024;
    for (const other of await this.#shelf.listOwn(owner)) {
      if (other === name) continue;
      // oxlint-disable-next-line no-await-in-loop
      const path = await this.#shelf.ownPath(owner, other);
      // oxlint-disable-next-line no-await-in-loop
      const totals = await this.#shelf.use(path, (index) => index.reader.totals());
      maxDocuments -= totals?.documents ?? 0;
      maxBytes -= totals?.bytes ?? 0;
    }
    return { maxDocuments: Math.max(0, maxDocuments), maxBytes: Math.max(0, maxBytes) };
  }
}

function deleteFrom(index: CollectionIndex, ids: readonly string[], shared: ReadonlySet<string>) {
  return index.write(async (writer, slice) => {
    let deleted = 0;
    let hidden = 0;
    const missing: string[] = [];
    for (const id of ids) {
      const removed = writer.remove(id);
      if (removed) deleted += 1;
      if (shared.has(id) && writer.hide(id)) hidden += removed ? 0 : 1;
      else if (!removed) missing.push(id);
      // oxlint-disable-next-line no-await-in-loop
      await slice.pause();
    }
    return { deleted, hidden, missing };
  });
}

type SentDocument = Input<typeof IndexParams>["documents"][number];

function* toIncoming(documents: readonly SentDocument[], maxBytes: number): Generator<IncomingDocument> {
  for (const { id, text, base64, media_type: mediaType, title, source, metadata } of documents) {
    const content = text ?? Buffer.from(base64 ?? "", "base64");
    if (content.length > maxBytes) {
      throw new ToolyardError("limit_exceeded", `a document may have ${maxBytes} bytes`, {
        details: { limit: "max_document_mib", max: maxBytes },
      });
    }
    yield { id, content, name: source, mediaType, title: title ?? null, source: source ?? null, metadata };
  }
}
