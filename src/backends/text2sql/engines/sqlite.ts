import { basename } from "node:path";
import Database from "better-sqlite3";
import { ToolyardError } from "../../../core/errors.ts";
import { type Cell, toCell } from "../../../query/cell.ts";
import { RowCollector, type RowLimits } from "../../../query/row-collector.ts";
import { readingStatement } from "../../../query/sql/statement.ts";
import type { Reader } from "./reader.ts";
import { onlyReads } from "./sqlite-authorizer.ts";
import { readSqliteTables } from "./sqlite-schema.ts";

type Row = readonly unknown[];

/**
 * Opens an SQLite file to read: read-only, `query_only`, without trust in the functions that its schema names, and with its
 * temporary tables in memory, which the process's limit counts.
 */
export async function openSqlite(path: string): Promise<Reader> {
  const tell = (error: unknown) => toFailure(error, path);
  const database = told(() => {
    const opened = new Database(path, { readonly: true, fileMustExist: true, timeout: 2_000 });
    for (const pragma of ["query_only = ON", "trusted_schema = OFF", "temp_store = MEMORY", "cell_size_check = ON"]) {
      opened.pragma(pragma);
    }
    return opened.defaultSafeIntegers(true);
  }, tell);

  const prepare = async (sql: string) => {
    const { text } = readingStatement(sql, "sqlite");
    // Its connection is closed again before this one reads: two libraries share no locks of one file in a process.
    await onlyReads(path, text);
    const statement = told(() => database.prepare<unknown[], Row>(text), tell);
    if (!statement.readonly || !statement.reader) {
      throw new ToolyardError("invalid_input", "only queries that read are allowed");
    }
    return statement.raw(true);
  };

  return {
    async readRows(sql, limits) {
      const statement = await prepare(sql);
      return told(() => {
        const columns = statement.columns();
        const rows = collect(statement.iterate(), limits);
        return rows.finish(
          columns.map(({ name }) => name),
          columns.map(({ type }) => type),
        );
      }, tell);
    },
    async explain(sql) {
      const { text, verb } = readingStatement(sql, "sqlite");
      const statement = await prepare(verb === "EXPLAIN" ? text : `EXPLAIN QUERY PLAN ${text}`);
      return told(() => drawPlan(statement.all()), tell);
    },
    tables: async () => told(() => readSqliteTables((query) => allRows(database, query)), tell),
    all: async (sql) => told(() => allRows(database, sql), tell),
    close: async () => void database.close(),
  };
}

function allRows(database: Database.Database, sql: string): Cell[][] {
  return database
    .prepare<unknown[], Row>(sql)
    .raw(true)
    .all()
    .map((row) => row.map(toCell));
}

function collect(found: IterableIterator<Row>, limits: RowLimits): RowCollector {
  const rows = new RowCollector(limits);
  for (const row of found) if (!rows.add(row.map(toCell))) break;
  return rows;
}

/** Draws the rows of EXPLAIN QUERY PLAN (id, parent, -, what) as a tree, and those of EXPLAIN as they are. */
function drawPlan(rows: readonly Row[]): string {
  const isTree = rows.every((row) => row.length === 4);
  if (!isTree) return rows.map((row) => row.map((value) => (value === null ? "" : String(value))).join("|")).join("\n");
  const depths = new Map<string, number>();
  return rows
    .map(([id, parent, , what]) => {
      const depth = (depths.get(String(parent)) ?? -1) + 1;
      depths.set(String(id), depth);
      return `${"  ".repeat(depth)}${String(what)}`;
    })
    .join("\n");
}

function told<T>(work: () => T, tell: (error: unknown) => ToolyardError): T {
  try {
    return work();
  } catch (error) {
    throw tell(error);
  }
}

function toFailure(error: unknown, path: string): ToolyardError {
  if (ToolyardError.is(error)) return error;
  const message = (error instanceof Error ? error.message : String(error)).replaceAll(path, basename(path));
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (code === "SQLITE_READONLY") return new ToolyardError("invalid_input", "only queries that read are allowed");
  if (error instanceof RangeError && message.includes("more than one statement")) {
    return new ToolyardError("invalid_input", "one statement at a time, please");
  }
  if (error instanceof RangeError || error instanceof TypeError) return new ToolyardError("invalid_input", message);
  return new ToolyardError("business_failure", message, {
    details: code === "" ? {} : { code },
    suggestion: "Look which tables and columns there are, by get_schema, and change the query.",
  });
}
