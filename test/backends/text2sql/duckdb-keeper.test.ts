import { getEventListeners } from "node:events";
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { DuckDbKeeper } from "../../../src/backends/text2sql/engines/duckdb-keeper.ts";
import { openDuckDb } from "../../../src/query/duckdb.ts";
import { ENDLESS, makeDuckDb, makeFolder } from "./databases.ts";

const NEVER_MS = 2_000_000_000;
const TABLE = ["CREATE TABLE t AS SELECT i AS a FROM range(1000) r(i)"];
let keepers: DuckDbKeeper[] = [];
afterEach(() => {
  for (const keeper of keepers) keeper.close();
  keepers = [];
});

/** A keeper that counts how often it opens a file, and what asks it. */
async function openKeeper({ made = TABLE, keptMs = NEVER_MS }: { made?: readonly string[]; keptMs?: number } = {}) {
  const path = await makeDuckDb(join(await makeFolder(), "t.duckdb"), made);
  const opened = { times: 0 };
  const open: typeof openDuckDb = (...options) => {
    opened.times += 1;
    return openDuckDb(...options);
  };
  const keeper = new DuckDbKeeper({ keptMs, open });
  keepers.push(keeper);
  const ask = async (query: string, { maxRows = 100, signal = new AbortController().signal } = {}) => {
    const limits = { timeoutMs: 30_000, memoryMiB: 512 };
    const { rows } = await keeper.readRows(path, { query, rows: { maxRows, maxBytes: 1 << 20 }, limits, signal });
    return rows;
  };
  return { path, keeper, opened, ask };
}

it("opens a file once for queries that leave nothing, each with the same settings", async () => {
  const { opened, ask, keeper } = await openKeeper();
  for (let turn = 0; turn < 3; turn++) {
    // oxlint-disable-next-line no-await-in-loop
    expect(await ask("SELECT count(*), sum(a) FROM t")).toEqual([[1000, 499500]]);
    // oxlint-disable-next-line no-await-in-loop
    expect(await ask("SELECT TIMESTAMPTZ '2020-06-01 00:00:00+00' = TIMESTAMPTZ '2020-06-01 00:00:00'")).toEqual([
      [true],
    ]);
  }
  expect([opened.times, keeper.keeps]).toEqual([1, true]);
});

it("leaves nothing of a hostile query to the next one: settings, logs, seeds, what it asked", async () => {
  const { opened, ask, keeper } = await openKeeper();
  for (const query of [
    "SELECT * FROM enable_logging('QueryLog')",
    "SELECT * FROM enable_profiling()",
    "SELECT setseed(0.5)",
    "SELECT \"write_log\"('x')",
  ]) {
    /* oxlint-disable no-await-in-loop */
    await ask("SELECT 1");
    const before = opened.times;
    await ask(query);
    expect(keeper.keeps, query).toBe(false);
    expect(await ask("SELECT current_setting('enable_logging'), (SELECT count(*) FROM duckdb_logs)")).toEqual([[0, 0]]);
    expect(opened.times, query).toBeGreaterThan(before);
    /* oxlint-enable no-await-in-loop */
  }
  for (const query of [
    "SELECT * FROM query('SELECT * FROM enable_' || 'logging()')",
    "SET threads = 1",
    "ATTACH ':memory:' AS m",
    "CREATE TEMP TABLE x (a INTEGER)",
    "LOAD json",
  ]) {
    // oxlint-disable-next-line no-await-in-loop
    await expect(ask(query), query).rejects.toMatchObject({ error: "invalid_input" });
  }
});

it("keeps nothing after a query that failed, was cut short or was given up", async () => {
  const { opened, ask, keeper } = await openKeeper();
  await ask("SELECT 1");
  await expect(ask("SELECT nothing_like_it FROM t")).rejects.toMatchObject({ error: "business_failure" });
  expect(keeper.keeps).toBe(false);
  expect(await ask("SELECT a FROM t", { maxRows: 3 })).toHaveLength(3);
  expect(keeper.keeps).toBe(false);
  await ask("SELECT 1");
  expect(keeper.keeps).toBe(true);
  const cancelled = AbortSignal.abort(new Error("given up"));
  await expect(ask(ENDLESS, { signal: cancelled })).rejects.toThrow("given up");
  expect(keeper.keeps).toBe(false);
  expect(await ask("SELECT 2")).toEqual([[2]]);
  expect(opened.times).toBe(4);
});

it("has the connection of a query hear that query's signal, and no other", async () => {
  const path = await makeDuckDb(join(await makeFolder(), "t.duckdb"), TABLE);
  const [first, second] = [new AbortController().signal, new AbortController().signal];
  const heard = () => [first, second].map((signal) => getEventListeners(signal, "abort").length);
  const database = await openDuckDb({ path, memoryMiB: 128, threads: 1 }, first);
  expect(heard()).toEqual([1, 0]);
  await database.renew(second);
  expect(heard()).toEqual([0, 1]);
  expect(await database.all("SELECT max(a) FROM t")).toEqual([[999]]);
  database[Symbol.dispose]();
  expect(heard()).toEqual([0, 0]);
});

it("notices that a file was replaced, and that it is gone", async () => {
  const { path, opened, ask } = await openKeeper();
  expect(await ask("SELECT count(*) FROM t")).toEqual([[1000]]);
  const other = await makeDuckDb(`${path}.new`, ["CREATE TABLE t AS SELECT i AS a FROM range(7) r(i)"]);
  await rename(other, path);
  expect(await ask("SELECT count(*) FROM t")).toEqual([[7]]);
  expect(opened.times).toBe(2);
  await rm(path);
  await expect(ask("SELECT count(*) FROM t")).rejects.toMatchObject({ error: "business_failure" });
});

it("keeps a file whose views only compute, and none whose views or macros may do more", async () => {
  const harmless = await openKeeper({ made: [...TABLE, "CREATE VIEW v AS SELECT max(a) AS top FROM t"] });
  expect(await harmless.ask("FROM v")).toEqual([[999]]);
  expect(harmless.keeper.keeps).toBe(true);
  for (const made of [
    "CREATE VIEW v AS SELECT setseed(0.5) AS x FROM t",
    "CREATE MACRO sum_of(x) AS x + 1",
    "CREATE TABLE g (a INTEGER, b DOUBLE GENERATED ALWAYS AS (a * 2))",
  ]) {
    // oxlint-disable-next-line no-await-in-loop
    const { ask, keeper } = await openKeeper({ made: [...TABLE, made] });
    // oxlint-disable-next-line no-await-in-loop
    expect(await ask("SELECT count(*) FROM t"), made).toEqual([[1000]]);
    expect(keeper.keeps, made).toBe(false);
  }
});

it("closes a file that nobody asks, so that it can be written to", async () => {
  const { keeper, ask } = await openKeeper({ keptMs: 1 });
  await ask("SELECT 1");
  await expect.poll(() => keeper.keeps).toBe(false);
});
