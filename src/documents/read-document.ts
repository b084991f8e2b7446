import { ToolyardError } from "../core/errors.ts";
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
  readonly shape: TextShape;
  /** Where pages or sheets begin. */
  readonly marks: readonly Mark[];
}

/** Reads one format; its library is loaded by the first document that needs it. */
export type FormatReader = (content: string | Uint8Array) => Promise<Omit<ReadDocument, "mediaType">>;

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
    return { ...(await readApart(apart, bytes, { ...READER_LIMITS, signal, owner })), mediaType: type };
  }
  if (type === "text/html") {
    const { readApart, READER_LIMITS, SMALL_HTML } = await import("./reader-pool.ts");
    const isSmall = content.length <= SMALL_HTML;
    const read = isSmall
      ? (await import("./html.ts")).readHtml(content)
      : readApart("html", content, { ...READER_LIMITS, signal, owner });
    return { ...(await read), mediaType: type };
  }
  if (!/^text\/|^application\/(?:json|jsonl|xml|x-ndjson|yaml|toml|javascript|typescript)$/.test(type)) {
    throw new ToolyardError("invalid_input", `documents of type ${type} cannot be read`, {
      suggestion: `Send text, or one of text/html, ${Object.keys(APART).join(", ")}.`,
    });
  }
  return { text: toText(content), title: null, mediaType: type, shape: shapeOf(type), marks: [] };
}

/** Decodes bytes of UTF-8, or of UTF-16 with its mark. @throws ToolyardError `invalid_input` for bytes that are neither */
export function toText(content: string | Uint8Array): string {
  if (typeof content === "string") return content.toWellFormed();
  const encoding =
    content[0] === 0xff && content[1] === 0xfe
      ? "utf-16le"
      : content[0] === 0xfe && content[1] === 0xff
        ? "utf-16be"
        : "utf-8";
  try {
    const text = new TextDecoder(encoding, { fatal: true }).decode(content);
    if (!text.includes("\0")) return text;
  } catch {
    // Said below.
  }
  throw new ToolyardError("invalid_input", "the document is not text", {
    suggestion: "Say its media_type, if it is of a type that can be read.",
  });
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
