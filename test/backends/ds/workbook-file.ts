import { zipArchive } from "../../kit/zip-archive.ts";

const SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const PACKAGE = "http://schemas.openxmlformats.org/package/2006";

type Rows = readonly (readonly (string | number | null)[])[];
/** Numbers by their places, wherever these are: `{ XFD1048576: 1 }`. */
type Cells = Readonly<Record<string, number>>;

/** Makes an XLSX file of sheets; `claimedSize` lets its archive lie about how large its files are. */
export function makeWorkbook(
  sheets: Readonly<Record<string, Rows | Cells>>,
  claimedSize?: number,
  compressed = false,
): Buffer {
  const names = Object.keys(sheets);
  const relation = (id: string, type: string, target: string) =>
    `<Relationship Id="${id}" Type="${OFFICE}/${type}" Target="${target}"/>`;
  const relations = (inside: string) => `<Relationships xmlns="${PACKAGE}/relationships">${inside}</Relationships>`;
  const parts = names.map((_, index) => `xl/worksheets/sheet${index + 1}.xml`);
  const type = "application/vnd.openxmlformats-officedocument.spreadsheetml";
  const overrides = [
    `<Override PartName="/xl/workbook.xml" ContentType="${type}.sheet.main+xml"/>`,
    ...parts.map((part) => `<Override PartName="/${part}" ContentType="${type}.worksheet+xml"/>`),
  ];
  const listed = names.map((name, index) => `<sheet name="${name}" sheetId="${index + 1}" r:id="r${index + 1}"/>`);
  return zipArchive(
    {
      "[Content_Types].xml": `<Types xmlns="${PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>${overrides.join("")}</Types>`,
      "_rels/.rels": relations(relation("w", "officeDocument", "xl/workbook.xml")),
      "xl/workbook.xml": `<workbook xmlns="${SHEET}" xmlns:r="${OFFICE}"><sheets>${listed.join("")}</sheets></workbook>`,
      "xl/_rels/workbook.xml.rels": relations(
        names.map((_, index) => relation(`r${index + 1}`, "worksheet", `worksheets/sheet${index + 1}.xml`)).join(""),
      ),
      ...Object.fromEntries(Object.values(sheets).map((rows, index) => [parts[index], toSheet(rows)])),
    },
    claimedSize,
    compressed,
  );
}

function toSheet(content: Rows | Cells): string {
  const rows = Array.isArray(content) ? (content as Rows) : [];
  const lines = rows.map((row, index) => {
    const cells = row.map((value, column) => {
      const at = `${String.fromCharCode(65 + column)}${index + 1}`;
      if (value === null) return "";
      return typeof value === "number"
        ? `<c r="${at}"><v>${value}</v></c>`
        : `<c r="${at}" t="inlineStr"><is><t>${value}</t></is></c>`;
    });
    return `<row r="${index + 1}">${cells.join("")}</row>`;
  });
  const placed = Array.isArray(content) ? [] : Object.entries(content);
  const cells = placed.map(([at, value]) => `<row r="${at.replace(/\D/g, "")}"><c r="${at}"><v>${value}</v></c></row>`);
  return `<worksheet xmlns="${SHEET}"><sheetData>${[...lines, ...cells].join("")}</sheetData></worksheet>`;
}
