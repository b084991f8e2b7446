import { loadLibrary, readWith } from "../../documents/load-library.ts";
import { mediaTypeOf, sniffMediaType } from "../../documents/media-type.ts";
import { decodeText } from "../../documents/decode-text.ts";
import { readDocument } from "../../documents/read-document.ts";
import { openMarkdown } from "../../documents/to-markdown.ts";
import { checkUnpackedSize } from "../../documents/unpacked-size.ts";
import { readXlsx } from "../../documents/xlsx.ts";
import { findTables, type Section, toOutline } from "./outline.ts";
import { countTerms, type SectionTerms } from "./section-terms.ts";

/** A picture in a document. */
export interface Figure {
  /** From 1, as the text names it: `figure:1`. */
  readonly number: number;
  readonly media_type: string;
  readonly base64: string;
}

/** A document in its parts. */
export interface DocumentParts {
  readonly title: string | null;
  readonly mediaType: string;
  /** The encoding that its bytes were read by; `null` where there were none to decode. */
  readonly charset: string | null;
  readonly text: string;
  readonly sections: readonly Section[];
  readonly tables: number;
  readonly figures: readonly Figure[];
  /** Pictures that were left out for their size or their number. */
  readonly figuresLeftOut: number;
  readonly terms: SectionTerms;
}

/** A document in its parts, before its words are counted. */
export type UncountedParts = Omit<DocumentParts, "terms">;

/** What is kept of a document's pictures. */
export interface FigureLimits {
  readonly maxFigures: number;
  readonly maxFigureBytes: number;
}

/** A document as it is sent, and what is kept of its pictures. */
export interface ReadPartsOptions extends FigureLimits {
  readonly content: string | Uint8Array;
  readonly name: string | undefined;
  readonly mediaType: string | undefined;
}

const OFFICE = "application/vnd.openxmlformats-officedocument";
const HTML = "text/html";
const TITLE = /<title[^>]*>([^<]{1,1000})<\/title>/i;

/** Bytes or characters of a text whose words take a while to count. */
const LONG_TEXT = 256 * 1024;

type PartsReader = (content: Uint8Array, limits: FigureLimits) => Promise<UncountedParts>;
const READERS: Readonly<Record<string, PartsReader>> = {
  "application/pdf": async (content, limits) => (await import("./pdf/read-pdf.ts")).readPdf(content, limits),
  [`${OFFICE}.wordprocessingml.document`]: readWord,
  [`${OFFICE}.spreadsheetml.sheet`]: readWorkbook,
};

/** Whether reading a document holds a thread for as long as its content pleases. */
export function isHeavy(options: ReadPartsOptions): boolean {
  const type = typeOf(options);
  return type === HTML || READERS[type ?? ""] !== undefined || options.content.length > LONG_TEXT;
}

/** @throws ToolyardError `invalid_input`, `limit_exceeded`, `dependency_failed` */
export async function readParts(options: ReadPartsOptions): Promise<DocumentParts> {
  const parts = await readUncounted(options);
  return { ...parts, terms: countTerms(parts.text, parts.sections) };
}

async function readUncounted(options: ReadPartsOptions): Promise<UncountedParts> {
  const { content, name, mediaType } = options;
  const type = typeOf(options);
  if (type === HTML) return readPage(content, mediaType);
  const reader = READERS[type ?? ""];
  if (reader !== undefined) return reader(Buffer.from(content), options);
  const { text, title, mediaType: read, charset, shape, marks } = await readDocument({ content, name, mediaType });
  return { ...toParts(text, title, read, toOutline(text, shape, marks)), charset };
}

function typeOf({ content, name, mediaType }: ReadPartsOptions): string | undefined {
  const said = mediaType?.split(";", 1)[0]?.trim().toLowerCase();
  const named = said ?? (name === undefined ? undefined : mediaTypeOf(name));
  return named ?? (typeof content === "string" ? undefined : sniffMediaType(content));
}

async function readPage(content: string | Uint8Array, mediaType: string | undefined): Promise<UncountedParts> {
  const { text: html, charset } = decodeText(content, { mediaType, markup: true });
  const toMarkdown = await openMarkdown();
  const text = (await readWith("HTML page", () => toMarkdown(html))).toWellFormed();
  const title = TITLE.exec(html)?.[1];
  return { ...toParts(text, title === undefined ? null : toMarkdown(`<p>${title}</p>`), HTML), charset };
}

async function readWorkbook(content: Uint8Array): Promise<UncountedParts> {
  const { text, marks } = await readXlsx(content);
  return toParts(text, null, `${OFFICE}.spreadsheetml.sheet`, toOutline(text, "plain", marks));
}

async function readWord(content: Uint8Array, { maxFigures, maxFigureBytes }: FigureLimits): Promise<UncountedParts> {
  const { default: mammoth } = await loadLibrary("mammoth", () => import("mammoth"));
  const bytes = Buffer.from(content);
  checkUnpackedSize(bytes);
  const figures: Figure[] = [];
  let leftOut = 0;
  const convertImage = mammoth.images.imgElement(async (image) => {
    const base64 = await image.readAsBase64String();
    if (figures.length >= maxFigures || base64.length > (maxFigureBytes / 3) * 4) {
      leftOut += 1;
      return { src: "" };
    }
    const number = figures.length + 1;
    figures.push({ number, media_type: image.contentType, base64 });
    return { src: `figure:${number}`, alt: `Figure ${number}` };
  });
  const { value: html } = await readWith("DOCX file", () => mammoth.convertToHtml({ buffer: bytes }, { convertImage }));
  const toMarkdown = await openMarkdown();
  return {
    ...toParts(toMarkdown(html).toWellFormed(), null, `${OFFICE}.wordprocessingml.document`),
    figures,
    figuresLeftOut: leftOut,
  };
}

function toParts(
  text: string,
  title: string | null,
  mediaType: string,
  sections: readonly Section[] = toOutline(text, "markdown", []),
): UncountedParts {
  const tables = findTables(text).length;
  return {
    title: title ?? titleOf(sections),
    mediaType,
    charset: null,
    text,
    sections,
    tables,
    figures: [],
    figuresLeftOut: 0,
  };
}

/** The first heading; a page is none. */
function titleOf(sections: readonly Section[]): string | null {
  return sections.find(({ level, page }) => level === 1 && page === null)?.title ?? null;
}
