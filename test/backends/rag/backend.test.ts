import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import RagBackend from "../../../src/backends/rag/backend.ts";
import { indexDocuments } from "../../../src/backends/rag/index-documents.ts";
import { CollectionIndex } from "../../../src/backends/rag/index/collection-index.ts";
import { PostingsCache } from "../../../src/backends/rag/index/postings-cache.ts";
import { type TestServer, testServer } from "../../kit/test-server.ts";

async function openServer(config: Record<string, unknown> = {}) {
  const dataDir = await mkdtemp(join(tmpdir(), "toolyard-rag-test-"));
  const server = await testServer({ backends: [new RagBackend({ config, dataDir })] });
  onTestFinished(async () => {
    await server[Symbol.asyncDispose]();
    await rm(dataDir, { recursive: true, force: true });
  });
  return { server, dataDir };
}

/** Calls as a worker; the answer's data, or the failure's name with its data. */
const as =
  (server: TestServer, worker: string) =>
  async (action: string, params: object = {}) => {
    const { body } = await server.execute(action, params, { worker_id: worker });
    return body.meta?.error === undefined ? body.data : { failed: body.meta.error, ...body.data };
  };

/** What an operator's `toolyard rag index` would make. */
async function makeShared(dataDir: string, name: string, documents: Readonly<Record<string, string>>) {
  const path = join(dataDir, "rag", "shared", `${name}.sqlite`);
  const index = await CollectionIndex.open(path, new PostingsCache(1024 * 1024));
  const size = { maxTokens: 400, minTokens: 80, overlapTokens: 40 };
  await indexDocuments(
    index,
    Object.entries(documents).map(([id, content]) => ({
      ...{ id, content, title: null, source: null, name: undefined },
      ...{ mediaType: "text/plain", metadata: undefined },
    })),
    { size, maxCharacters: 1_000_000 },
  );
  await index.close();
}

const METALS = [
  { id: "cu", text: "Copper conducts electricity well.", title: "Copper", metadata: { kind: "metal", year: 1 } },
  { id: "zn", text: "Zinc protects steel from rust.", title: "Zinc", metadata: { kind: "metal", year: 2 } },
  { id: "md", text: "# Guide\n\n## Wires\n\nWires are made of copper.\n\n## Roofs\n\nRoofs too.", source: "guide.md" },
];

it("answers a search with the known fields, and places, ranks and scores", async () => {
  const { server } = await openServer();
  const call = as(server, "w1");
  expect(await call("rag:search", { query: "copper" })).toMatchObject({ query: "copper", context: "", results: [] });
  const indexed = await call("rag:index", { documents: METALS });
  expect(indexed).toMatchObject({ added: 3, updated: 0, unchanged: 0, failed: 0, generation: 1 });
  const answer = await call("rag:search", { query: "What conducts electricity?", top_k: 1, retrievers: ["bm25"] });
  expect(answer).toEqual({
    query: "What conducts electricity?",
    context: "[Copper]\nCopper conducts electricity well.",
    retrievers: ["bm25"],
    results: [
      {
        rank: 1,
        score: expect.any(Number),
        document_id: "cu",
        chunk: 0,
        collection: "default",
        shared: false,
        title: "Copper",
        source: null,
        heading: null,
        start: 0,
        end: 33,
        text: "Copper conducts electricity well.",
        metadata: { kind: "metal", year: 1 },
        retrievers: { bm25: { rank: 1, score: expect.any(Number) } },
      },
    ],
  });
  const wires = await call("rag:search", { query: "wires", top_k: 1 });
  expect(wires.results[0]).toMatchObject({ document_id: "md", heading: "Guide", source: "guide.md" });
});

it("answers several queries in their order, and tells which could not be answered (D29)", async () => {
  const { server } = await openServer();
  const call = as(server, "w1");
  await call("rag:index", { documents: METALS });
  const answer = await call("rag:batch_search", { queries: ["rust", " ", "electricity"], top_k: 1 });
  expect(answer).toMatchObject({
    count: 3,
    contexts: [expect.stringContaining("Zinc"), "", expect.stringContaining("Copper")],
    errors: [{ index: 1, error: "invalid_input" }],
  });
  const { status, body } = await server.execute("rag:batch_search", { queries: ["", " "] });
  expect([status, body.code, body.meta?.error]).toEqual([500, 5009, "all_failed"]);
  expect(await call("rag:search", { query: "x", collection: "nowhere" })).toMatchObject({ failed: "unknown_name" });
});

it("names the rankings that truly ranked, and says why another did not", async () => {
  const { server } = await openServer();
  const call = as(server, "w1");
  const few = [
    { retriever: "feedback", note: expect.stringContaining("it ranks as bm25 does") },
    { retriever: "lsa", note: expect.stringContaining("it is learned from 200 chunks of one collection on") },
  ];
  await call("rag:index", { documents: METALS });
  expect(await call("rag:search", { query: "rust" })).toMatchObject({ retrievers: ["bm25", "feedback"], notes: few });
  const lsa = { retrievers: ["lsa"] };
  expect(await call("rag:search", { query: "rust", ...lsa })).toMatchObject({
    retrievers: [],
    results: [],
    notes: [{}],
  });
  const batch = await call("rag:batch_search", { queries: ["rust", "copper"] });
  expect(batch).toMatchObject({ retrievers: ["bm25", "feedback"], notes: few });
  const ready = async () => (await call("rag:collections")).collections[0].own.retrievers;
  expect(await ready()).toEqual(["bm25"]);
  // Words that several of them share: without there is nothing to learn.
  const wordsOf = (at: number) => Array.from({ length: 12 }, (_, word) => `word${(at * 7 + word * 13) % 450}`);
  const documents = Array.from({ length: 240 }, (_, at) => ({ id: `d${at}`, text: wordsOf(at).join(" ") }));
  await call("rag:index", { documents });
  // It is learned after the documents were written.
  await expect.poll(ready).toEqual(["bm25", "feedback", "lsa"]);
  const learned = await call("rag:search", { query: "word7 word20" });
  expect(learned).toMatchObject({ retrievers: ["bm25", "feedback", "lsa"] });
  expect(learned).not.toHaveProperty("notes");
  expect((await call("rag:search", { query: "word7", ...lsa })).results).not.toHaveLength(0);
});

it("takes any text as a query (FTS syntax, quotes, nothing but punctuation)", async () => {
  const { server } = await openServer();
  const call = as(server, "w1");
  await call("rag:index", { documents: METALS });
  for (const query of [
    '"',
    "AND OR NOT",
    'copper" OR 1=1 --',
    "(((",
    "*",
    "a NEAR/2 b",
    "\u0000",
    "the of and",
    "😀",
  ]) {
    // oxlint-disable-next-line no-await-in-loop
    const answer = await call("rag:search", { query });
    expect(answer, query).toHaveProperty("results");
  }
});

it("keeps each worker's documents from every other", async () => {
  const { server } = await openServer();
  const [one, two] = [as(server, "w1"), as(server, "w2")];
  await one("rag:index", { documents: [{ id: "secret", text: "the code is xyzzy" }] });
  expect((await one("rag:search", { query: "xyzzy" })).results).toHaveLength(1);
  expect((await two("rag:search", { query: "xyzzy" })).results).toHaveLength(0);
  expect(await two("rag:get", { id: "secret" })).toMatchObject({ failed: "unknown_name" });
  expect(await two("rag:delete", { ids: ["secret"] })).toMatchObject({ deleted: 0, missing: ["secret"] });
  expect((await one("rag:search", { query: "xyzzy" })).results).toHaveLength(1);
});

it("lays a worker's own documents over the shared ones, which it cannot change", async () => {
  const { server, dataDir } = await openServer();
  await makeShared(dataDir, "wiki", { a: "shared copper", b: "shared zinc", c: "shared tin" });
  const [one, two] = [as(server, "w1"), as(server, "w2")];
  const search = async (call: typeof one) => {
    const { results } = await call("rag:search", {
      query: "shared copper zinc tin iron",
      collection: "wiki",
      top_k: 10,
    });
    return results
      .map((hit: { document_id: string; shared: boolean }) => `${hit.document_id}:${hit.shared}`)
      .toSorted();
  };
  expect(await search(one)).toEqual(["a:true", "b:true", "c:true"]);
  await one("rag:index", {
    collection: "wiki",
    documents: [
      { id: "b", text: "own zinc" },
      { id: "d", text: "own iron" },
    ],
  });
  expect(await search(one)).toEqual(["a:true", "b:false", "c:true", "d:false"]);
  expect(await one("rag:delete", { collection: "wiki", ids: ["a", "d", "nope"] })).toEqual({
    collection: "wiki",
    deleted: 1,
    hidden: 1,
    missing: ["nope"],
  });
  expect(await search(one)).toEqual(["b:false", "c:true"]);
  expect(await one("rag:get", { collection: "wiki", id: "a" })).toMatchObject({ failed: "unknown_name" });
  const { documents } = await one("rag:list", { collection: "wiki" });
  expect(documents.map(({ id, shared }: { id: string; shared: boolean }) => [id, shared])).toEqual([
    ["b", false],
    ["c", true],
  ]);
  // Deleting its own copy does not bring the shared one back; deleting all does.
  await one("rag:delete", { collection: "wiki", ids: ["b"] });
  expect(await search(one)).toEqual(["c:true"]);
  expect(await search(two)).toEqual(["a:true", "b:true", "c:true"]);
  await one("rag:delete", { collection: "wiki", all: true });
  expect(await search(one)).toEqual(["a:true", "b:true", "c:true"]);
});

it("filters by metadata and keeps to one chunk of a document", async () => {
  const { server } = await openServer({ chunk_tokens: 32, overlap_tokens: 0 });
  const call = as(server, "w1");
  const long = Array.from({ length: 20 }, (_, index) => `Copper fact number ${index} is told in this line.`).join(
    "\n\n",
  );
  await call("rag:index", { documents: [...METALS, { id: "long", text: long }] });
  const all = await call("rag:search", { query: "copper", top_k: 20 });
  expect(all.results.length).toBeGreaterThan(5);
  const single = await call("rag:search", { query: "copper", top_k: 20, per_document: true });
  const ids = single.results.map((hit: { document_id: string }) => hit.document_id);
  expect(ids.toSorted()).toEqual(["cu", "guide.md", "long"].map((id) => (id === "guide.md" ? "md" : id)).toSorted());
  const filtered = await call("rag:search", { query: "copper zinc", filter: { kind: "metal", year: [2, 3] } });
  expect(filtered.results.map((hit: { document_id: string }) => hit.document_id)).toEqual(["zn"]);
});

it("gets, lists and counts documents", async () => {
  const { server } = await openServer();
  const call = as(server, "w1");
  await call("rag:index", { documents: METALS });
  expect(await call("rag:get", { id: "zn", start: 5, end: 13 })).toMatchObject({ text: "protects", start: 5, end: 13 });
  expect(await call("rag:get", { id: "zn", start: 13, end: 5 })).toMatchObject({ failed: "invalid_input" });
  expect(await call("rag:get", { id: "md", chunks: true })).toMatchObject({
    media_type: "text/markdown",
    chunks: [{ start: 0, heading: "Guide" }],
  });
  const first = await call("rag:list", { limit: 2 });
  expect(first).toMatchObject({ documents: [{ id: "cu" }, { id: "md" }], next: "md" });
  expect(await call("rag:list", { limit: 2, after: first.next })).toMatchObject({
    documents: [{ id: "zn" }],
    next: null,
  });
  expect(await call("rag:list", { prefix: "z" })).toMatchObject({ documents: [{ id: "zn" }] });
  expect(await call("rag:collections")).toMatchObject({
    collections: [{ name: "default", default: true, shared: null, own: { documents: 3, generation: 1 } }],
  });
  expect(await call("rag:stats")).toMatchObject({
    initialized: true,
    backend_version: expect.any(String),
    index: { documents: 3 },
    batcher: {},
  });
});

it("holds every limit, names it, and keeps nothing of a call that went over", async () => {
  const { server } = await openServer({
    max_documents: 3,
    max_text_mib: 1,
    max_collections: 2,
    max_document_mib: 1,
    max_top_k: 7,
    max_queries: 2,
  });
  const call = as(server, "w1");
  const failed = { failed: "limit_exceeded" };
  const documents = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ id: `d${index}`, text: `t${index}` }));
  expect(await call("rag:index", { documents: documents(4) })).toMatchObject({ ...failed, limit: "max_documents" });
  expect(await call("rag:list")).toMatchObject({ documents: [] });
  await call("rag:index", { documents: documents(2) });
  expect(await call("rag:index", { collection: "two", documents: documents(2) })).toMatchObject({
    limit: "max_documents",
  });
  expect(await call("rag:index", { collection: "two", documents: documents(1) })).toMatchObject({ added: 1 });
  expect(await call("rag:index", { collection: "three", documents: documents(1) })).toMatchObject({
    ...failed,
    limit: "max_collections",
  });
  const large = "x ".repeat(600_000);
  expect(await call("rag:index", { documents: [{ text: large }] })).toMatchObject({ limit: "max_document_mib" });
  expect(await call("rag:search", { query: "t", top_k: 8 })).toMatchObject({ limit: "max_top_k" });
  expect(await call("rag:batch_search", { queries: ["a", "b", "c"] })).toMatchObject({ limit: "max_queries" });
});

it("fails a document that cannot be read alone, and a call of nothing else as a whole", async () => {
  const { server } = await openServer();
  const call = as(server, "w1");
  const binary = { id: "bin", base64: Buffer.from([0, 1, 2, 255]).toString("base64") };
  const answer = await call("rag:index", { documents: [binary, { id: "ok", text: "fine" }] });
  expect(answer).toMatchObject({
    added: 1,
    failed: 1,
    documents: [
      { id: "bin", status: "failed", error: "invalid_input", message: expect.not.stringContaining("Error:") },
      { status: "added" },
    ],
  });
  expect(await call("rag:index", { documents: [binary] })).toMatchObject({ failed: "all_failed" });
  expect(await call("rag:index", { documents: [{ text: "x", media_type: "image/png" }] })).toMatchObject({
    failed: "all_failed",
  });
});

it("indexes text of other encodings, and says by which it read each", async () => {
  const { server } = await openServer();
  const call = as(server, "w1");
  const base64 = Buffer.from("Kupfer führt Strom, señor.", "latin1").toString("base64");
  const utf16 = Buffer.from("\ufeffKupfer führt Wärme.", "utf16le").toString("base64");
  const documents = [
    { id: "latin", base64 },
    { id: "greek", base64, media_type: "text/plain; charset=iso-8859-7" },
    { id: "wide", base64: utf16 },
    { id: "text", text: "plain" },
  ];
  const indexed = await call("rag:index", { documents });
  expect(indexed.documents.map(({ charset }: { charset?: string }) => charset)).toEqual([
    "windows-1252",
    "iso-8859-7",
    "utf-16le",
    undefined,
  ]);
  expect(await call("rag:get", { id: "latin" })).toMatchObject({ text: "Kupfer führt Strom, señor." });
  const found = await call("rag:search", { query: "führt", retrievers: ["bm25"] });
  expect(found.results.map(({ document_id: id }: { document_id: string }) => id).toSorted()).toEqual(["latin", "wide"]);
});

it("keeps documents in the data folder, and removes what was not used for long", async () => {
  const { server, dataDir } = await openServer();
  await as(server, "w1")("rag:index", { documents: METALS });
  await server.stop({ force: true });
  {
    await using next = await testServer({ backends: [new RagBackend({ config: {}, dataDir })] });
    expect((await as(next, "w1")("rag:search", { query: "rust" })).results).toHaveLength(1);
  }
  const { Shelf } = await import("../../../src/backends/rag/shelf/shelf.ts");
  const shelf = new Shelf(dataDir, 1024);
  expect(await shelf.tidy(3_600_000, Date.now())).toBe(0);
  expect(await shelf.tidy(3_600_000, Date.now() + 7_200_000)).toBe(1);
  expect(await shelf.listOwn({ tenant: "default", workerId: "w1" })).toEqual([]);
});
