import { loadLibrary, readWith } from "./load-library.ts";
import type { FormatReader, Mark } from "./read-document.ts";

/** Of pdf.js, whose warnings tell nobody anything that could be done. */
export const ERRORS_ONLY = 0;

/** Reads a PDF's text, a heading for each page. */
export const readPdf: FormatReader = async (content) => {
  const { extractText, getDocumentProxy } = await loadLibrary("unpdf", () => import("unpdf"));
  return readWith("PDF", async () => {
    // A copy, since the reader takes the bytes for itself.
    const document = await getDocumentProxy(Uint8Array.from(Buffer.from(content)), { verbosity: ERRORS_ONLY });
    const { text: pages } = await extractText(document, { mergePages: false });
    const marks: Mark[] = [];
    let text = "";
    for (const [index, page] of pages.entries()) {
      marks.push({ at: text.length, headings: [`Page ${index + 1}`] });
      text += `${page.toWellFormed()}\n\n`;
    }
    return { text, title: null, shape: "plain", marks };
  });
};
