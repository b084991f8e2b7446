import { loadLibrary, readWith } from "../../../documents/load-library.ts";
import { ERRORS_ONLY } from "../../../documents/pdf.ts";
import type { Mark } from "../../../documents/read-document.ts";
import { findTables, toOutline } from "../outline.ts";
import type { UncountedParts, FigureLimits } from "../read-parts.ts";
import { readBookmarks } from "./bookmarks.ts";
import { FigureShelf, MAX_PIXELS } from "./figure-shelf.ts";
import type { TextRun } from "./page-layout.ts";
import { readDrawing } from "./page-drawing.ts";
import { type PlacedFigure, writePage } from "./page-text.ts";

/** Reads a PDF by its pages, with the tables that stand on them as Markdown and its pictures as figures. */
export async function readPdf(content: Uint8Array, limits: FigureLimits): Promise<UncountedParts> {
  const { getDocumentProxy, getResolvedPDFJS } = await loadLibrary("unpdf", () => import("unpdf"));
  return readWith("PDF", async () => {
    // A copy, since the reader takes the bytes for itself.
    const options = { maxImageSize: MAX_PIXELS, verbosity: ERRORS_ONLY };
    const document = await getDocumentProxy(Uint8Array.from(content), options);
    const { OPS } = await getResolvedPDFJS();
    const figures = new FigureShelf(limits);
    const titles = await readBookmarks(document);
    const marks: Mark[] = [];
    let text = "";
    for (let number = 1; number <= document.numPages; number += 1) {
      // One page after another: each is dropped when it is read.
      /* oxlint-disable no-await-in-loop */
      const page = await document.getPage(number);
      const { items } = await page.getTextContent();
      const runs = items.flatMap((item) => ("str" in item ? toRun(item) : []));
      const { pictures, rulings } = await readDrawing(page, OPS);
      const placed: PlacedFigure[] = [];
      for (const picture of pictures) placed.push(...(await figures.take(picture)));
      page.cleanup();
      /* oxlint-enable no-await-in-loop */
      marks.push({ at: text.length, headings: [`Page ${number}`, ...(titles.get(number) ?? [])] });
      text += `${writePage(runs, placed, rulings).toWellFormed()}\n\n`;
    }
    const { info } = await document.getMetadata();
    const title = "Title" in info && typeof info.Title === "string" ? info.Title.trim() : "";
    return {
      ...{ title: title === "" ? null : title.toWellFormed(), mediaType: "application/pdf", charset: null, text },
      ...{ sections: toOutline(text, "plain", marks), tables: findTables(text).length },
      ...{ figures: figures.figures, figuresLeftOut: figures.leftOut },
    };
  });
}

interface PdfText {
  readonly str: string;
  readonly transform: readonly number[];
  readonly width: number;
  readonly hasEOL: boolean;
}

function toRun({ str, transform, width, hasEOL }: PdfText): TextRun {
  const [, , c = 0, d = 0, x = 0, y = 0] = transform.map(Number);
  return { text: str, x, y, width, fontSize: Math.hypot(c, d), endsLine: hasEOL };
}
