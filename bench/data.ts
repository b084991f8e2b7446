// Benchmark: files of data, SQL and documents through the server, each against its library called directly in this process.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import Database from "better-sqlite3";
import { extractText } from "unpdf";
import { Sandbox } from "../dist/index.js";
import { drawPdf, line } from "../test/kit/pdf-file.ts";
import { printTable } from "./table.ts";

const ROWS = 1_000_000;
const TIMES = Number(process.env["DATA_BENCH_TIMES"] ?? 40);
const folder = await mkdtemp(join(tmpdir(), "toolyard-data-bench-"));
const instance = await DuckDBInstance.create(":memory:");
const duckdb = await instance.connect();
await duckdb.run("SET threads = 2");
const sales = `SELECT i AS id, i % 1000 AS shop, 'region ' || (i % 7) AS region, (i * 7919 % 100000) / 100 AS total, DATE '2020-01-01' + CAST(i % 2000 AS INTEGER) AS day FROM range(${ROWS}) t(i)`;
for (const format of ["csv", "parquet"]) {
  // One after the other: they share a connection.
  // oxlint-disable-next-line no-await-in-loop
  await duckdb.run(`COPY (${sales}) TO '${join(folder, `sales.${format}`)}' (FORMAT ${format})`);
}
const sqlitePath = join(folder, "shop.sqlite");
const sqlite = new Database(sqlitePath);
sqlite.exec(`CREATE TABLE sales (id INTEGER PRIMARY KEY, shop INTEGER, total REAL);
  WITH RECURSIVE r(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM r WHERE i < 99999)
  INSERT INTO sales SELECT i, i % 1000, (i * 7919 % 100000) / 100.0 FROM r`);
const duckPath = join(folder, "wide.duckdb");
await duckdb.run(`ATTACH '${duckPath}' AS wide`);
await duckdb.run(`CREATE TABLE wide.sales AS ${sales}`);
await duckdb.run("DETACH wide");
const wide = await (await DuckDBInstance.create(duckPath, { access_mode: "READ_ONLY" })).connect();

const config = {
  resources: { ds: { config: { folders: [folder] } }, text2sql: { config: { folders: [folder] } }, doc: {} },
};
const configPath = join(folder, "config.json");
await writeFile(configPath, JSON.stringify({ ...config, store: { driver: "memory" } }));
const sandbox = await Sandbox.open({ configPath });

const rows: Record<string, string | number>[] = [];
/** Takes turns, so that both meet the same noise. */
async function compare(
  work: string,
  ours: () => Promise<unknown>,
  baseline: () => unknown,
  times = TIMES,
): Promise<void> {
  const [mine, theirs]: [number[], number[]] = [[], []];
  await ours();
  await baseline();
  for (let turn = 0; turn < times; turn += 1) {
    // Measured one at a time.
    // oxlint-disable-next-line no-await-in-loop
    for (const [kept, run] of [
      [mine, ours],
      [theirs, baseline],
    ] as const) {
      const start = performance.now();
      // oxlint-disable-next-line no-await-in-loop
      await run();
      kept.push(performance.now() - start);
    }
  }
  const at = (times_: readonly number[], share: number) =>
    times_.toSorted((left, right) => left - right)[Math.min(times_.length - 1, Math.floor(share * times_.length))] ?? 0;
  const show = (kept: readonly number[]) => `${at(kept, 0.5).toFixed(1)} / ${at(kept, 0.99).toFixed(1)}`;
  const told = `${work}: ${show(mine)} against ${show(theirs)}`;
  process.stderr.write(`${told}\n`);
  rows.push({
    work,
    "through the server p50 / p99, ms": show(mine),
    "library p50 / p99, ms": show(theirs),
    "added p50, ms": (at(mine, 0.5) - at(theirs, 0.5)).toFixed(1),
    ratio: (at(mine, 0.5) / at(theirs, 0.5)).toFixed(2),
  });
}
const all = async (connection: typeof duckdb, sql: string) => (await connection.runAndReadAll(sql)).getRowsJson();

const GROUPS = "SELECT region, count(*), sum(total) FROM SALES GROUP BY region ORDER BY region";
for (const format of ["csv", "parquet"] as const) {
  const file = `sales.${format}`;
  const source = `read_${format}('${join(folder, file)}')`;
  /* oxlint-disable no-await-in-loop */
  await compare(
    `ds:inspect_data, 1M rows of ${format} (SUMMARIZE)`,
    () => sandbox.execute("ds:inspect_data", { files: [file] }),
    () => all(duckdb, `SUMMARIZE SELECT * FROM ${source}`),
    Math.ceil(TIMES / 8),
  );
  await compare(
    `ds:query, groups of 1M rows of ${format}`,
    () => sandbox.execute("ds:query", { query: GROUPS.replace("SALES", `"${file}"`), files: [file] }),
    () => all(duckdb, GROUPS.replace("SALES", source)),
    Math.ceil(TIMES / 2),
  );
  /* oxlint-enable no-await-in-loop */
}
const execute = (db_id: string, query: string) => () => sandbox.execute("text2sql:execute", { db_id, query });
const POINT = "SELECT * FROM sales WHERE id = 4711";
const SHOPS = "SELECT shop, sum(total) AS total FROM sales GROUP BY shop ORDER BY total DESC LIMIT 10";
await compare("text2sql:execute, SQLite, one row by its key", execute("shop", POINT), () =>
  sqlite.prepare(POINT).all(),
);
await compare("text2sql:execute, SQLite, groups of 100k rows", execute("shop", SHOPS), () =>
  sqlite.prepare(SHOPS).all(),
);
await compare("text2sql:execute, DuckDB, one row", execute("wide", POINT), () => all(wide, POINT));
await compare("text2sql:execute, DuckDB, groups of 1M rows", execute("wide", SHOPS), () => all(wide, SHOPS));

const pages = Array.from({ length: 50 }, (_, page) =>
  Array.from({ length: 40 }, (__, row) =>
    line(72, 740 - row * 16, `Line ${row} of page ${page} says something of copper and zinc.`),
  ).join(""),
);
const pdf = drawPdf({ pages });
const base64 = pdf.toString("base64");
await compare(
  "doc:ingest, PDF of 50 pages (extractText)",
  () => sandbox.execute("doc:ingest", { id: "paper", name: "paper.pdf", base64 }),
  () => extractText(new Uint8Array(pdf)),
  Math.ceil(TIMES / 4),
);
const text = Array.from(
  { length: 2_000 },
  (_, part) => `## Part ${part}\n${`Copper wire number ${part} conducts. `.repeat(12)}\n`,
).join("");
const bytes = Buffer.byteLength(text);
await compare(
  `doc:ingest, Markdown of ${(bytes / 1e6).toFixed(1)} MB (JSON there and back)`,
  () => sandbox.execute("doc:ingest", { id: "guide", text }),
  () => JSON.parse(JSON.stringify({ text })),
  Math.ceil(TIMES / 4),
);
await compare(
  `doc:search in ${(bytes / 1e6).toFixed(1)} MB (a scan for the words)`,
  () => sandbox.execute("doc:search", { key_words: "wire 1234", document: "guide" }),
  () => text.match(/wire|1234/g),
  Math.ceil(TIMES / 2),
);
printTable(`data: up to ${TIMES} times in turns`, rows);

await sandbox[Symbol.asyncDispose]();
sqlite.close();
await rm(folder, { recursive: true, force: true });
process.exit(0);
