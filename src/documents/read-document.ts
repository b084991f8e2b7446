import { ToolyardError } from "../core/errors.ts";
import { decodeText } from "./decode-text.ts";
import type { ApartFormat } from "./jobs.ts";
import { mediaTypeOf, sniffMediaType } from "./media-type.ts";

/** How a text says where its parts begin. */
export type TextShape = "plain" | "markdown" | "code";

/** A place from which on a text stands under other headings: a page, a sheet. */
export interface Mark {
  readonly at: number;
  readonly headings: readonly string[];
}

/** A document as it is sent. */
export interface RawDocument {
  readonly content: string | Uint8Array;
  /** A file's name or a URL, whose ending may say the type. */
  readonly name: string | undefined;
  readonly mediaType: string | undefined;
}

/** For whom a document is read. */
export interface ReadFor {
  /** Ends the reading. */
  readonly signal?: AbortSignal | undefined;
  /** Who waits for it; readers are shared fairly among them. */
  readonly owner?: string | undefined;
}

/** What was read from a document. */
export interface ReadDocument {
  readonly text: string;
  readonly title: string | null;
  readonly mediaType: string;
  /** The encoding that its bytes were read by; `null` for what was sent as text, and for formats that know their own. */
  readonly charset: string | null;
  readonly shape: TextShape;
  /** Where pages or sheets begin. */
  readonly marks: readonly Mark[];
}

/** Reads one format; its library is loaded by the first document that needs it. */
export type FormatReader = (content: string | Uint8Array) => Promise<ReadFormat>;

/** What the reader of one format tells. */
export type ReadFormat = Omit<ReadDocument, "mediaType" | "charset">;

const OFFICE = "application/vnd.openxmlformats-officedocument";
const APART: Readonly<Record<string, ApartFormat>> = {
  "application/pdf": "pdf",
  [`${OFFICE}.wordprocessingml.document`]: "docx",
  [`${OFFICE}.spreadsheetml.sheet`]: "xlsx",
};

/**
 * Reads a document's text; a PDF's, an office file's and a long HTML page's in a process of its own, within a minute and a gibibyte.
 *
 * @throws ToolyardError `invalid_input` for content that is not what its type says, or of a type that cannot be read;
 *   `dependency_failed`, naming the package, when the library for the type is not there; `timeout`, `limit_exceeded`
 */
export async function readDocument(
  { content, name, mediaType }: RawDocument,
  { signal = new AbortController().signal, owner }: ReadFor = {},
): Promise<ReadDocument> {
  const sniffed = typeof content === "string" ? undefined : sniffMediaType(content);
  const type = normalize(mediaType) ?? (name === undefined ? undefined : mediaTypeOf(name)) ?? sniffed ?? "text/plain";
  const apart = APART[type];
  if (apart !== undefined) {
    const bytes = typeof content === "string" ? Buffer.from(content) : content;
    const { readApart, READER_LIMITS } = await import("./reader-pool.ts");
    return { ...(await readApart(apart, bytes, { ...READER_LIMITS, signal, owner })), mediaType: type, charset: null };
  }
  if (type === "text/html") {
    const { readApart, READER_LIMITS, SMALL_HTML } = await import("./reader-pool.ts");
    const { text: html, charset } = decodeText(content, { mediaType, markup: true });
    const isSmall = html.length <= SMALL_HTML;
    const read = isSmall
      ? (await import("./html.ts")).readHtml(html)
      : readApart("html", html, { ...READER_LIMITS, signal, owner });
    return { ...(await read), mediaType: type, charset };
  }
  if (!/^text\/|^application\/(?:json|jsonl|xml|x-ndjson|yaml|toml|javascript|typescript)$/.test(type)) {
    throw new ToolyardError("invalid_input", `documents of type ${type} cannot be read`, {
      suggestion: `Send text, or one of text/html, ${Object.keys(APART).join(", ")}.`,
    });
  }
  const decoded = decodeText(content, { mediaType, markup: type.endsWith("/xml") });
  return { ...decoded, title: null, mediaType: type, shape: shapeOf(type), marks: [] };
}

function normalize(mediaType: string | undefined): string | undefined {
  const type = mediaType?.split(";", 1)[0]?.trim().toLowerCase();
  if (type === "text/x-markdown") return "text/markdown";
  return type === "application/xhtml+xml" ? "text/html" : type;
}

function shapeOf(type: string): TextShape {
  if (type === "text/markdown") return "markdown";
  return /x-code|x-python|javascript|typescript|x-java|x-c|x-go|x-rust|x-sh/.test(type) ? "code" : "plain";
}
