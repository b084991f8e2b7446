// Benchmark: the index of the rag backend at 3k and 100k synthetic chunks, and 1M with RAG_BENCH_LARGE=1; RAG_BENCH_KEEP names a folder in which indexes stay for the next run.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { median, percentile } from "./load.ts";
import { startServerProcess } from "./server-process.ts";
import { printTable } from "./table.ts";
import { zipfTexts } from "./zipf-words.ts";

type Row = Readonly<Record<string, string | number>>;

const sizes = (process.env["RAG_BENCH_SIZES"]?.split(",").map(Number) ?? [3_000, 100_000]).concat(
  process.env["RAG_BENCH_LARGE"] === "1" ? [1_000_000] : [],
);
const kept = process.env["RAG_BENCH_KEEP"];
const WORDS_OF_QUERY = 4;
const SEARCHES = 100;
const BATCH = 64;

/** Runs a step in a process of its own, whose memory is that of this step. */
function run(phase: "index" | "search", path: string, size: number): Row {
  const script = join(import.meta.dirname, "rag-phase.ts");
  const child = spawnSync(process.execPath, [script, phase, path, String(size)], {
    stdio: ["ignore", "pipe", "inherit"],
    encoding: "utf8",
  });
  if (child.status !== 0) throw new Error(`${phase} of ${size} chunks ended with ${child.status ?? child.signal}`);
  // What rag-phase.ts prints.
  return JSON.parse(child.stdout) as Row;
}

/** Searches through a real server: alone, and while another worker's batches run in the same thread. */
async function throughServer(folder: string): Promise<Row> {
  const config = { resources: { rag: { backend: "rag", config: { default_collection: "bench" } } } };
  await using server = await startServerProcess(config, folder);
  const query = zipfTexts(3);
  const search = async (): Promise<number> => {
    const params = { query: query(WORDS_OF_QUERY) };
    const start = performance.now();
    await server.post("/execute", { worker_id: "polite", action: "rag:search", params });
    return performance.now() - start;
  };
  const first = await search();
  const times = async (): Promise<number[]> => {
    const taken: number[] = [];
    // One after another, as one worker searches.
    // oxlint-disable-next-line no-await-in-loop
    for (let index = 0; index < SEARCHES; index++) taken.push(await search());
    return taken;
  };
  const alone = await times();
  let stopped = false;
  const batches = (async () => {
    while (!stopped) {
      const queries = Array.from({ length: BATCH }, () => query(WORDS_OF_QUERY));
      // oxlint-disable-next-line no-await-in-loop
      await server.post("/execute", { worker_id: "greedy", action: "rag:batch_search", params: { queries } });
    }
  })();
  const beside = await times();
  stopped = true;
  await batches;
  const show = (values: readonly number[]) => `${median(values).toFixed(1)} / ${percentile(values, 99).toFixed(1)}`;
  return {
    "first rag:search, ms": first.toFixed(0),
    "rag:search p50 / p99, ms": show(alone),
    [`beside batches of ${BATCH}, ms`]: show(beside),
  };
}

const indexing: Row[] = [];
const searching: Row[] = [];
for (const size of sizes) {
  const folder = kept === undefined ? await mkdtemp(join(tmpdir(), "toolyard-rag-bench-")) : join(kept, String(size));
  const path = join(folder, "rag", "shared", "bench.sqlite");
  const made = join(folder, "indexed.json");
  if (!existsSync(made)) {
    rmSync(join(folder, "rag"), { recursive: true, force: true });
    const load = loadavg()[0]?.toFixed(0) ?? "?";
    const row = {
      chunks: size,
      ...run("index", path, size),
      "load before, after": `${load}, ${loadavg()[0]?.toFixed(0)}`,
    };
    writeFileSync(made, JSON.stringify(row));
  }
  indexing.push(JSON.parse(readFileSync(made, "utf8")) as Row);
  const searched = run("search", path, size);
  searching.push({ ...searched, ...(await throughServer(folder)), load: loadavg()[0]?.toFixed(0) ?? "?" });
  if (kept === undefined) await rm(folder, { recursive: true, force: true });
}
printTable("rag: indexing synthetic chunks of 120 words", indexing);
printTable("rag: searching them, top 10 (bm25 + feedback + lsa is the default; through the server, top 5)", searching);
