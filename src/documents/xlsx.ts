import { loadLibrary, readWith } from "./load-library.ts";
import type { FormatReader, Mark } from "./read-document.ts";
import { checkUnpackedSize } from "./unpacked-size.ts";

/** Reads an XLSX a sheet at a time: a line for each row, in which every cell stands under its column's name. */
export const readXlsx: FormatReader = async (content) => {
  const { default: readSheets } = await loadLibrary("read-excel-file", () => import("read-excel-file/node"));
  const bytes = Buffer.from(content);
  checkUnpackedSize(bytes);
  return readWith("XLSX file", async () => {
    const marks: Mark[] = [];
    let text = "";
    for (const { sheet, data } of await readSheets(bytes)) {
      marks.push({ at: text.length, headings: [sheet] });
      const [names = [], ...rows] = data.map((row) => row.map(toCell));
      if (rows.length === 0) text += `${names.filter((name) => name !== "").join(" | ")}\n`;
      for (const row of rows) {
        const cells = row.flatMap((cell, column) => {
          const name = names[column] ?? "";
          if (cell === "") return [];
          return name === "" ? [cell] : [`${name}: ${cell}`];
        });
        if (cells.length > 0) text += `${cells.join(" | ")}\n`;
      }
      text += "\n";
    }
    return { text: text.toWellFormed(), title: null, shape: "plain", marks };
  });
};

function toCell(value: unknown): string {
  if (value === null || value === undefined) return "";
  return value instanceof Date ? value.toISOString().replace(/T00:00:00\.000Z$/, "") : String(value).trim();
}
