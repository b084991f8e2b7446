import { createCipheriv } from "node:crypto";
import { createDeflate } from "node:zlib";
import { buffer } from "node:stream/consumers";
import { Readable } from "node:stream";
import fc from "fast-check";
import sharp from "sharp";
import { describe, expect, it, onTestFinished } from "vitest";
import DocBackend from "../../../src/backends/doc/backend.ts";
import { findTables } from "../../../src/backends/doc/pdf/find-tables.ts";
import { type TextRun, toRows } from "../../../src/backends/doc/pdf/page-layout.ts";
import { writePage } from "../../../src/backends/doc/pdf/page-text.ts";
import { linesOf } from "../../../src/backends/doc/pdf/path-lines.ts";
import { drawPdf, line, pdfOf, pdfStream } from "../../kit/pdf-file.ts";
import { testServer } from "../../kit/test-server.ts";
import { type Call, caller } from "../../kit/tool-caller.ts";

async function openDocs(config: Record<string, unknown> = {}): Promise<Call> {
  const server = await testServer({ backends: [new DocBackend({ config })] });
  onTestFinished(() => server[Symbol.asyncDispose]());
  return caller(server);
}

/** The lines around the cells of a table. */
function grid(lefts: readonly number[], heights: readonly number[]): string {
  const [left, right] = [Math.min(...lefts), Math.max(...lefts)];
  const [bottom, top] = [Math.min(...heights), Math.max(...heights)];
  return [
    ...lefts.map((x) => `${x} ${bottom} m ${x} ${top} l S\n`),
    ...heights.map((y) => `${left} ${y} m ${right} ${y} l S\n`),
  ].join("");
}

const RED = { width: 40, height: 30, bits: 8, pixels: Buffer.alloc(40 * 30 * 3, Uint8Array.of(200, 10, 20)) } as const;
/** Its left eight columns are white. */
const STRIPE = { width: 20, height: 16, bits: 1, pixels: Buffer.alloc(3 * 16, Uint8Array.of(0xff, 0, 0)) } as const;
const DOT = { width: 4, height: 4, bits: 8, pixels: Buffer.alloc(48) } as const;

const PAPER = drawPdf({
  title: "On metals",
  bookmarks: ["Copper", "Zinc"],
  pictures: [RED, STRIPE, DOT],
  pages: [
    [
      line(72, 720, "Copper conducts best, as the table says."),
      line(72, 680, "metal"),
      line(200, 680, "S/m"),
      line(300, 680, "use"),
      line(72, 665, "copper"),
      line(200, 665, "5.96e7"),
      line(300, 665, "wires | pipes"),
      line(72, 650, "zinc"),
      line(300, 650, "coating"),
      line(72, 600, "Below it is a picture."),
      "q 200 0 0 150 72 420 cm /I0 Do Q\nq 5 0 0 5 72 410 cm /I2 Do Q\n",
      line(72, 380, "And text below that."),
    ].join(""),
    [
      // Cells in the middle of their height, in no order, with a line that wraps: only what is ruled around them tells.
      grid([70, 170, 300], [700, 660, 620]),
      line(180, 645, "steel, against"),
      line(180, 633, "rust"),
      line(75, 637, "zinc"),
      line(75, 677, "metal"),
      line(180, 677, "protects"),
      line(72, 590, "The same picture again, and another."),
      "q 100 0 0 75 72 480 cm /I0 Do Q\nq 0.5 0 0 0.5 0 0 cm q 80 0 0 64 144 600 cm /I1 Do Q Q\n",
    ].join(""),
  ],
});

describe("a PDF", () => {
  it("is read with its title, bookmarks, tables and pictures, each where it stands", async () => {
    const call = await openDocs();
    const taken = await call("doc:ingest", { name: "paper.pdf", base64: PAPER.toString("base64") });
    expect(taken).toMatchObject({ title: "On metals", pages: 2, tables: 2, figures: 2, figures_left_out: 0 });
    expect(taken["outline"]).toMatchObject([{ title: "Page 1 > Copper" }, { title: "Page 2 > Zinc" }]);
    const { sections, figures } = await call("doc:read", { pages: "1-2" });
    expect(sections[0].text).toBe(
      [
        "Copper conducts best, as the table says.",
        "| metal | S/m | use |\n| --- | --- | --- |\n| copper | 5.96e7 | wires \\| pipes |\n| zinc |  | coating |",
        "Below it is a picture.",
        "![Figure 1](figure:1)",
        "And text below that.",
      ].join("\n\n"),
    );
    expect(sections[1]).toMatchObject({
      tables: ["| metal | protects |\n| --- | --- |\n| zinc | steel, against rust |"],
      figures: [1, 2],
    });
    expect(sections[1].text).toMatch(/another\.\n\n!\[Figure 1\]\(figure:1\)\n\n!\[Figure 2\]/);
    expect(
      figures.map(({ number, media_type }: { number: number; media_type: string }) => [number, media_type]),
    ).toEqual([
      [1, "image/png"],
      [1, "image/png"],
      [2, "image/png"],
    ]);
    const pixels = (base64: string) => sharp(Buffer.from(base64, "base64")).raw().toBuffer({ resolveWithObject: true });
    const red = await pixels(figures[0].base64);
    expect(red.info).toMatchObject({ width: 40, height: 30, channels: 3 });
    expect([...red.data.subarray(0, 3)]).toEqual([200, 10, 20]);
    const stripe = await pixels(figures[2].base64);
    expect(stripe.info).toMatchObject({ width: 20, height: 16 });
    const across = Array.from({ length: 20 }, (_, x) => stripe.data[x * stripe.info.channels]);
    expect(across).toEqual([...Array.from({ length: 8 }, () => 255), ...Array.from({ length: 12 }, () => 0)]);
    expect((await call("doc:search", { key_words: "coating" }))["results"]).toMatchObject([{ page: 1, tables: 1 }]);
  });

  it("has no more pictures kept of it than may be, nor larger ones, and says how many were not", async () => {
    const call = await openDocs({ max_figures: 1 });
    const taken = await call("doc:ingest", { name: "paper.pdf", base64: PAPER.toString("base64") });
    expect(taken).toMatchObject({ figures: 1, figures_left_out: 1 });
    // Noise, which is more than a megabyte as PNG and less as JPEG.
    const pixels = createCipheriv("aes-128-ctr", Buffer.alloc(16, 1), Buffer.alloc(16)).update(
      Buffer.alloc(600 * 600 * 3),
    );
    const photo = drawPdf({
      pages: ["q 9 0 0 9 0 0 cm /I0 Do Q"],
      pictures: [{ width: 600, height: 600, bits: 8, pixels }],
    });
    const small = await openDocs({ max_figure_mib: 1 });
    expect(await small("doc:ingest", { name: "photo.pdf", base64: photo.toString("base64") })).toMatchObject({
      figures: 1,
    });
    const { figures } = await small("doc:read", { pages: "1" });
    expect(figures).toMatchObject([{ media_type: "image/jpeg" }]);
    expect(figures[0].base64.length).toBeLessThan(((1 << 20) * 4) / 3);
  });

  it("that unpacks to far too much is given up at its time or memory, and holds up nobody else (C04, D8)", async () => {
    const bomb = pdfOf([
      "<< /Type /Catalog /Pages 2 0 R >>",
      "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
      "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F 4 0 R >> >> /Contents 5 0 R >>",
      "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
      pdfStream("/Filter /FlateDecode", await packed(line(72, 700, "a".repeat(40)), 64)),
    ]).toString("base64");
    expect(bomb.length).toBeLessThan(2_000_000);
    const late = await openDocs({ read_timeout_ms: 3_000 });
    const reading = late("doc:ingest", { name: "bomb.pdf", base64: bomb });
    expect(await late("doc:ingest", { id: "a", text: "# A" })).toMatchObject({ document: "a" });
    expect(await reading).toMatchObject({ failed: "timeout", outcome: "limit" });
    const large = await openDocs({ memory_mib: 256 });
    expect(await large("doc:ingest", { name: "bomb.pdf", base64: bomb })).toMatchObject({
      ...{ failed: "limit_exceeded", limit: "memory_mib", max: 256 },
    });
    // Its place is free again.
    expect(await large("doc:ingest", { name: "paper.pdf", base64: PAPER.toString("base64") })).toMatchObject({
      pages: 2,
    });
  });

  it("that is broken or cut off is refused", async () => {
    const call = await openDocs();
    for (const content of [Buffer.from("%PDF-1.7\n"), Buffer.from("%PDF-1.7\n%%EOF"), PAPER.subarray(0, 200)]) {
      // oxlint-disable-next-line no-await-in-loop
      const { failed, pages } = await call("doc:ingest", { name: "x.pdf", base64: content.toString("base64") });
      expect(failed ?? pages).toBe("invalid_input");
    }
  });
});

/** Many mebibytes of the same text, packed. */
async function packed(text: string, mebibytes: number): Promise<Buffer> {
  const chunk = Buffer.alloc(1 << 20, text);
  return buffer(Readable.from(Array.from({ length: mebibytes }, () => chunk)).pipe(createDeflate({ level: 1 })));
}

const run = (x: number, y: number, text: string): TextRun => ({
  ...{ text, x, y, width: text.length * 5, fontSize: 10, endsLine: true },
});

describe("what stands below one another on a page", () => {
  it.each([
    [
      "columns of prose",
      Array.from({ length: 8 }, (_, row) => [
        run(50, 700 - row * 12, "Lorem ipsum dolor sit amet, consectetur adipis"),
        run(320, 700 - row * 12, "Excepteur sint occaecat cupidatat non proident"),
      ]).flat(),
    ],
    [
      "a list",
      ["one", "two", "three"].flatMap((text, row) => [
        run(50, 700 - row * 12, `${row + 1}.`),
        run(80, 700 - row * 12, text),
      ]),
    ],
    [
      "a list of contents",
      ["One", "Two", "Three"].flatMap((text, row) => [
        run(50, 700 - row * 12, `${text} . . . . . . . .`),
        run(400, 700 - row * 12, "7"),
      ]),
    ],
    [
      "the head of a page over text",
      [run(50, 700, "Chapter"), run(400, 700, "9"), ...[1, 2, 3].map((row) => run(50, 700 - row * 12, "Text"))],
    ],
    ["lines of one cell", [run(50, 700, "One"), run(50, 688, "Two"), run(50, 676, "Three")]],
  ])("is no table when it is %s", (_name, runs) => {
    expect(findTables(toRows(runs))).toEqual([]);
  });

  it("is a table when it is rows of cells, also with a cell of two lines and one that is empty", () => {
    const runs = [
      ...[run(50, 700, "metal"), run(150, 700, "use"), run(300, 700, "tons")],
      ...[run(50, 670, "copper"), run(150, 670, "wires and"), run(300, 670, "7"), run(150, 659, "pipes")],
      ...[run(50, 629, "tin"), run(300, 629, "2")],
    ];
    expect(findTables(toRows(runs))).toMatchObject([
      {
        rows: [
          ["metal", "use", "tons"],
          ["copper", "wires and pipes", "7"],
          ["tin", "", "2"],
        ],
      },
    ]);
  });

  it("loses no word and repeats none, whatever stands where and whatever lines are drawn", () => {
    const at = fc.integer({ min: 0, max: 60 }).map((step) => step * 10);
    const runs = fc.array(
      fc.record({
        x: at,
        y: at,
        width: at,
        fontSize: fc.integer({ min: 1, max: 20 }),
        endsLine: fc.boolean(),
        blank: fc.boolean(),
      }),
      { maxLength: 60 },
    );
    const path = fc.array(fc.oneof(fc.integer({ min: 0, max: 5 }), at), { maxLength: 60 });
    fc.assert(
      fc.property(runs, path, fc.array(at, { maxLength: 3 }), (placed, drawn, tops) => {
        const named = placed.map(({ blank, ...rest }, index) => ({ ...rest, text: blank ? " " : `word${index}x` }));
        const figures = tops.map((top, index) => ({ number: index + 1, top }));
        const text = writePage(named, figures, linesOf(drawn, [1, 0, 0, 1, 0, 0]));
        const words = text.match(/word\d+x/g) ?? [];
        expect(words.toSorted()).toEqual(named.flatMap(({ text: word }) => (word === " " ? [] : [word])).toSorted());
        expect(text.match(/figure:\d/g) ?? []).toHaveLength(figures.length);
      }),
    );
  });
});
