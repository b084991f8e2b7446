import { join } from "node:path";
import { expect, it } from "vitest";
import { makeDuckDb, makeFolder, openServer } from "./databases.ts";

it("DuckDB keeps structs, lists, maps, decimals and times, and describes keys and comments of other schemas", async () => {
  const path = await makeDuckDb(join(await makeFolder(), "t.duckdb"), [
    "CREATE SCHEMA s",
    "CREATE TABLE s.p (a INTEGER, b INTEGER, PRIMARY KEY (b, a))",
    "CREATE TABLE s.c (x INTEGER, y INTEGER, FOREIGN KEY (x, y) REFERENCES s.p (b, a))",
    "COMMENT ON TABLE s.c IS 'children'",
  ]);
  const { call } = await openServer({ databases: { t: path } });
  const query = `SELECT {'a': 1, 'b': [1, NULL]} AS s, MAP {'k': 1.5} AS m, 1.50::DECIMAL(9, 2) AS d, 170141183460469231731687303715884105727::HUGEINT AS h,
    DATE '2020-01-02' AS day, TIMESTAMP '2020-01-02 03:04:05' AS at, INTERVAL 1 DAY AS i, 'nan'::DOUBLE AS n, '\\x01'::BLOB AS b`;
  expect(await call("text2sql:execute", { db_id: "t", query })).toMatchObject({
    rows: [
      [
        { a: 1, b: [1, null] },
        [{ key: "k", value: 1.5 }],
        1.5,
        "170141183460469231731687303715884105727",
        "2020-01-02",
        "2020-01-02 03:04:05",
        expect.any(String),
        "NaN",
        { base64: "AQ==", size_bytes: 1 },
      ],
    ],
    types: expect.arrayContaining(["DECIMAL(9,2)", "HUGEINT", "DATE"]),
  });
  const { schema } = await call("text2sql:get_schema", { db_id: "t" });
  expect(schema["s.c"]).toMatchObject({
    reference: '"s"."c"',
    comment: "children",
    foreign_keys: [
      { to_table: "p", from_col: "x", to_col: "b" },
      { to_table: "p", from_col: "y", to_col: "a" },
    ],
  });
  expect(schema["s.p"].primary_key).toEqual(["b", "a"]);
});

it("DuckDB reaches nothing beside its database, and its configuration stays as it is", async () => {
  const folder = await makeFolder();
  const { call } = await openServer({
    databases: { t: await makeDuckDb(join(folder, "t.duckdb"), ["CREATE TABLE t (a INTEGER)"]) },
  });
  for (const query of [
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM read_text('/proc/self/environ')",
    "SELECT * FROM '/etc/passwd'",
    "SELECT * FROM glob('/*')",
    "SELECT * FROM duckdb_databases()",
    "FROM query('FROM duckdb_' || 'databases()')",
    `FROM "query" ('FROM duckdb_' || 'databases()')`,
    "SELECT * FROM query_table('duckdb_' || 'databases')",
    "SELECT * FROM 'duckdb_settings'",
    "EXPLAIN ANALYZE INSERT INTO t VALUES (1)",
    "WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x",
    "FROM read_parquet('http://127.0.0.1:1/x.parquet')",
    "SUMMARIZE SELECT * FROM read_csv('/etc/passwd')",
  ]) {
    // oxlint-disable-next-line no-await-in-loop
    const answer = await call("text2sql:execute", { db_id: "t", query });
    expect(["invalid_input", "business_failure"], `${query}: ${JSON.stringify(answer)}`).toContain(answer["failed"]);
    expect(answer["message"]).not.toContain(folder);
  }
  expect(await call("text2sql:execute", { db_id: "t", query: "DESCRIBE t" })).toMatchObject({ row_count: 1 });
  expect(await call("text2sql:execute", { db_id: "t", query: "FROM t SELECT count(*)" })).toMatchObject({
    rows: [[0]],
  });
});

it("DuckDB's memory is bounded (A02)", async () => {
  const path = await makeDuckDb(join(await makeFolder(), "t.duckdb"), ["CREATE TABLE t (a INTEGER)"]);
  const { call } = await openServer({ databases: { t: path }, memory_mib: 320 });
  const query = "SELECT a FROM range(60000000) r(a) ORDER BY hash(a)";
  expect(await call("text2sql:execute", { db_id: "t", query })).toMatchObject({
    failed: "limit_exceeded",
    outcome: "limit",
    limit: "memory_mib",
  });
});
