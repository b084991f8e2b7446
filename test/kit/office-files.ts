import { drawPdf, line } from "./pdf-file.ts";

/** A PDF of one line a page, as a printer would make it. */
export function makePdf(pages: readonly string[]): Buffer {
  return drawPdf({ pages: pages.map((text) => line(72, 700, text, 24)) });
}

const WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"';
const RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships";
const OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const relation = (id: string, type: string, target: string) =>
  `<Relationship Id="${id}" Type="${OFFICE}/${type}" Target="${target}"/>`;
const relations = (...list: string[]) => `<Relationships xmlns="${RELATIONS}">${list.join("")}</Relationships>`;
const paragraph = (text: string, style = "") =>
  `<w:p>${style === "" ? "" : `<w:pPr><w:pStyle w:val="${style}"/></w:pPr>`}<w:r><w:t>${text}</w:t></w:r></w:p>`;

/** The files in a DOCX of a heading and a line. */
export const DOCX = {
  "[Content_Types].xml": `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>`,
  "_rels/.rels": relations(relation("r1", "officeDocument", "word/document.xml")),
  "word/document.xml": `<w:document ${WORD}><w:body>${paragraph("Metals", "Heading1")}${paragraph("Copper conducts.")}</w:body></w:document>`,
  "word/styles.xml": `<w:styles ${WORD}><w:style w:type="paragraph" w:styleId="Heading1"><w:name w:val="heading 1"/></w:style></w:styles>`,
  "word/_rels/document.xml.rels": relations(relation("r2", "styles", "styles.xml")),
};

const SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
/** The files in an XLSX of one sheet with one row under its names. */
export const XLSX = {
  "[Content_Types].xml": `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/></Types>`,
  "_rels/.rels": relations(relation("r1", "officeDocument", "xl/workbook.xml")),
  "xl/workbook.xml": `<workbook xmlns="${SHEET}" xmlns:r="${OFFICE}"><sheets><sheet name="Stock" sheetId="1" r:id="r2"/></sheets></workbook>`,
  "xl/_rels/workbook.xml.rels": relations(relation("r2", "worksheet", "worksheets/sheet1.xml")),
  "xl/worksheets/sheet1.xml": `<worksheet xmlns="${SHEET}"><sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>metal</t></is></c><c r="B1" t="inlineStr"><is><t>tons</t></is></c></row><row r="2"><c r="A2" t="inlineStr"><is><t>copper</t></is></c><c r="B2"><v>7</v></c></row></sheetData></worksheet>`,
};
