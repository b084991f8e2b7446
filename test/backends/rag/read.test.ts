import fc from "fast-check";
import { expect, it } from "vitest";
import { chunkText, DEFAULT_CHUNK_SIZE } from "../../../src/backends/rag/chunk/chunk-text.ts";
import { estimateTokens } from "../../../src/backends/rag/chunk/tokens.ts";
import { readDocument } from "../../../src/backends/rag/read/read-document.ts";
import { analyze } from "../../../src/backends/rag/text/analyze.ts";
import { zipArchive } from "../../kit/zip-archive.ts";

const read = (name: string, content: string | Uint8Array) => readDocument({ name, content, mediaType: undefined });

/** A PDF of one line a page, as a printer would make it. */
function makePdf(pages: readonly string[]): Buffer {
  const objects = ["<< /Type /Catalog /Pages 2 0 R >>"];
  const kids = pages.map((_, index) => `${4 + index * 2} 0 R`).join(" ");
  objects.push(`<< /Type /Pages /Kids [${kids}] /Count ${pages.length} >>`);
  objects.push("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>");
  for (const [index, line] of pages.entries()) {
    const stream = `BT /F1 24 Tf 72 700 Td (${line}) Tj ET`;
    const resources = "<< /Font << /F1 3 0 R >> >>";
    objects.push(
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources ${resources} /Contents ${5 + index * 2} 0 R >>`,
    );
    objects.push(`<< /Length ${stream.length} >>\nstream\n${stream}\nendstream`);
  }
  let text = "%PDF-1.4\n";
  const offsets = objects.map((object, index) => {
    const offset = text.length;
    text += `${index + 1} 0 obj\n${object}\nendobj\n`;
    return offset;
  });
  const rows = offsets.map((offset) => `${String(offset).padStart(10, "0")} 00000 n \n`).join("");
  const trailer = `trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${text.length}\n%%EOF`;
  return Buffer.from(`${text}xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${rows}${trailer}`, "latin1");
}

const WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"';
const RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships";
const OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const relation = (id: string, type: string, target: string) =>
  `<Relationship Id="${id}" Type="${OFFICE}/${type}" Target="${target}"/>`;
const relations = (...list: string[]) => `<Relationships xmlns="${RELATIONS}">${list.join("")}</Relationships>`;
const paragraph = (text: string, style = "") =>
  `<w:p>${style === "" ? "" : `<w:pPr><w:pStyle w:val="${style}"/></w:pPr>`}<w:r><w:t>${text}</w:t></w:r></w:p>`;

const DOCX = {
  "[Content_Types].xml": `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>`,
  "_rels/.rels": relations(relation("r1", "officeDocument", "word/document.xml")),
  "word/document.xml": `<w:document ${WORD}><w:body>${paragraph("Metals", "Heading1")}${paragraph("Copper conducts.")}</w:body></w:document>`,
  "word/styles.xml": `<w:styles ${WORD}><w:style w:type="paragraph" w:styleId="Heading1"><w:name w:val="heading 1"/></w:style></w:styles>`,
  "word/_rels/document.xml.rels": relations(relation("r2", "styles", "styles.xml")),
};

const SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const XLSX = {
  "[Content_Types].xml": `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/></Types>`,
  "_rels/.rels": relations(relation("r1", "officeDocument", "xl/workbook.xml")),
  "xl/workbook.xml": `<workbook xmlns="${SHEET}" xmlns:r="${OFFICE}"><sheets><sheet name="Stock" sheetId="1" r:id="r2"/></sheets></workbook>`,
  "xl/_rels/workbook.xml.rels": relations(relation("r2", "worksheet", "worksheets/sheet1.xml")),
  "xl/worksheets/sheet1.xml": `<worksheet xmlns="${SHEET}"><sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>metal</t></is></c><c r="B1" t="inlineStr"><is><t>tons</t></is></c></row><row r="2"><c r="A2" t="inlineStr"><is><t>copper</t></is></c><c r="B2"><v>7</v></c></row></sheetData></worksheet>`,
};

it("reads HTML by its headings, without scripts, and takes its title", async () => {
  const html = `<html><head><title>Metals &amp; more</title><script>evil()</script></head><body><h1>Metals</h1>
    <p>Copper <a href="http://example.org/x">conducts</a>.</p><h2>Zinc</h2><p>Rust.</p></body></html>`;
  const { text, title, shape } = await read("page.html", html);
  expect(text).not.toMatch(/evil|example\.org/);
  expect(title).toBe("Metals & more");
  const chunks = chunkText(text, { shape, size: { ...DEFAULT_CHUNK_SIZE, minTokens: 1 } });
  expect(chunks.map(({ heading }) => heading)).toEqual(["Metals", "Metals > Zinc"]);
});

it("reads a PDF a page at a time", async () => {
  const { text, marks } = await read("paper.pdf", makePdf(["Copper conducts", "Zinc protects"]));
  expect(text).toMatch(/Copper conducts[\s\S]*Zinc protects/);
  expect(marks.map(({ headings }) => headings)).toEqual([["Page 1"], ["Page 2"]]);
  const size = { ...DEFAULT_CHUNK_SIZE, minTokens: 1 };
  expect(chunkText(text, { marks, size }).map(({ heading }) => heading)).toEqual(["Page 1", "Page 2"]);
});

it("reads a DOCX by its headings and an XLSX by its columns", async () => {
  const document = await read("metals.docx", zipArchive(DOCX));
  expect(document.text).toBe("# Metals\n\nCopper conducts.");
  const sheet = await read("stock.xlsx", zipArchive(XLSX));
  expect(sheet).toMatchObject({ text: "metal: copper | tons: 7\n\n", marks: [{ headings: ["Stock"] }] });
});

it("refuses what is not what it says, and archives that unpack to too much", async () => {
  for (const name of ["x.pdf", "x.docx", "x.xlsx"]) {
    // oxlint-disable-next-line no-await-in-loop
    await expect(read(name, Buffer.from("no such thing"))).rejects.toMatchObject({ error: "invalid_input" });
  }
  const bomb = zipArchive(DOCX, 0x7fff_ffff);
  await expect(read("x.docx", bomb)).rejects.toMatchObject({ error: "limit_exceeded" });
  await expect(read("x.txt", Uint8Array.of(0xff, 0x00, 0xfe))).rejects.toMatchObject({ error: "invalid_input" });
});

it("cuts any text into chunks that cover its words, in order and within the size", () => {
  const size = { maxTokens: 40, minTokens: 8, overlapTokens: 8 };
  const line = fc.oneof(
    fc.constantFrom("# One", "## Two", "```", "", "Some words. And more of them!", "class Foo {"),
    fc.string({ unit: "grapheme", maxLength: 300 }),
  );
  const shape = fc.constantFrom("plain" as const, "markdown" as const, "code" as const);
  fc.assert(
    fc.property(fc.array(line, { maxLength: 40 }), shape, (lines, kind) => {
      const text = lines.join("\n").toWellFormed();
      const chunks = chunkText(text, { shape: kind, size });
      let covered = 0;
      for (const { start, end } of chunks) {
        expect(end).toBeGreaterThan(start);
        expect(end).toBeGreaterThan(covered);
        if (start > covered) expect(text.slice(covered, start).trim()).toBe("");
        expect(text.slice(start, end).isWellFormed()).toBe(true);
        expect(estimateTokens(text.slice(start, end))).toBeLessThanOrEqual(size.maxTokens * 2);
        covered = end;
      }
      expect(text.slice(covered).trim()).toBe("");
    }),
  );
});

it("finds words by their stems, parts and letters", () => {
  expect(analyze("The Connections were CONNECTED")).toEqual(["connect", "connect"]);
  expect(analyze("readFile snake_case naïve")).toEqual(["readfil", "read", "file", "snake", "case", "naiv"]);
  expect(analyze("日本語 text")).toEqual(["日本", "本語", "text"]);
  fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => analyze(text).every((term) => term !== "")));
});
