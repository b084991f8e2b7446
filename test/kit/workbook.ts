import { zipArchive } from "./zip-archive.ts";

const MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const XML = '<?xml version="1.0" encoding="UTF-8"?>';

/** Makes an XLSX file of sheets of plain cells. */
export function createWorkbook(sheets: Readonly<Record<string, readonly (readonly (string | number)[])[]>>): Buffer {
  const names = Object.keys(sheets);
  const parts: Record<string, string> = {
    "xl/workbook.xml": `${XML}<workbook xmlns="${MAIN}" xmlns:r="${RELATIONS}"><sheets>${names
      .map((name, index) => `<sheet name="${name}" sheetId="${index + 1}" r:id="rId${index + 1}"/>`)
      .join("")}</sheets></workbook>`,
    "xl/_rels/workbook.xml.rels": `${XML}<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${names
      .map(
        (_name, index) =>
          `<Relationship Id="rId${index + 1}" Type="${RELATIONS}/worksheet" Target="worksheets/sheet${index + 1}.xml"/>`,
      )
      .join("")}</Relationships>`,
  };
  for (const [index, rows] of Object.values(sheets).entries()) {
    const cells = rows.map(
      (row, at) => `<row r="${at + 1}">${row.map((cell, column) => toCell(cell, column, at)).join("")}</row>`,
    );
    parts[`xl/worksheets/sheet${index + 1}.xml`] =
      `${XML}<worksheet xmlns="${MAIN}"><sheetData>${cells.join("")}</sheetData></worksheet>`;
  }
  return zipArchive(parts);
}

function toCell(cell: string | number, column: number, row: number): string {
  const place = `${String.fromCharCode(65 + column)}${row + 1}`;
  if (typeof cell === "number") return `<c r="${place}"><v>${cell}</v></c>`;
  return `<c r="${place}" t="inlineStr"><is><t xml:space="preserve">${cell}</t></is></c>`;
}
