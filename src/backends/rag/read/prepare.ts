import { createHash } from "node:crypto";
import { ToolyardError } from "../../../core/errors.ts";
import { chunkText, type ChunkSize } from "../chunk/chunk-text.ts";
import type { PreparedDocument } from "../index/writer.ts";
import { type RawDocument, readDocument } from "../../../documents/read-document.ts";

/** A document with all that its sender says of it. */
export interface IncomingDocument extends RawDocument {
  readonly id: string | undefined;
  readonly title: string | null;
  readonly source: string | null;
  readonly metadata: Readonly<Record<string, unknown>> | undefined;
}

/** How documents are prepared, and how large they may be. */
export interface PrepareOptions {
  readonly size: ChunkSize;
  readonly maxCharacters: number;
  readonly signal?: AbortSignal;
  /** Who waits for it. */
  readonly owner?: string;
}

/** Changes when the same content would give other chunks or terms than before: everything is indexed anew then. */
const PIPELINE = 1;

/**
 * Makes a document ready for the index. One without an id gets its source, or else the digest of its content.
 *
 * @throws ToolyardError `invalid_input` when it cannot be read; `limit_exceeded` when its text is too long
 */
export async function prepareDocument(
  incoming: IncomingDocument,
  { size, maxCharacters, signal, owner }: PrepareOptions,
): Promise<PreparedDocument> {
  const read = await readDocument(incoming, { signal, owner });
  if (read.text.length > maxCharacters) {
    throw new ToolyardError("limit_exceeded", `the text has ${read.text.length} characters`, {
      details: { limit: "max_document_mib", max: maxCharacters },
    });
  }
  const title = incoming.title ?? read.title;
  const metadata = incoming.metadata === undefined ? null : JSON.stringify(incoming.metadata);
  const facts = [PIPELINE, size, title, incoming.source, read.mediaType, metadata, read.text, read.marks];
  const digest = createHash("sha256").update(JSON.stringify(facts)).digest();
  return {
    id: incoming.id ?? incoming.source ?? digest.toString("hex").slice(0, 32),
    title,
    source: incoming.source,
    mediaType: read.mediaType,
    charset: read.charset,
    metadata,
    text: read.text,
    digest,
    chunks: chunkText(read.text, { shape: read.shape, marks: read.marks, size }),
  };
}
