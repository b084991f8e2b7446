import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { startCli } from "./cli-process.ts";

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "toolyard-cli-rag-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function run(cwd: string, ...args: string[]) {
  const cli = startCli(["rag", ...args], { cwd });
  return { code: await cli.ended, stdout: cli.stdout(), stderr: cli.stderr() };
}

it("indexes files, leaves unchanged ones alone, removes those that are gone, and finds them", async () => {
  const folder = await temporaryFolder();
  await mkdir(join(folder, "docs", "node_modules"), { recursive: true });
  await writeFile(join(folder, "docs", "wires.md"), "# Wires\n\nWires are made of copper.\n");
  await writeFile(join(folder, "docs", "roofs.txt"), "Roofs are made of zinc.\n");
  await writeFile(join(folder, "docs", "node_modules", "no.md"), "not this one\n");
  await writeFile(join(folder, "docs", "blob.bin"), "nor this\n");
  const first = await run(folder, "index", "docs", "--json");
  expect([first.code, JSON.parse(first.stdout)]).toMatchObject([0, { added: 2, failed: 0, documents: 2 }]);
  await rm(join(folder, "docs", "roofs.txt"));
  const second = await run(folder, "index", "docs", "--prune", "--json");
  expect(JSON.parse(second.stdout)).toMatchObject({ added: 0, unchanged: 1, removed: 1, documents: 1 });
  const found = await run(folder, "search", "copper", "wire", "--json");
  expect(JSON.parse(found.stdout)).toMatchObject({ results: [{ document: "docs/wires.md", heading: "Wires" }] });
});

it("names a file alike wherever the command runs, and tells of files that are there by their earlier ids", async () => {
  const folder = await temporaryFolder();
  await mkdir(join(folder, "one", "docs"), { recursive: true });
  await writeFile(join(folder, "one", "docs", "wires.md"), "Wires are made of copper.\n");
  const data = ["--data", join(folder, "data")];
  // As versions before --root did it: ids from the current folder.
  const first = await run(folder, "index", "one/docs", "--root", ".", ...data, "--json");
  expect([JSON.parse(first.stdout), first.stderr]).toMatchObject([{ added: 1 }, expect.not.stringContaining("twice")]);
  const twice = await run(folder, "index", "one/docs", ...data, "--json");
  expect([JSON.parse(twice.stdout), twice.stderr]).toMatchObject([
    { added: 1, documents: 2 },
    expect.stringContaining("1 of these files are there twice"),
  ]);
  const elsewhere = await run(join(folder, "one", "docs"), "index", ".", "--prune", ...data, "--json");
  expect([JSON.parse(elsewhere.stdout), elsewhere.stderr]).toMatchObject([
    { added: 0, unchanged: 1, removed: 1, documents: 1 },
    expect.not.stringContaining("twice"),
  ]);
});

it("embeds shared collections by the endpoint that a config names, and searches with it", async () => {
  const inputs: string[] = [];
  // A double of an embeddings endpoint: what is red or copper points one way, all else another.
  const endpoint = createServer(async (request, response) => {
    let text = "";
    for await (const part of request) text += String(part);
    const body: { input: string[] } = JSON.parse(text);
    inputs.push(...body.input);
    const data = body.input.map((input, index) => ({ index, embedding: /red|copper/i.test(input) ? [1, 0] : [0, 1] }));
    response.end(JSON.stringify({ data }));
  });
  await new Promise<void>((resolve) => endpoint.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void endpoint.close());
  const { port } = endpoint.address() as AddressInfo; // it listens
  const folder = await temporaryFolder();
  const embeddings = { url: `http://127.0.0.1:${port}/v1`, model: "colours" };
  const config = { resources: { rag: { backend: "rag", config: { embeddings } } } };
  await writeFile(join(folder, "toolyard.json"), JSON.stringify(config));
  await writeFile(join(folder, "a.txt"), "Wires are made of copper.\n");
  await writeFile(join(folder, "b.txt"), "Roofs are made of zinc.\n");
  const indexed = await run(folder, "index", "a.txt", "b.txt", "--config", "toolyard.json", "--json");
  expect(JSON.parse(indexed.stdout)).toMatchObject({ added: 2, embedded: 2 });
  const again = await run(folder, "index", "a.txt", "b.txt", "--config", "toolyard.json", "--json");
  expect(JSON.parse(again.stdout)).toMatchObject({ unchanged: 2, embedded: 0 });
  const query = ["search", "something red", "--retrievers", "dense", "--top-k", "1", "--json"];
  const found = await run(folder, ...query, "--config", "toolyard.json");
  expect(JSON.parse(found.stdout)).toMatchObject({ results: [{ document: "a.txt" }] });
  expect(inputs).toHaveLength(3);
  const without = await run(folder, ...query);
  expect([without.code, without.stderr]).toEqual([2, expect.stringContaining("--config")]);
});

it("measures a test collection in BEIR's layout", async () => {
  const folder = await temporaryFolder();
  await mkdir(join(folder, "qrels"));
  const lines = (rows: readonly object[]) => rows.map((row) => JSON.stringify(row)).join("\n");
  const corpus = ["copper wire", "zinc roof", "tin soldier"].map((text, index) => ({
    _id: `d${index}`,
    title: "",
    text,
  }));
  await writeFile(join(folder, "corpus.jsonl"), lines(corpus));
  await writeFile(
    join(folder, "queries.jsonl"),
    lines([
      { _id: "q1", text: "zinc" },
      { _id: "q2", text: "soldier wire" },
    ]),
  );
  await writeFile(join(folder, "qrels", "test.tsv"), "query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td2\t2\nq2\td1\t0\n");
  const { code, stdout } = await run(folder, "eval", folder, "--retrievers", "bm25", "--json");
  expect(code).toBe(0);
  const measured = JSON.parse(stdout);
  expect(measured).toMatchObject({ documents: 3, queries: 2, rankings: [{ ranking: "bm25" }] });
  const { measures } = measured.rankings[0];
  expect(measures.MRR.mean).toBeGreaterThanOrEqual(0.75);
  expect(measures["P@10"].mean).toBeCloseTo(0.1);
  expect(measures["Recall@100"].mean).toBe(1);
});

it("tells what is wrong with a command line", async () => {
  const folder = await temporaryFolder();
  const outcomes = await Promise.all([
    run(folder, "index"),
    run(folder, "search", "x", "--collection", "../x"),
    run(folder, "search", "x"),
    run(folder, "eval", folder),
    run(folder, "search", "x", "--root", "."),
  ]);
  expect(outcomes.map(({ code }) => code)).toEqual([2, 2, 1, 1, 2]);
  expect(outcomes.map(({ stderr }) => stderr.trim().split("\n").length)).toEqual([1, 1, 1, 1, 1]);
});
