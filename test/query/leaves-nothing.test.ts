import { expect, it } from "vitest";
import { leavesNothing } from "../../src/query/sql/leaves-nothing.ts";
import { readingStatement } from "../../src/query/sql/statement.ts";

const check = (sql: string) => leavesNothing(readingStatement(sql, "duckdb"));

it.each([
  "SELECT * FROM sales WHERE id = 4711",
  "SELECT shop, sum(total) AS total FROM sales GROUP BY shop HAVING count(*) > 2 ORDER BY total DESC LIMIT 10",
  "WITH big AS (SELECT * FROM (VALUES (1, 'enable_logging()')) t) FROM big SELECT a -- query('x')",
  "SELECT CAST(a AS DECIMAL(9, 2)), row_number() OVER (PARTITION BY b) FROM t WHERE a IN (1, 2) AND EXISTS (SELECT 1)",
  "VALUES ((1), (2))",
])("takes a query for one that leaves nothing: %s", (sql) => {
  expect(check(sql)).toBe(true);
});

it.each([
  "SELECT * FROM enable_logging('QueryLog')",
  "FROM enable_profiling()",
  'SELECT "setseed"(0.5)',
  "SELECT SetSeed /* here */ (0.5)",
  "SELECT 1, (SELECT write_log ('x'))",
  "SELECT main.macro_of_mine(1)",
  "SELECT a.write_log() FROM t",
  "SELECT nextval('s')",
  "SELECT getvariable('x')",
  "FROM t PIVOT (count(*) FOR a IN (1, 2))",
  "EXPLAIN ANALYZE SELECT 1",
  "SUMMARIZE t",
  "SHOW TABLES",
])("does not trust %s", (sql) => {
  expect(check(sql)).toBe(false);
});
