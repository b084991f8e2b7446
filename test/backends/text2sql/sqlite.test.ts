import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { openSqlite } from "../../../src/backends/text2sql/engines/sqlite.ts";
import { onlyReads } from "../../../src/backends/text2sql/engines/sqlite-authorizer.ts";
import { ENDLESS, makeDuckDb, makeFolder, makeSqlite, openServer } from "./databases.ts";

const ROWS = { maxRows: 10, maxBytes: 10_000 };

describe("SQLite", () => {
  it("is bound by the engine itself, not by how a query begins", async () => {
    const folder = await makeFolder();
    const path = makeSqlite(join(folder, "shop.sqlite"));
    const before = readFileSync(path);
    const reader = await openSqlite(path);
    const written = join(folder, "written.sqlite");
    for (const query of [
      "WITH x AS (SELECT 1) DELETE FROM customers",
      "WITH x AS (SELECT 1) INSERT INTO customers SELECT 9, 'x', 'y' RETURNING id",
      "WITH x AS (SELECT 1) UPDATE customers SET name = 'x' RETURNING id",
      "SELECT load_extension('/tmp/x.so')",
      "SELECT fts3_tokenizer('simple', x'00')",
      "SELECT * FROM pragma_wal_checkpoint",
    ]) {
      // oxlint-disable-next-line no-await-in-loop
      await expect(reader.readRows(query, ROWS), query).rejects.toMatchObject({
        error: expect.stringMatching(/invalid_input|business_failure/),
      });
    }
    // And behind the check of words that answers first, the connection refuses what would write elsewhere.
    await expect(reader.all(`VACUUM INTO '${written}'`)).rejects.toThrow();
    await expect(reader.all("CREATE TEMP TABLE t (a)")).rejects.toThrow();
    await expect(reader.all("DELETE FROM customers RETURNING id")).rejects.toThrow();
    await reader.close();
    expect(existsSync(written)).toBe(false);
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  it("has its authoriser look at what a statement compiles to", async () => {
    const path = makeSqlite(join(await makeFolder(), "shop.sqlite"));
    for (const query of [
      "ATTACH 'x' AS y",
      "PRAGMA user_version",
      "DELETE FROM customers",
      "CREATE TABLE t (a)",
      "BEGIN",
    ]) {
      // oxlint-disable-next-line no-await-in-loop
      await expect(onlyReads(path, query), query).rejects.toMatchObject({ error: "invalid_input" });
    }
    await expect(onlyReads(path, ENDLESS)).resolves.toBeUndefined();
    await expect(onlyReads(path, "SELECT upper(name) FROM totals, customers")).resolves.toBeUndefined();
    // What it does not know is for the connection that runs it to say.
    await expect(onlyReads(path, "SELECT no_such_function(1)")).resolves.toBeUndefined();
  });

  it("reads tables, columns and views under any name (PRAGMA table_info was unquoted)", async () => {
    const name = fc
      .string({ unit: "grapheme", minLength: 1, maxLength: 12 })
      .filter((text) => !text.includes("\0") && !/^sqlite_/i.test(text));
    const names = fc.uniqueArray(name, { minLength: 3, maxLength: 3, selector: (text) => text.toLowerCase() });
    const folder = await makeFolder();
    let count = 0;
    await fc.assert(
      fc.asyncProperty(names, async ([table = "", column = "", view = ""]) => {
        const quote = (text: string) => `"${text.replaceAll('"', '""')}"`;
        const path = makeSqlite(join(folder, `${(count += 1)}.sqlite`), [
          `CREATE TABLE ${quote(table)} (${quote(column)} INTEGER PRIMARY KEY)`,
          `CREATE VIEW ${quote(view)} AS SELECT * FROM ${quote(table)}`,
          `INSERT INTO ${quote(table)} VALUES (7)`,
        ]);
        const reader = await openSqlite(path);
        const found = await reader.tables();
        expect(found.map((entry) => entry.name).toSorted()).toEqual([table, view].toSorted());
        for (const { reference, schema } of found) {
          expect(schema.columns.map((entry) => entry.name)).toEqual([column]);
          // oxlint-disable-next-line no-await-in-loop
          expect((await reader.readRows(`SELECT ${quote(column)} FROM ${reference}`, ROWS)).rows).toEqual([[7]]);
        }
        await reader.close();
      }),
      { numRuns: 40 },
    );
  });

  it("keeps integers, reals, blobs and nulls as they are", async () => {
    const { call } = await openServer({
      databases: { empty: makeSqlite(join(await makeFolder(), "e.sqlite"), ["CREATE TABLE t (a)"]) },
    });
    const query = "SELECT 9223372036854775807, 9007199254740991, 1.5, 9e999, x'0102', NULL, 'ä\u{1f600}'";
    expect(await call("text2sql:execute", { db_id: "empty", query })).toMatchObject({
      rows: [
        ["9223372036854775807", 9007199254740991, 1.5, "Infinity", { base64: "AQI=", size_bytes: 2 }, null, "ä😀"],
      ],
    });
  });

  it("resolves keys that name no columns, and lists those of several columns", async () => {
    const path = makeSqlite(join(await makeFolder(), "k.sqlite"), [
      "CREATE TABLE p (a INTEGER, b INTEGER, PRIMARY KEY (b, a))",
      "CREATE TABLE c (x INTEGER, y INTEGER, FOREIGN KEY (x, y) REFERENCES p)",
      "CREATE UNIQUE INDEX c_lower ON c (x, lower(y))",
      "CREATE VIRTUAL TABLE notes USING fts5 (body)",
      "CREATE VIEW broken AS SELECT * FROM nowhere",
    ]);
    const { call } = await openServer({ databases: { k: path } });
    const { schema, complete } = await call("text2sql:get_schema", { db_id: "k" });
    expect(Object.keys(schema)).toEqual(["broken", "c", "notes", "p"]);
    expect(complete).toBe(true);
    expect(schema["p"].primary_key).toEqual(["b", "a"]);
    expect(schema["c"]).toMatchObject({
      foreign_keys: [
        { to_table: "p", from_col: "x", to_col: "b" },
        { to_table: "p", from_col: "y", to_col: "a" },
      ],
      indexes: [{ name: "c_lower", columns: ["x", "(expression)"], unique: true }],
    });
  });

  it("counts and samples what it has time for, and says that more is missing", async () => {
    const path = makeSqlite(join(await makeFolder(), "slow.sqlite"), [
      "CREATE TABLE a (x INTEGER)",
      "INSERT INTO a VALUES (1)",
      // The first thousand rows of this view never come.
      `CREATE VIEW b AS ${ENDLESS.replace("count(*)", "n")} WHERE n < 0`,
    ]);
    const { call } = await openServer({ databases: { slow: path } });
    const { schema, complete } = await call("text2sql:get_schema", { db_id: "slow", timeout_ms: 6_000 });
    expect(complete).toBe(false);
    expect(schema["a"]).toMatchObject({ row_count: 1 });
    expect(schema["b"].columns).toMatchObject([{ name: "n" }]);
  });

  it("reads a database that a writer holds open in WAL mode", async () => {
    const path = makeSqlite(join(await makeFolder(), "wal.sqlite"), [
      "PRAGMA journal_mode = WAL",
      "CREATE TABLE t (a)",
    ]);
    const writer = new Database(path);
    writer.exec("INSERT INTO t VALUES (1)");
    const { call } = await openServer({ databases: { wal: path } });
    expect(await call("text2sql:execute", { db_id: "wal", query: "SELECT a FROM t" })).toMatchObject({ rows: [[1]] });
    writer.close();
  });
});

it("answers to the known names, sql:* as its documentation has them, which are not listed", async () => {
  const { server } = await openServer({ databases: { shop: makeSqlite(join(await makeFolder(), "shop.sqlite")) } });
  const query = "SELECT id, name FROM customers ORDER BY id LIMIT 1";
  for (const action of ["text2sql:execute", "sql:execute", "sql.execute", "sql_execute", "execute"]) {
    // oxlint-disable-next-line no-await-in-loop
    const { body } = await server.execute(action, { db_id: "shop", query });
    expect(body.data, action).toMatchObject({
      columns: ["id", "name"],
      rows: [[1, "Ada"]],
      row_count: 1,
      truncated: false,
    });
  }
  expect((await server.execute("sql:list_databases")).body.data).toMatchObject({ databases: ["shop"] });
  const { body } = await server.execute("sql:get_schema", { db_id: "shop", table_names: null });
  expect(body.data).toMatchObject({ schema: { customers: { primary_key: ["id"] } } });
  const listed = await fetch(`${server.url}/api/v1/tools`).then((answer) => answer.json());
  expect(JSON.stringify(listed)).not.toContain('"sql:');
});

describe("the databases", () => {
  it("are those of the configuration and of its folders, as BIRD lays them out, and no others", async () => {
    const folder = await makeFolder();
    mkdirSync(join(folder, "toxicology"));
    makeSqlite(join(folder, "toxicology", "toxicology.sqlite"));
    makeSqlite(join(folder, "shop.db"));
    await makeDuckDb(join(folder, "ware.duckdb"));
    writeFileSync(join(folder, "notes.txt"), "");
    const { call } = await openServer({
      folders: [folder],
      db_paths: { known: join(folder, "shop.db") },
      databases: { server: "postgresql://reader:secret@localhost/x", gone: join(folder, "gone.sqlite") },
    });
    const listed = await call("text2sql:list_databases");
    expect(listed["databases"]).toEqual(["gone", "known", "server", "shop", "toxicology", "ware"]);
    expect(listed["details"]).toContainEqual({ db_id: "ware", engine: "duckdb", size_bytes: expect.any(Number) });
    expect(JSON.stringify(listed)).not.toMatch(/secret|\/tmp/);
    makeSqlite(join(folder, "later.sqlite"));
    expect((await call("text2sql:list_databases"))["databases"]).toContain("later");
    const ask = (db_id: string) => call("text2sql:execute", { db_id, query: "SELECT 1" });
    expect(await ask("toxicology")).toMatchObject({ rows: [[1]] });
    expect(await ask("shp")).toMatchObject({ failed: "unknown_name", outcome: "rejected" });
    expect(await ask("../shop.db")).toMatchObject({ failed: "unknown_name" });
    expect(await ask("__proto__")).toMatchObject({ failed: "unknown_name" });
    expect(await ask("gone")).toMatchObject({ failed: "dependency_failed", outcome: "infra_error" });
  });

  it("may be none: then it is said how to have some, where the config's variable is not set", async () => {
    const { call } = await openServer({ folders: [""] });
    expect(await call("text2sql:list_databases")).toMatchObject({
      ...{ outcome: "ok", databases: [], details: [] },
      note: expect.stringContaining("TOOLYARD_DATABASES"),
    });
    expect(await call("text2sql:execute", { db_id: "shop", query: "SELECT 1" })).toMatchObject({
      failed: "unknown_name",
    });
  });

  it("that are none are told as such, without the machine's paths", async () => {
    const folder = await makeFolder();
    writeFileSync(join(folder, "bad.sqlite"), "this is no database, and long enough to be looked at by anybody");
    writeFileSync(join(folder, "bad.duckdb"), "nor is this one");
    const { call } = await openServer({ folders: [folder] });
    for (const db_id of ["bad"]) {
      // oxlint-disable-next-line no-await-in-loop
      const answer = await call("text2sql:get_schema", { db_id });
      expect(answer["failed"]).toBeDefined();
      expect(answer["message"]).not.toContain(folder);
    }
  });
});
