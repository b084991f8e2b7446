import { loadLibrary, readWith } from "./load-library.ts";
import { readHtml } from "./html.ts";
import type { FormatReader } from "./read-document.ts";
import { checkUnpackedSize } from "./unpacked-size.ts";

/** Reads a DOCX by its headings, lists and tables. */
export const readDocx: FormatReader = async (content) => {
  const { default: mammoth } = await loadLibrary("mammoth", () => import("mammoth"));
  const bytes = Buffer.from(content);
  checkUnpackedSize(bytes);
  const { value: html } = await readWith("DOCX file", () =>
    mammoth.convertToHtml(
      { buffer: bytes },
      // Images have no text, and inlined they would be megabytes of it.
      { convertImage: mammoth.images.imgElement(async () => ({ src: "" })) },
    ),
  );
  return readHtml(html);
};
