import { loadLibrary, readWith } from "../../documents/load-library.ts";
import { mediaTypeOf, sniffMediaType } from "../../documents/media-type.ts";
import { readDocument, toText } from "../../documents/read-document.ts";
import { openMarkdown } from "../../documents/to-markdown.ts";
import { checkUnpackedSize } from "../../documents/unpacked-size.ts";
import { findTables, type Section, toOutline } from "./outline.ts";

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
  readonly text: string;
  readonly sections: readonly Section[];
  readonly tables: number;
  readonly figures: readonly Figure[];
  /** Pictures that were left out for their size or their number. */
  readonly figuresLeftOut: number;
}

/** A document as it is sent, and what is kept of its pictures. */
export interface ReadPartsOptions {
  readonly content: string | Buffer;
  readonly name: string | undefined;
  readonly mediaType: string | undefined;
  readonly maxFigures: number;
  readonly maxFigureBytes: number;
}

const DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
const TITLE = /<title[^>]*>([^<]{1,1000})<\/title>/i;

/** @throws ToolyardError `invalid_input`, `limit_exceeded`, `dependency_failed` */
export async function readParts(options: ReadPartsOptions): Promise<DocumentParts> {
  const { content, name, mediaType } = options;
  const named =
    mediaType?.split(";", 1)[0]?.trim().toLowerCase() ?? (name === undefined ? undefined : mediaTypeOf(name));
  const type = named ?? (typeof content === "string" ? undefined : sniffMediaType(content));
  if (type === DOCX) return readWord(Buffer.from(content), options);
  if (type === "text/html") {
    const html = toText(content);
    const toMarkdown = await openMarkdown();
    const text = (await readWith("HTML page", () => toMarkdown(html))).toWellFormed();
    const title = TITLE.exec(html)?.[1];
    return toParts(text, title === undefined ? null : toMarkdown(`<p>${title}</p>`), type);
  }
  const { text, title, mediaType: read, shape, marks } = await readDocument({ content, name, mediaType });
  const sections = toOutline(text, shape, marks);
  const tables = findTables(text).length;
  return { title: title ?? titleOf(sections), mediaType: read, text, sections, tables, figures: [], figuresLeftOut: 0 };
}

async function readWord(bytes: Buffer, { maxFigures, maxFigureBytes }: ReadPartsOptions): Promise<DocumentParts> {
  const { default: mammoth } = await loadLibrary("mammoth", () => import("mammoth"));
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
  return { ...toParts(toMarkdown(html).toWellFormed(), null, DOCX), figures, figuresLeftOut: leftOut };
}

function toParts(text: string, title: string | null, mediaType: string): DocumentParts {
  const sections = toOutline(text, "markdown", []);
  const tables = findTables(text).length;
  return {
    title: title ?? titleOf(sections),
    mediaType,
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
