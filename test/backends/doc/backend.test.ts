import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import DocBackend from "../../../src/backends/doc/backend.ts";
import { findTables, toOutline } from "../../../src/backends/doc/outline.ts";
import { escapeXml } from "../../../src/backends/doc/xml.ts";
import { createChatModel } from "../../../src/llm/openai-chat.ts";
import { makePdf, DOCX, XLSX } from "../../kit/office-files.ts";
import { testServer } from "../../kit/test-server.ts";
import { zipArchive } from "../../kit/zip-archive.ts";
import { openDouble } from "../web/web-doubles.ts";

const GUIDE = `Preface words.

# Metals
Metals conduct.

## Copper
Copper conducts best.

| metal | S/m |
| --- | --- |
| copper | 5.96e7 |

### Wires
Wires are drawn.

## Zinc
Zinc protects steel from rust.

# Woods
Woods burn.

\`\`\`sh
# no heading
\`\`\`
`;

async function openDocs(config: object = {}, dataDir?: string) {
  const setup = { config: { ...config }, openChatModel: createChatModel, ...(dataDir !== undefined && { dataDir }) };
  const server = await testServer({ backends: [new DocBackend(setup)] });
  const call = async (tool: string, params: object = {}, worker = "w1") =>
    (await server.post("/execute", { worker_id: worker, action: `doc:${tool}`, params })).body;
  return { server, call, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

const base64 = (bytes: Buffer) => bytes.toString("base64");
const ids = (sections: readonly { section_id: string }[]) => sections.map(({ section_id: id }) => id);

describe("doc", () => {
  it("takes a document in, finds its sections, reads them with those below, by known names", async () => {
    await using docs = await openDocs();
    const { data } = await docs.call("ingest", { id: "guide", text: GUIDE });
    expect(data).toMatchObject({ document: "guide", title: "Metals", sections: 6, pages: null, tables: 1, figures: 0 });
    expect(data.outline.map(({ section_id: id, title }: { section_id: string; title: string }) => [id, title])).toEqual(
      [
        ["guide#0", ""],
        ["guide#1", "Metals"],
        ["guide#1.1", "Copper"],
        ["guide#1.1.1", "Wires"],
        ["guide#1.2", "Zinc"],
        ["guide#2", "Woods"],
      ],
    );
    const found = (
      await docs.call("search", { key_words: ["rusting", "steel"], max_search_results: 3, seed_path: "guide" })
    ).data;
    expect(found.results[0]).toMatchObject({
      section_id: "guide#1.2",
      title: "Zinc",
      snippet: expect.stringContaining("rust"),
    });
    expect(found.result).toMatch(/^<search_results>\n<section section_id="guide#1\.2" title="Zinc" score="[\d.]+">/);
    expect(found.inputs).toEqual({ key_words: ["rusting", "steel"] });
    const read = (await docs.call("read", { section_ids: "guide#1.1", goal: "" })).data;
    expect(ids(read.sections)).toEqual(["guide#1.1", "guide#1.1.1"]);
    expect(read.sections[0].tables).toEqual(["| metal | S/m |\n| --- | --- |\n| copper | 5.96e7 |"]);
    expect(read.result).toMatch(/^\[guide#1\.1 Copper\]\n## Copper[^]*\[guide#1\.1\.1 Wires\]/);
    const outline = (await docs.call("read", {})).data;
    expect(ids(outline.outline)).toEqual(ids(data.outline));
    expect(ids((await docs.call("read", { section_ids: ["2", "guide#1.2"] })).data.sections)).toEqual([
      "guide#2",
      "guide#1.2",
    ]);
  });

  it("reads a PDF by its pages, an XLSX by its sheets, a DOCX and HTML by headings with tables and figures", async () => {
    await using docs = await openDocs();
    const pdf = makePdf(["Copper conducts", "Zinc protects", "Tin melts"]);
    expect((await docs.call("ingest", { name: "paper.pdf", base64: base64(pdf) })).data).toMatchObject({
      document: "paper.pdf",
      pages: 3,
    });
    const pages = (await docs.call("read", { document: "paper.pdf", pages: "1, 3-9" })).data;
    expect(pages.sections.map(({ page, text }: { page: number; text: string }) => [page, text])).toEqual([
      [1, "Copper conducts"],
      [3, "Tin melts"],
    ]);
    const found = (await docs.call("search", { key_words: "zinc" })).data;
    expect(found.results).toMatchObject([{ section_id: "paper.pdf#2", page: 2, title: "Page 2" }]);
    await docs.call("ingest", { name: "stock.xlsx", base64: base64(zipArchive(XLSX)) });
    expect((await docs.call("read", { section_ids: "stock.xlsx#1" })).data.result).toContain("metal: copper | tons: 7");

    const drawing =
      '<w:p><w:r><w:drawing><wp:inline xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing"><a:graphic xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><a:graphicData uri="http://schemas.openxmlformats.org/drawingml/2006/picture"><pic:pic xmlns:pic="http://schemas.openxmlformats.org/drawingml/2006/picture"><pic:blipFill><a:blip r:embed="r9" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"/></pic:blipFill></pic:pic></a:graphicData></a:graphic></wp:inline></w:drawing></w:r></w:p>';
    const cell = (text: string) => `<w:tc><w:p><w:r><w:t>${text}</w:t></w:r></w:p></w:tc>`;
    const table = `<w:tbl><w:tr>${cell("metal")}${cell("tons")}</w:tr><w:tr>${cell("copper")}${cell("7")}</w:tr></w:tbl>`;
    const files = {
      ...DOCX,
      "word/document.xml": DOCX["word/document.xml"].replace("</w:body>", `${drawing}${table}</w:body>`),
      "word/_rels/document.xml.rels": DOCX["word/_rels/document.xml.rels"].replace(
        "</Relationships>",
        '<Relationship Id="r9" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/image" Target="media/i.png"/></Relationships>',
      ),
      "[Content_Types].xml": DOCX["[Content_Types].xml"].replace(
        "</Types>",
        '<Default Extension="png" ContentType="image/png"/></Types>',
      ),
      "word/media/i.png": "not really a picture",
    };
    const word = (await docs.call("ingest", { name: "metals.docx", base64: base64(zipArchive(files)) })).data;
    expect(word).toMatchObject({ title: "Metals", tables: 1, figures: 1, figures_left_out: 0 });
    const read = (await docs.call("read", { section_ids: "metals.docx#1" })).data;
    expect(read.result).toContain("| metal | tons |\n| --- | --- |\n| copper | 7 |");
    expect(read.sections[0].figures).toEqual([1]);
    expect(read.figures).toEqual([
      {
        document: "metals.docx",
        number: 1,
        media_type: "image/png",
        base64: base64(Buffer.from("not really a picture")),
      },
    ]);
    const html =
      "<title>T &amp; t</title><h1>A</h1><p>one</p><h3>B</h3><table><tr><td>x</td><td>y</td></tr><tr><td>1</td><td>2</td></tr></table>";
    expect((await docs.call("ingest", { id: "page", text: html, media_type: "text/html" })).data).toMatchObject({
      title: "T & t",
      tables: 1,
      outline: [{ section_id: "page#1" }, { section_id: "page#1.1", title: "B" }],
    });
  });

  it("decodes text and HTML of other encodings, says by which, and refuses what is no text", async () => {
    await using docs = await openDocs();
    const latin1 = (text: string) => base64(Buffer.from(text, "latin1"));
    const plain = await docs.call("ingest", { name: "plain.txt", base64: latin1("Grüße an alle") });
    expect(plain.data).toMatchObject({ charset: "windows-1252" });
    const page = await docs.call("ingest", {
      name: "page.html",
      base64: latin1('<meta charset="iso-8859-2"><h1>Gr\u00fc\u00dfe</h1><p>\u00b1</p>'),
    });
    expect(page.data).toMatchObject({ charset: "iso-8859-2", outline: [{ title: "Grüße" }] });
    expect((await docs.call("read", { section_ids: "page.html#1" })).data.result).toContain("ą");
    // What is sent as text is what it is, whatever it says of itself.
    const sent = await docs.call("ingest", { name: "sent.html", text: '<meta charset="iso-8859-2"><p>ü±</p>' });
    expect(sent.data).toMatchObject({ charset: null });
    expect((await docs.call("read", { section_ids: "sent.html#0" })).data.result).toContain("ü±");
    const binary = await docs.call("ingest", { name: "x.txt", base64: base64(Buffer.from([0x89, 0x50, 0x1a, 0x02])) });
    expect(binary.meta).toMatchObject({ error: "invalid_input", outcome: "rejected" });
  });

  it("keeps each worker's documents to itself, over a restart, until they are replaced or deleted", async () => {
    const folder = await mkdtemp(join(tmpdir(), "toolyard-doc-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    {
      await using docs = await openDocs({}, folder);
      await docs.call("ingest", { id: "a", text: "# One\ncopper" });
      await docs.call("ingest", { id: "a", text: "# Two\nzinc" });
    }
    await using docs = await openDocs({}, folder);
    expect((await docs.call("list")).data.documents).toMatchObject([{ document: "a", title: "Two" }]);
    expect((await docs.call("search", { key_words: "copper" })).data.results).toEqual([]);
    expect((await docs.call("list", {}, "w2")).data.documents).toEqual([]);
    for (const [tool, params] of [
      ["read", { section_ids: "a#1" }],
      ["search", { key_words: "zinc", document: "a" }],
    ] as const) {
      // oxlint-disable-next-line no-await-in-loop
      expect((await docs.call(tool, params, "w2")).meta?.error).toBe("unknown_name");
    }
    expect((await docs.call("delete", { document: ["a", "b"] })).data).toEqual({ deleted: 1, missing: ["b"] });
    expect((await docs.call("list")).data.documents).toEqual([]);
  });

  it.each([
    ["C01 a path for a document", "read", { section_ids: "1", seed_path: "/etc/passwd" }, "unknown_name"],
    ["C01 a path above for a document", "search", { key_words: "x", seed_path: "../../etc" }, "unknown_name"],
    ["a section that there is not", "read", { section_ids: "guide#9" }, "unknown_name"],
    ["pages of what has none", "read", { document: "guide", pages: "1" }, "unknown_name"],
    ["D10 pages that are none", "read", { document: "guide", pages: "all" }, "invalid_input"],
    ["D10 neither text nor bytes", "ingest", { id: "x" }, "invalid_input"],
    ["D10 both", "ingest", { text: "a", base64: "YQ==" }, "invalid_input"],
    ["what is not what it says", "ingest", { name: "a.pdf", base64: "YQ==" }, "invalid_input"],
    ["a type that cannot be read", "ingest", { media_type: "image/png", base64: "YQ==" }, "invalid_input"],
    ["C04 what is too long", "ingest", { text: "a".repeat(1_048_577) }, "limit_exceeded"],
    ["more documents than may be", "ingest", { id: "two", text: "a" }, "limit_exceeded"],
  ])("refuses %s", async (_name, tool, params, error) => {
    await using docs = await openDocs({ max_documents: 1, max_text_mib: 1 });
    await docs.call("ingest", { id: "guide", text: GUIDE });
    const { meta } = await docs.call(tool, params);
    expect(meta?.error).toBe(error);
    // What is there may always be replaced.
    expect((await docs.call("ingest", { id: "guide", text: GUIDE })).code).toBe(0);
  });

  it("takes nothing of an archive but the document: a file's name leads nowhere (C03), and a million files are too many (C04)", async () => {
    await using docs = await openDocs();
    const mark = `toolyard-c03-${crypto.randomUUID()}`;
    const names = [
      `../${mark}`,
      `/tmp/${mark}`,
      `word/../../../../../tmp/${mark}`,
      `..\\${mark}`,
      `word/media/../../${mark}`,
    ];
    const slip = zipArchive({ ...DOCX, ...Object.fromEntries(names.map((name) => [name, "slipped"])) });
    expect((await docs.call("ingest", { name: "slip.docx", base64: base64(slip) })).data).toMatchObject({
      title: "Metals",
    });
    for (const path of [join("/tmp", mark), join(tmpdir(), mark), join(process.cwd(), "..", mark), join("/", mark)]) {
      expect(existsSync(path), path).toBe(false);
    }
    const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`word/${index}`, ""]));
    const { meta, data } = await docs.call("ingest", {
      name: "many.docx",
      base64: base64(zipArchive({ ...DOCX, ...many })),
    });
    expect({ ...meta, ...data }).toMatchObject({ error: "limit_exceeded", limit: "archive_entries", max: 10_000 });
  });

  it("tries again to open its file after it could not (D11)", async () => {
    const folder = await mkdtemp(join(tmpdir(), "toolyard-doc-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    await writeFile(join(folder, "doc"), "in the way");
    await using docs = await openDocs({}, folder);
    expect((await docs.call("list")).meta?.outcome).toBe("infra_error");
    await rm(join(folder, "doc"));
    expect((await docs.call("list")).data).toEqual({ documents: [] });
  });

  it("gives no more text than asked for, and says so", async () => {
    await using docs = await openDocs();
    await docs.call("ingest", { id: "long", text: `# A\n${"copper ".repeat(1_000)}\n# B\nzinc` });
    const { data } = await docs.call("read", { section_ids: ["1", "2"], max_text_token: 100 });
    expect(data).toMatchObject({ truncated: true, warning: expect.stringContaining("100 tokens") });
    expect(data.sections).toHaveLength(1);
    expect(data.sections[0].text.length).toBe(400);
  });

  it("has the model read for a goal, with the figures where it sees, and falls back to the text", async () => {
    let status = 200;
    const model = await openDouble((_request, response) => {
      response.writeHead(status, { "content-type": "application/json" });
      const message = { role: "assistant", content: "Copper, by [guide#1.1 Copper]." };
      response.end(JSON.stringify({ model: "m-1", choices: [{ index: 0, message, finish_reason: "stop" }] }));
    });
    const config = { model: { url: `${model.url}/v1`, model: "m", retries: 0 }, vision: true };
    await using docs = await openDocs(config);
    await docs.call("ingest", { id: "guide", text: GUIDE });
    const params = { section_ids: "guide#1.1", goal: "which conducts best?" };
    const { data } = await docs.call("read", params);
    expect(data).toMatchObject({ result: "Copper, by [guide#1.1 Copper].", answer: { model: "m-1", usage: null } });
    expect(model.requests[0]).toMatchObject({ path: "/v1/chat/completions", body: { model: "m" } });
    const user: string = model.requests[0]?.body.messages[1].content;
    expect(user).toMatch(
      /Goal: which conducts best\?[^]*<<<DOCUMENT-[0-9a-f]{16}\n\[guide#1\.1 Copper\][^]*Wires are drawn/,
    );
    status = 500;
    const failed = (await docs.call("read", params)).data;
    expect(failed).toMatchObject({
      answer: null,
      warning: expect.stringContaining("answered 500"),
      result: expect.stringContaining("Wires are drawn"),
    });
  });
});

it("cuts any Markdown into sections that cover it, in order, with ids of their own", () => {
  const line = fc.oneof(
    fc.constantFrom("# a", "## b", "###### c", "### d ##", "```", "~~~~", "#no", "", "| a | b |", "| - | - |"),
    fc.string({ unit: "binary", maxLength: 20 }),
  );
  fc.assert(
    fc.property(fc.array(line, { maxLength: 40 }), (lines) => {
      const text = lines.join("\n");
      const sections = toOutline(text, "markdown", []);
      expect(new Set(sections.map(({ id }) => id)).size).toBe(sections.length);
      let at = sections[0]?.start ?? 0;
      expect(text.slice(0, at).trim()).toBe("");
      for (const { start, end } of sections) {
        expect(start).toBe(at);
        at = end;
      }
      expect(at).toBe(text.length);
      findTables(text);
    }),
  );
});

it("writes XML that holds any text", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      expect(escapeXml(text)).not.toMatch(/[<>"\p{Cc}]|&(?!(?:amp|lt|gt|quot);)/u);
    }),
  );
});
