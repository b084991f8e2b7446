import fc from "fast-check";
import { expect, it } from "vitest";
import { chunkText, DEFAULT_CHUNK_SIZE } from "../../../src/backends/rag/chunk/chunk-text.ts";
import { estimateTokens } from "../../../src/backends/rag/chunk/tokens.ts";
import { readDocument } from "../../../src/documents/read-document.ts";
import { analyze } from "../../../src/backends/rag/text/analyze.ts";
import { DOCX, makePdf, XLSX } from "../../kit/office-files.ts";
import { zipArchive } from "../../kit/zip-archive.ts";

const read = (name: string, content: string | Uint8Array) => readDocument({ name, content, mediaType: undefined });

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

it("C04 refuses what is not what it says, and archives that unpack to too much, or to more than they say", async () => {
  for (const name of ["x.pdf", "x.docx", "x.xlsx"]) {
    // oxlint-disable-next-line no-await-in-loop
    await expect(read(name, Buffer.from("no such thing"))).rejects.toMatchObject({ error: "invalid_input" });
  }
  const bomb = zipArchive(DOCX, 0x7fff_ffff);
  await expect(read("x.docx", bomb)).rejects.toMatchObject({ error: "limit_exceeded" });
  const files = { ...DOCX, "word/bomb.xml": " ".repeat(16 * 1024 * 1024) };
  expect((await read("x.docx", zipArchive(DOCX, undefined, true))).text).toBe("# Metals\n\nCopper conducts.");
  for (const lie of [0, 100, 100_000]) {
    // oxlint-disable-next-line no-await-in-loop
    await expect(read("x.docx", zipArchive(files, lie, true))).rejects.toMatchObject({ error: "limit_exceeded" });
  }
  const shifted = Buffer.concat([Buffer.from("prepended"), zipArchive(files, 100, true)]);
  await expect(read("x.docx", shifted)).rejects.toMatchObject({ error: "invalid_input" });
  await expect(read("x.txt", Uint8Array.of(0x41, 0x00, 0xfe))).rejects.toMatchObject({ error: "invalid_input" });
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

it("estimates the tokens of plain text as those of any other", () => {
  const text = fc.string({ unit: fc.constantFrom(..."aZ09 .\t\n_-[`{@", "\u0000", "word", "1234"), maxLength: 60 });
  fc.assert(
    fc.property(text, (plain) => {
      expect(estimateTokens(`${plain} é`)).toBe(estimateTokens(plain) + 1);
    }),
  );
  expect(estimateTokens("seven letters 12345 (x)")).toBe(1 + 2 + 2 + 3);
});

it("finds words by their stems, parts and letters", () => {
  expect(analyze("The Connections were CONNECTED")).toEqual(["connect", "connect"]);
  expect(analyze("readFile snake_case naïve")).toEqual(["readfil", "read", "file", "snake", "case", "naiv"]);
  expect(analyze("日本語 text")).toEqual(["日本", "本語", "text"]);
  fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => analyze(text).every((term) => term !== "")));
});
