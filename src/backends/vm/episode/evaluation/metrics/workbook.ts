import { ToolyardError } from "../../../../../core/errors.ts";
import { checkUnpackedSize } from "../../../../../documents/unpacked-size.ts";
import { type Found, type Side, unreadable } from "../found.ts";
import { toText } from "../metric.ts";
import { parseCsv } from "./csv.ts";

/** A cell's value; a date is its ISO text. */
export type Cell = string | number | boolean | null;

export interface Sheet {
  readonly name: string;
  readonly rows: readonly (readonly Cell[])[];
}

/** The start of every XLSX, which is a zip archive. */
const ZIP = [0x50, 0x4b];

/** Reads a spreadsheet: XLSX with the values that its program computed last, or CSV as one sheet of texts. */
export async function readWorkbook(found: Found, side: Side): Promise<readonly Sheet[]> {
  if (found.kind !== "file" || found.bytes[0] !== ZIP[0] || found.bytes[1] !== ZIP[1]) {
    if (found.kind === "file" && /\.xls[xm]?$/i.test(found.name))
      throw unreadable(side, `${found.name} is no XLSX file`);
    return [{ name: "Sheet1", rows: trim(parseCsv(toText(found, side))) }];
  }
  const bytes = Buffer.from(found.bytes);
  const { default: readSheets } = await load();
  try {
    checkUnpackedSize(bytes);
    const sheets = await readSheets(bytes);
    return sheets.map(({ sheet, data }) => ({ name: sheet, rows: trim(data.map((row) => row.map(toCell))) }));
  } catch (cause) {
    const reason = ToolyardError.is(cause) ? cause.message : "it is no XLSX file that can be read";
    throw unreadable(side, `${found.name}: ${reason}`);
  }
}

async function load() {
  try {
    return await import("read-excel-file/node");
  } catch (cause) {
    throw new ToolyardError(
      "dependency_failed",
      'spreadsheets need the package "read-excel-file", which cannot be loaded',
      {
        cause,
        suggestion: "Install it: npm install read-excel-file.",
      },
    );
  }
}

function toCell(value: unknown): Cell {
  if (value instanceof Date) return value.toISOString().replace(/T00:00:00\.000Z$/, "");
  if (typeof value === "number" || typeof value === "boolean" || typeof value === "string") return value;
  return null;
}

/** Without what is empty at the end of rows and of the sheet, which programs write as they like. */
function trim(rows: readonly (readonly Cell[])[]): readonly (readonly Cell[])[] {
  const trimmed = rows.map((row) => row.slice(0, row.findLastIndex((cell) => cell !== null && cell !== "") + 1));
  return trimmed.slice(0, trimmed.findLastIndex((row) => row.length > 0) + 1);
}

/** Where a cell is by its name, `B3`; both count from 0. */
export function toPlace(name: string): { readonly row: number; readonly column: number } | undefined {
  const [, letters = "", digits = ""] = /^\$?([A-Z]{1,3})\$?([1-9]\d{0,6})$/i.exec(name) ?? [];
  if (letters === "") return undefined;
  const column = [...letters.toUpperCase()].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0) - 1;
  return { row: Number(digits) - 1, column };
}
