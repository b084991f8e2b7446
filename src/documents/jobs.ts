import { readDocx } from "./docx.ts";
import { readHtml } from "./html.ts";
import { readPdf } from "./pdf.ts";
import type { FormatReader, ReadFormat } from "./read-document.ts";
import { readXlsx } from "./xlsx.ts";

// What runs in the processes of reader-pool.ts: everything here may hold its thread and its memory.

const READERS = { html: readHtml, pdf: readPdf, docx: readDocx, xlsx: readXlsx } satisfies Readonly<
  Record<string, FormatReader>
>;

/** The formats that are read in a process of their own. */
export type ApartFormat = keyof typeof READERS;

export interface ReadJob {
  readonly format: ApartFormat;
  readonly content: string | Uint8Array;
}

export const jobs = {
  read: ({ format, content }: ReadJob): Promise<ReadFormat> => READERS[format](content),
};
