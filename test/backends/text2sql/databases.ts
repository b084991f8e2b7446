import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import Database from "better-sqlite3";
import { onTestFinished } from "vitest";
import Text2SqlBackend from "../../../src/backends/text2sql/backend.ts";
import { type TestServer, testServer } from "../../kit/test-server.ts";
import { type Call, caller } from "../../kit/tool-caller.ts";

/** A query that never ends and holds whoever runs it. */
export const ENDLESS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r";

/** Three tables that refer to each other, and a view; SQL that each of the three engines reads. */
export const SHOP = [
  `CREATE TABLE customers (id INTEGER PRIMARY KEY, name VARCHAR(40) NOT NULL, city VARCHAR(40) DEFAULT 'Oslo')`,
  `CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER NOT NULL REFERENCES customers (id), total DOUBLE PRECISION)`,
  `CREATE TABLE "order lines" ("order" INTEGER, line INTEGER, "a ""b"" c" VARCHAR(20), PRIMARY KEY ("order", line))`,
  `CREATE INDEX orders_by_customer ON orders (customer)`,
  `CREATE VIEW totals AS SELECT customer, sum(total) AS total FROM orders GROUP BY customer`,
  `INSERT INTO customers (id, name, city) VALUES (1, 'Ada', 'London'), (2, 'Bob', NULL), (3, 'Cy', 'Oslo')`,
  `INSERT INTO orders VALUES (10, 1, 2.5), (11, 1, 4), (12, 3, 1)`,
  `INSERT INTO "order lines" VALUES (10, 1, 'x'), (10, 2, 'y')`,
];

/** A folder for a test's databases, gone after it. */
export async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "toolyard-text2sql-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

export function makeSqlite(path: string, statements: readonly string[] = SHOP): string {
  const database = new Database(path);
  for (const statement of statements) database.exec(statement);
  database.close();
  return path;
}

export async function makeDuckDb(path: string, statements: readonly string[] = SHOP): Promise<string> {
  const instance = await DuckDBInstance.create(path);
  const connection = await instance.connect();
  for (const statement of statements) {
    // oxlint-disable-next-line no-await-in-loop
    await connection.run(statement);
  }
  connection.closeSync();
  instance.closeSync();
  return path;
}

/** A server with the backend, gone after the test. */
export async function openServer(config: Record<string, unknown>): Promise<{ server: TestServer; call: Call }> {
  const server = await testServer({ backends: [new Text2SqlBackend({ config })] });
  onTestFinished(() => server[Symbol.asyncDispose]());
  return { server, call: caller(server) };
}
