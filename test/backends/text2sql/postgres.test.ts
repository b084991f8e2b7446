import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findPostgres, type PostgresServer, startPostgres } from "../../kit/postgres-server.ts";
import { ENDLESS, openServer, SHOP } from "./databases.ts";

const programs = findPostgres();

describe.skipIf(programs === undefined)("PostgreSQL", () => {
  let postgres: PostgresServer;
  beforeAll(async () => {
    postgres = await startPostgres(programs ?? "");
    await postgres.run("postgres", [
      "CREATE ROLE reader LOGIN",
      "CREATE ROLE files LOGIN IN ROLE pg_read_server_files",
      "CREATE ROLE deputy LOGIN NOINHERIT IN ROLE admin",
      "CREATE DATABASE shop",
    ]);
    await postgres.run("shop", [
      ...SHOP,
      'CREATE SCHEMA "Other Things"',
      'CREATE TABLE "Other Things"."T 1" ("Ä" NUMERIC(20, 4), j JSONB, b BYTEA, d DATE, t TIMESTAMPTZ, a INTEGER[], big BIGINT, f DOUBLE PRECISION)',
      `INSERT INTO "Other Things"."T 1" VALUES (1.5000, '{"k": [1]}', '\\x0102', '2020-01-02', '2020-01-02T03:04:05Z', '{1,2}', 9223372036854775807, 'NaN')`,
      "COMMENT ON TABLE customers IS 'who buys'",
      "CREATE TABLE secrets (s TEXT)",
      "CREATE SEQUENCE numbers",
      "CREATE FUNCTION intrude() RETURNS INTEGER LANGUAGE plpgsql VOLATILE AS $$ BEGIN PERFORM set_config('transaction_read_only', 'off', true); DELETE FROM customers; RETURN 1; END $$",
      'GRANT SELECT, INSERT, UPDATE, DELETE ON customers, orders, "order lines", totals TO reader',
      'GRANT USAGE ON SCHEMA "Other Things" TO reader',
      'GRANT SELECT ON "Other Things"."T 1" TO reader',
      "GRANT ALL ON SEQUENCE numbers TO reader",
    ]);
  });
  afterAll(() => postgres?.stop());

  const open = async (role = "reader", more: object = {}) => {
    const { call } = await openServer({ databases: { shop: { url: postgres.url("shop", role), ...more } } });
    const execute = (query: string, params: object = {}) =>
      call("text2sql:execute", { db_id: "shop", query, ...params });
    return { call, execute };
  };

  it("writes nothing, although its role may and its functions try", async () => {
    const { execute } = await open();
    for (const query of [
      "SELECT intrude()",
      "SELECT nextval('numbers')",
      "SELECT set_config('transaction_read_only', 'off', false), intrude()",
      "WITH x AS (UPDATE customers SET name = 'x' RETURNING 1) SELECT * FROM x",
      "SELECT 1 FROM customers FOR UPDATE",
      "SELECT * FROM secrets",
    ]) {
      // oxlint-disable-next-line no-await-in-loop
      const answer = await execute(query);
      expect(["invalid_input", "business_failure"], `${query}: ${JSON.stringify(answer)}`).toContain(answer["failed"]);
    }
    expect(await execute("SELECT count(*), min(name) FROM customers")).toMatchObject({ rows: [[3, "Ada"]] });
  });

  it("takes no second statement behind the first, however it is hidden", async () => {
    const { execute } = await open();
    for (const query of [
      "SELECT 1; DELETE FROM customers",
      "SELECT $a$;$a$; COMMIT",
      "SELECT E'\\'; COMMIT; --'",
      "SELECT 1 /* /* */ ; */; ROLLBACK",
    ]) {
      // oxlint-disable-next-line no-await-in-loop
      const answer = await execute(query);
      if (query.includes("E'")) expect(answer).toMatchObject({ rows: [["'; COMMIT; --"]] });
      else expect(answer).toMatchObject({ failed: "invalid_input" });
    }
  });

  it("refuses a role that may do more than read tables, unless the configuration says otherwise", async () => {
    for (const role of ["admin", "files", "deputy"]) {
      // oxlint-disable-next-line no-await-in-loop
      const { execute } = await open(role);
      // oxlint-disable-next-line no-await-in-loop
      expect(await execute("SELECT 1"), role).toMatchObject({ failed: "forbidden" });
    }
    const { execute } = await open("admin", { allow_privileged_role: true });
    expect(await execute("SELECT 1")).toMatchObject({ rows: [[1]] });
    expect(await execute("COPY (SELECT 1) TO '/tmp/toolyard-pg-out'")).toMatchObject({ failed: "invalid_input" });
    for (const query of [
      "SELECT pg_read_file('/etc/passwd')",
      `SELECT U&"pg\\005Fread_file"('/etc/passwd')`,
      `SELECT u&"pg!005Fread_file" UESCAPE '!' ('/etc/passwd')`,
      "SELECT query_to_xml('SELECT pg_read_file(''/etc/passwd'')', true, true, '')",
    ]) {
      // oxlint-disable-next-line no-await-in-loop
      expect(await execute(query), query).toMatchObject({ failed: "invalid_input" });
    }
    expect(await execute("SELECT U&'\\0041', 6 & u FROM (VALUES (3)) AS v (u)")).toMatchObject({ rows: [["A", 2]] });
  });

  it("keeps as text the numbers that a double cannot hold, inside JSON too", async () => {
    const { execute } = await open();
    const tiny = `0.${"0".repeat(399)}1`;
    expect(await execute("SELECT 1e400::NUMERIC, 1e-400::NUMERIC, 0.00::NUMERIC, 2.50::NUMERIC")).toMatchObject({
      rows: [[`1${"0".repeat(400)}`, tiny, 0, 2.5]],
    });
    expect(await execute(`SELECT '[9007199254740993, 1e400, 1.5, 2e3, {"a": -7}]'::JSON`)).toMatchObject({
      rows: [[["9007199254740993", "1e400", 1.5, 2000, { a: -7 }]]],
    });
  });

  it("stops in the server, too: at the time's end and when the caller goes away", async () => {
    const { server, call } = await openServer({ databases: { shop: postgres.url("shop", "reader") } });
    const isQuiet = async () => (await postgres.running("shop")).length === 0;
    const params = { db_id: "shop", query: ENDLESS, timeout_ms: 1_000 };
    expect(await call("text2sql:execute", params)).toMatchObject({ failed: "timeout" });
    await expect.poll(isQuiet).toBe(true);
    // A query cannot free itself of its time.
    const freed =
      "SELECT set_config('statement_timeout', '0', false), pg_sleep(0.2 + 0 * n) FROM generate_series(1, 100000) n";
    expect(await call("text2sql:execute", { ...params, query: freed })).toMatchObject({ failed: "timeout" });
    await expect.poll(isQuiet).toBe(true);
    const controller = new AbortController();
    const body = JSON.stringify({
      worker_id: "w1",
      action: "text2sql:execute",
      params: { ...params, timeout_ms: 60_000 },
    });
    const gone = fetch(`${server.url}/execute`, { method: "POST", body, signal: controller.signal });
    gone.catch(() => undefined);
    await expect.poll(isQuiet).toBe(false);
    controller.abort();
    await expect(gone).rejects.toThrow();
    await expect.poll(isQuiet).toBe(true);
  });

  it("keeps the types of its values, and describes other schemas and comments", async () => {
    const { call, execute } = await open();
    const { schema } = await call("text2sql:get_schema", { db_id: "shop" });
    expect(schema["customers"].comment).toBe("who buys");
    expect(Object.keys(schema)).not.toContain("secrets");
    const { reference, columns } = schema["Other Things.T 1"];
    expect(columns.map(({ type }: { type: string }) => type)).toEqual([
      ...[
        "numeric(20,4)",
        "jsonb",
        "bytea",
        "date",
        "timestamp with time zone",
        "integer[]",
        "bigint",
        "double precision",
      ],
    ]);
    expect(await execute(`SELECT * FROM ${reference}`)).toMatchObject({
      columns: ["Ä", "j", "b", "d", "t", "a", "big", "f"],
      types: ["numeric", "jsonb", "bytea", "date", "timestamp with time zone", null, "bigint", "double precision"],
      rows: [
        [
          1.5,
          { k: [1] },
          { base64: "AQI=" },
          "2020-01-02",
          expect.stringContaining("2020-01-02 03:04:05"),
          "{1,2}",
          "9223372036854775807",
          "NaN",
        ],
      ],
    });
    expect(await execute("SHOW transaction_read_only")).toMatchObject({ rows: [["on"]] });
  });

  it("that is not there is the server's failure, without its address", async () => {
    const { call } = await openServer({ databases: { away: "postgresql://reader:secret@127.0.0.1:1/x" } });
    const answer = await call("text2sql:execute", { db_id: "away", query: "SELECT 1" });
    expect(answer).toMatchObject({ failed: "dependency_failed", outcome: "infra_error" });
    expect(JSON.stringify(answer)).not.toMatch(/secret|127\.0/);
  });
});
