import { createHash } from "node:crypto";
import type { ToolContext } from "../../core/context.ts";
import { ToolyardError } from "../../core/errors.ts";
import { type Input, tool } from "../../core/tool.ts";
import { workerOf } from "../../core/worker-of.ts";
import { runReader } from "../../documents/reader-pool.ts";
import type { ProcessPool } from "../../processes/process-pool.ts";
import type { DocConfig } from "./config.ts";
import type { DocumentFacts, DocumentStore, DocumentUsage, Owner } from "./document-store.ts";
import { type DocumentParts, isHeavy, readParts, type ReadPartsOptions } from "./read-parts.ts";
import { DeleteParams, IngestParams } from "./schemas.ts";

const MIB = 1024 * 1024;

/** Takes documents in, and tells which there are. */
export class LibraryTools {
  readonly #store: DocumentStore;
  readonly #readers: ProcessPool;
  readonly #config: DocConfig;

  constructor(store: DocumentStore, readers: ProcessPool, config: DocConfig) {
    this.#store = store;
    this.#readers = readers;
    this.#config = config;
  }

  @tool({
    description:
      "Take in a document (PDF, DOCX, XLSX, HTML, Markdown, text) for doc:search and doc:read; one of the same id is replaced.",
    params: IngestParams,
    annotations: { idempotentHint: true },
  })
  async ingest(
    { id, name, text, base64, media_type: mediaType, title }: Input<typeof IngestParams>,
    context: ToolContext,
  ) {
    const config = this.#config;
    const content = text ?? Buffer.from(base64 ?? "", "base64");
    const size = Buffer.byteLength(content);
    if (size > config.max_document_mib * MIB)
      throw tooMuch(`it has ${size} bytes`, "max_document_mib", config.max_document_mib);
    const type = mediaType ?? (text !== undefined && name === undefined ? "text/markdown" : undefined);
    const maxFigureBytes = config.max_figure_mib * MIB;
    const document = { content, name, mediaType: type, maxFigures: config.max_figures, maxFigureBytes };
    const parts = isHeavy(document) ? await this.#readApart(document, context) : await readParts(document);
    const owner = toOwner(context);
    const key = id ?? name?.replaceAll("#", "-") ?? createHash("sha256").update(content).digest("hex").slice(0, 16);
    const check = ({ documents, characters }: DocumentUsage): void => {
      const { max_documents: maxDocuments, max_text_mib: maxMib } = config;
      if (documents >= maxDocuments) throw tooMuch(`there are ${documents} already`, "max_documents", maxDocuments);
      if (characters + parts.text.length > maxMib * MIB)
        throw tooMuch("their texts together are too long", "max_text_mib", maxMib);
    };
    check(await this.#store.usage(owner, key));
    context.signal.throwIfAborted();
    await this.#store.put(owner, key, { ...parts, title: title ?? parts.title }, check);
    const facts = {
      id: key,
      title: title ?? parts.title,
      characters: parts.text.length,
      figures: parts.figures.length,
    };
    const kept = { ...parts, ...facts };
    return {
      ...describe(kept),
      charset: parts.charset,
      outline: toOutlineView(kept),
      figures_left_out: parts.figuresLeftOut,
    };
  }

  /** Reads in a process of its own, which a document can neither hold for ever nor fill with all of the machine's memory. */
  async #readApart(document: ReadPartsOptions, context: ToolContext): Promise<DocumentParts> {
    const { read_timeout_ms: timeoutMs, memory_mib: memoryMiB } = this.#config;
    // What the job "read" answers.
    return (await runReader(this.#readers, "read", document, {
      ...{ timeoutMs, memoryMiB, signal: context.signal },
      owner: workerOf(context),
    })) as DocumentParts;
  }

  @tool({ description: "List the documents that were taken in.", annotations: { readOnlyHint: true } })
  async list(_params: object, context: ToolContext) {
    return { documents: (await this.#store.list(toOwner(context))).map(describe) };
  }

  @tool({
    description: "Remove documents.",
    params: DeleteParams,
    annotations: { destructiveHint: true, idempotentHint: true },
  })
  async delete({ document }: Input<typeof DeleteParams>, context: ToolContext) {
    const owner = toOwner(context);
    const ids = [document].flat();
    const gone = await Promise.all(ids.map((id) => this.#store.delete(owner, id)));
    return { deleted: gone.filter(Boolean).length, missing: ids.filter((_id, index) => gone[index] !== true) };
  }
}

/** Whose documents a call may see: its worker's. */
export function toOwner({ tenant, workerId }: ToolContext): Owner {
  return { tenant, workerId };
}

/** A document without its text. */
export function describe({ id, title, mediaType, characters, sections, tables, figures }: DocumentFacts) {
  const pages = sections.filter(({ page }) => page !== null).length;
  return {
    document: id,
    title,
    media_type: mediaType,
    characters,
    sections: sections.length,
    pages: pages === 0 ? null : pages,
    tables,
    figures,
  };
}

/** A document's sections by their ids. */
export function toOutlineView({ id, sections }: Pick<DocumentFacts, "id" | "sections">) {
  return sections.map((section) => ({
    section_id: `${id}#${section.id}`,
    title: section.title,
    level: section.level,
    page: section.page,
    characters: section.end - section.start,
  }));
}

function tooMuch(what: string, limit: string, max: number): ToolyardError {
  return new ToolyardError("limit_exceeded", `the document is not taken in: ${what}`, { details: { limit, max } });
}
