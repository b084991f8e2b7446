import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import { expect, it, onTestFinished } from "vitest";
import DocBackend from "../../../src/backends/doc/backend.ts";
import { testServer } from "../../kit/test-server.ts";

async function openDocs(dataDir: string, config: object = {}) {
  const server = await testServer({ backends: [new DocBackend({ config: { ...config }, dataDir })] });
  const call = async (tool: string, params: object = {}) =>
    (await server.post("/execute", { worker_id: "w1", action: `doc:${tool}`, params })).body;
  return { call, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

async function dataFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "toolyard-doc-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

function count(dataDir: string, table: string): unknown {
  const database = new Sqlite(join(dataDir, "doc/documents.sqlite"), { readonly: true });
  try {
    return database.prepare(`SELECT count(*) FROM ${table}`).pluck().get();
  } finally {
    database.close();
  }
}

it("keeps no words of what was replaced, deleted or refused, and finds nothing by them", async () => {
  const dataDir = await dataFolder();
  await using docs = await openDocs(dataDir, { max_documents: 2 });
  await docs.call("ingest", { id: "a", text: "# One\ncopper wire" });
  await docs.call("ingest", { id: "a", text: "# Two\nzinc" });
  await docs.call("ingest", { id: "b", text: "# Three\noak" });
  expect((await docs.call("ingest", { id: "c", text: "# Four\nbirch" })).meta.error).toBe("limit_exceeded");
  expect((await docs.call("search", { key_words: "copper" })).data.results).toEqual([]);
  expect((await docs.call("search", { key_words: "zinc" })).data.results).toMatchObject([{ section_id: "a#1" }]);
  expect(count(dataDir, "terms WHERE term <> ''")).toBe(4);
  await docs.call("delete", { document: ["a", "b"] });
  expect(count(dataDir, "terms")).toBe(0);
});

it("takes no more documents than a worker may have, however many come at once", async () => {
  const dataDir = await dataFolder();
  await using docs = await openDocs(dataDir, { max_documents: 3 });
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, index) => docs.call("ingest", { id: `d${index}`, text: `# Part\nword${index}` })),
  );
  expect(answers.filter(({ code }) => code === 0)).toHaveLength(3);
  expect(count(dataDir, "documents")).toBe(3);
  expect(count(dataDir, "terms WHERE term <> ''")).toBe(6);
});

it("counts the words of what an earlier version took in, and drops what a taking in left that was cut short", async () => {
  const dataDir = await dataFolder();
  await mkdir(join(dataDir, "doc"));
  const database = new Sqlite(join(dataDir, "doc/documents.sqlite"));
  database.exec(`
    CREATE TABLE documents (
      tenant TEXT NOT NULL, worker TEXT NOT NULL, id TEXT NOT NULL, title TEXT, media_type TEXT NOT NULL,
      text TEXT NOT NULL, sections TEXT NOT NULL, tables INTEGER NOT NULL, figures INTEGER NOT NULL,
      PRIMARY KEY (tenant, worker, id)
    ) STRICT;
    PRAGMA user_version = 1;
  `);
  const sections = [{ id: "1", title: "Metals", level: 1, page: null, start: 0, end: 30 }];
  const text = "# Metals\nCopper conducts best.";
  database
    .prepare("INSERT INTO documents VALUES ('default', 'w1', 'old', 'Metals', 'text/markdown', ?, ?, 0, 0)")
    .run(text, JSON.stringify(sections));
  database.close();
  for (let opening = 0; opening < 2; opening += 1) {
    // oxlint-disable-next-line no-await-in-loop -- the same file, opened again
    await using docs = await openDocs(dataDir);
    expect((await docs.call("search", { key_words: "copper" })).data.results).toMatchObject([{ section_id: "old#1" }]);
    expect((await docs.call("list")).data.documents).toMatchObject([{ document: "old", characters: text.length }]);
    const writer = new Sqlite(join(dataDir, "doc/documents.sqlite"));
    writer.prepare("INSERT INTO terms VALUES (99, 'orphan', '[]')").run();
    expect(writer.prepare("SELECT count(DISTINCT generation) FROM terms").pluck().get()).toBe(2);
    writer.close();
  }
  {
    await using docs = await openDocs(dataDir);
    await docs.call("search", { key_words: "copper" });
    expect(count(dataDir, "terms WHERE term = 'orphan'")).toBe(0);
  }
});
