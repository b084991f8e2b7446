import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import Text2SqlBackend from "../../../src/backends/text2sql/backend.ts";
import { findPostgres, type PostgresServer, startPostgres } from "../../kit/postgres-server.ts";
import { type TestServer, testServer } from "../../kit/test-server.ts";
import { type Call, caller } from "../../kit/tool-caller.ts";
import { ENDLESS, makeDuckDb, makeSqlite, SHOP } from "./databases.ts";

const programs = findPostgres();
if (programs === undefined) console.log("PostgreSQL is not installed: its tests are skipped");

let postgres: PostgresServer | undefined;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "toolyard-text2sql-"));
  if (programs === undefined) return;
  postgres = await startPostgres(programs);
  await postgres.run("postgres", ["CREATE ROLE reader LOGIN", "CREATE DATABASE shop"]);
  await postgres.run("shop", [...SHOP, "GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader"]);
});
afterAll(async () => {
  await postgres?.stop();
  await rm(folder, { recursive: true, force: true });
});

const ENGINES = {
  sqlite: async (home: string) => makeSqlite(join(home, "shop.sqlite")),
  duckdb: async (home: string) => makeDuckDb(join(home, "shop.duckdb")),
  postgres: async () => postgres?.url("shop", "reader") ?? "",
};

describe.each(Object.entries(ENGINES))("on %s", (engine, make) => {
  const test = it.skipIf(engine === "postgres" && programs === undefined);
  let server: TestServer;
  const on: Call = (action, params, more) => caller(server)(`text2sql:${action}`, { db_id: "shop", ...params }, more);
  beforeAll(async () => {
    server = await testServer({
      backends: [new Text2SqlBackend({ config: { databases: { shop: await make(folder) } } })],
    });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test("describes tables with keys, views, indexes, samples and counts", async () => {
    const { schema, dialect, missing, complete } = await on("get_schema");
    expect({ dialect, missing, complete }).toEqual({ dialect: engine, missing: [], complete: true });
    expect(Object.keys(schema).toSorted()).toEqual(["customers", "order lines", "orders", "totals"]);
    expect(schema["customers"]).toMatchObject({
      kind: "table",
      primary_key: ["id"],
      row_count: 3,
      columns: [
        { name: "id", pk: true, samples: expect.arrayContaining([1, 2, 3]) },
        { name: "name", pk: false, nullable: false, samples: expect.arrayContaining(["Ada"]) },
        { name: "city", pk: false, nullable: true, samples: expect.arrayContaining(["London", "Oslo"]) },
      ],
    });
    expect(schema["customers"].columns[2].default).toContain("Oslo");
    expect(schema["orders"]).toMatchObject({
      foreign_keys: [{ to_table: "customers", from_col: "customer", to_col: "id" }],
      indexes: expect.arrayContaining([{ name: "orders_by_customer", columns: ["customer"], unique: false }]),
    });
    expect(schema["totals"]).toMatchObject({ kind: "view", row_count: null, ddl: expect.stringMatching(/sum/i) });
    expect(schema["order lines"]).toMatchObject({ primary_key: ["order", "line"], row_count: 2 });
    expect(schema["order lines"].columns.map(({ name }: { name: string }) => name)).toContain('a "b" c');
  });

  test("describes only the tables asked for, and names those that are not there", async () => {
    const { schema, missing } = await on("get_schema", { table_names: ["Order Lines", "nope"], samples: 0 });
    expect([Object.keys(schema), missing]).toEqual([["order lines"], ["nope"]]);
    expect(schema["order lines"].columns[0]).not.toHaveProperty("samples");
    const { rows } = await on("execute", { query: `SELECT count(*) FROM ${schema["order lines"].reference}` });
    expect(rows).toEqual([[2]]);
  });

  test("answers rows with the known fields, of which `truncated` is true only when there is more", async () => {
    const query = "SELECT id, name, city FROM customers ORDER BY id";
    expect(await on("execute", { query })).toMatchObject({
      columns: ["id", "name", "city"],
      rows: [
        [1, "Ada", "London"],
        [2, "Bob", null],
        [3, "Cy", "Oslo"],
      ],
      row_count: 3,
      truncated: false,
      truncated_by: null,
    });
    expect(await on("execute", { query, max_rows: 3 })).toMatchObject({ row_count: 3, truncated: false });
    expect(await on("execute", { query, max_rows: 2 })).toMatchObject({
      row_count: 2,
      truncated: true,
      truncated_by: "rows",
    });
    const hundred = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 100) SELECT n FROM r";
    expect(await on("execute", { query: hundred })).toMatchObject({ row_count: 100, truncated: false });
    const more = hundred.replace("< 100", "< 101");
    expect(await on("execute", { query: more })).toMatchObject({ row_count: 100, truncated: true });
  });

  test("counts the bytes of the rows exactly", async () => {
    const query = "SELECT name, 'ä€😀' AS t FROM customers ORDER BY id";
    const whole = await on("execute", { query });
    const size = Buffer.byteLength(JSON.stringify(whole["rows"]));
    expect(whole["size_bytes"]).toBe(size);
    expect(await on("execute", { query, max_bytes: size })).toMatchObject({ row_count: 3, truncated: false });
    expect(await on("execute", { query, max_bytes: size - 1 })).toMatchObject({
      row_count: 2,
      truncated: true,
      truncated_by: "bytes",
    });
  });

  test("interrupts a recursion that never ends, while the server goes on answering (D8)", async () => {
    const endless = on("execute", { query: ENDLESS, timeout_ms: 500 });
    expect((await server.get("/health")).status).toBe(200);
    expect(await endless).toMatchObject({ failed: "timeout", outcome: "limit", limit: "timeout_ms", max: 500 });
    expect(await on("execute", { query: "SELECT 1 AS one" })).toMatchObject({ rows: [[1]] });
  });

  test("refuses everything that does not read", async () => {
    for (const query of [
      "DELETE FROM customers",
      "INSERT INTO customers (id, name) VALUES (9, 'x')",
      "UPDATE customers SET name = 'x'",
      "DROP TABLE customers",
      "CREATE TABLE t (a INTEGER)",
      "CREATE TEMP TABLE t (a INTEGER)",
      "PRAGMA table_info(customers)",
      "PRAGMA query_only = OFF",
      "ATTACH 'x.db' AS x",
      "VACUUM",
      "SET statement_timeout = 0",
      "BEGIN",
      "COMMIT",
      "COPY customers TO '/tmp/toolyard-copied'",
      "SELECT 1; DROP TABLE customers",
      "SELECT 1; SELECT 2",
      "/* SELECT */ DELETE FROM customers",
      "WITH gone AS (DELETE FROM customers RETURNING id) SELECT * FROM gone",
      "EXPLAIN ANALYZE DELETE FROM customers",
      "SELECT * INTO t2 FROM customers",
      "SELECT load_extension('x')",
      "",
      ";",
      "-- nothing",
    ]) {
      // oxlint-disable-next-line no-await-in-loop
      const answer = await on("execute", { query });
      expect(["invalid_input", "business_failure"], `${query}: ${JSON.stringify(answer)}`).toContain(answer["failed"]);
    }
    expect(await on("execute", { query: "SELECT count(*) FROM customers" })).toMatchObject({ rows: [[3]] });
  });

  test("takes semicolons in strings, names and comments for what they are, and one at the end", async () => {
    const query = `SELECT 'a;b' AS "c;d" /* ; */ -- ;\n;`;
    expect(await on("execute", { query })).toMatchObject({ columns: ["c;d"], rows: [["a;b"]] });
  });

  test("tells a wrong query in the engine's words, as the model's own failure", async () => {
    const wrong = await on("execute", { query: "SELECT nope FROM customers" });
    expect(wrong).toMatchObject({ failed: "business_failure", outcome: "tool_error" });
    expect(wrong["message"]).toContain("nope");
    expect(wrong["suggestion"]).toContain("get_schema");
    expect(await on("explain", { query: "SELECT nope FROM customers" })).toMatchObject({ failed: "business_failure" });
  });

  test("explains a query without running it", async () => {
    const query = "SELECT name FROM customers WHERE id = 1";
    expect(await on("explain", { query })).toMatchObject({
      dialect: engine,
      plan: expect.stringMatching(/customers/i),
    });
    expect(await on("explain", { query: ENDLESS })).toHaveProperty("plan");
    expect(await on("explain", { query: "DELETE FROM customers" })).toMatchObject({ failed: "invalid_input" });
  });

  test("scores by the rows, not by their order or the columns' names", async () => {
    const gold = "SELECT name FROM customers ORDER BY name";
    const score = (predicted: string, more: object = {}) => on("score", { predicted, gold, ...more });
    expect(await score("SELECT name AS n FROM customers ORDER BY id DESC")).toMatchObject({
      ...{ correct: true, score: 1, compare: "set", gold_rows: 3, predicted_rows: 3, predicted_error: null },
      matches: { set: true, multiset: true, ordered: false },
    });
    expect(await score("SELECT name FROM customers ORDER BY id DESC", { compare: "auto" })).toMatchObject({
      correct: false,
      compare: "ordered",
    });
    const twice = "SELECT name FROM customers UNION ALL SELECT name FROM customers";
    expect(await score(twice)).toMatchObject({ correct: true, matches: { multiset: false } });
    expect(await score(twice, { compare: "multiset" })).toMatchObject({ correct: false, score: 0 });
    expect(await score("SELECT city FROM customers")).toMatchObject({ correct: false, score: 0 });
  });

  test("scores a prediction that fails 0, and never blames it for the gold query", async () => {
    const good = "SELECT 1 AS one";
    expect(await on("score", { predicted: "SELECT nope", gold: good })).toMatchObject({
      score: 0,
      predicted_error: { error: "business_failure" },
    });
    // What a model that said nothing is judged by.
    expect(await on("score", { predicted: "", gold: good })).toMatchObject({
      score: 0,
      predicted_error: { error: "invalid_input" },
    });
    expect(await on("score", { predicted: "DROP TABLE customers", gold: good })).toMatchObject({
      score: 0,
      predicted_error: { error: "invalid_input" },
    });
    // Of which the gold query, which is first, needs what a busy machine takes for it.
    expect(await on("score", { predicted: ENDLESS, gold: good, timeout_ms: 4_000 })).toMatchObject({
      score: 0,
      predicted_error: { error: "timeout" },
    });
    expect(await on("score", { predicted: good, gold: "SELECT nope" })).toMatchObject({ failed: "business_failure" });
    expect(await on("score", { predicted: good, gold: ENDLESS, timeout_ms: 500 })).toMatchObject({
      failed: "timeout",
    });
  });

  test("makes no session, and refuses wrong params before anything runs (D10, D22)", async () => {
    for (const params of [{}, { query: 1 }, { query: "SELECT 1", rows: 1 }, { query: "SELECT 1", max_rows: 0 }]) {
      // oxlint-disable-next-line no-await-in-loop
      const { status, body } = await server.execute("text2sql:execute", { db_id: "shop", ...params });
      expect([status, body.meta?.outcome], JSON.stringify(params)).toEqual([400, "rejected"]);
    }
    const { body } = await server.execute("text2sql:execute", { db_id: "shop", query: "SELECT 1" });
    expect(body.meta?.session_id).toBeNull();
    expect(await on("execute", { query: "SELECT 1", max_rows: 10_001 })).toMatchObject({
      failed: "limit_exceeded",
      limit: "max_rows",
    });
  });
});
