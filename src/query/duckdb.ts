import type { DuckDBConnection, DuckDBPreparedStatement, DuckDBResult } from "@duckdb/node-api";
import { ToolyardError } from "../core/errors.ts";
import { type Cell, toCell, toNumberCell } from "./cell.ts";
import { type CollectedRows, RowCollector, type RowLimits } from "./row-collector.ts";
import { quoteText } from "./sql/quote.ts";
import { readingStatement } from "./sql/statement.ts";

/** How a DuckDB is opened. */
export interface DuckDbOptions {
  /** The database's file, which is opened for reading; one in memory when absent. */
  readonly path?: string;
  readonly memoryMiB: number;
  readonly threads: number;
  /** Is run before the database is shut in: what it makes, queries can read. */
  readonly prepare?: (connection: DuckDBConnection) => Promise<void>;
}

/** An open DuckDB that reads, and reaches nothing but itself. */
export interface DuckDb extends Disposable {
  /** Of the server's own questions; a query of a caller's goes through {@link readRows}. */
  all(sql: string): Promise<Cell[][]>;
  /** @throws ToolyardError `invalid_input`, `business_failure` with the engine's words. */
  readRows(sql: string, limits: RowLimits): Promise<CollectedRows>;
  /** Goes on with a new connection, which has nothing of the one before, and which this signal interrupts. */
  renew(signal: AbortSignal): Promise<void>;
}

/**
 * Opens a database with everything shut that a query could leave it by: no files, no network, no extensions, no spilling
 * to the disk, and a configuration that can no longer be changed.
 *
 * @throws ToolyardError `dependency_failed` when DuckDB is not installed; `business_failure` when it cannot read the file.
 */
export async function openDuckDb(options: DuckDbOptions, signal: AbortSignal): Promise<DuckDb> {
  const { DuckDBInstance, StatementType } = await loadDuckDb();
  const { path, memoryMiB, threads, prepare } = options;
  const instance = await told(() =>
    path === undefined ? DuckDBInstance.create(":memory:") : DuckDBInstance.create(path, { access_mode: "READ_ONLY" }),
  );
  let connection = await instance.connect();
  let heard = signal;
  const interrupt = () => connection.interrupt();
  const disconnect = () => {
    heard.removeEventListener("abort", interrupt);
    connection.closeSync();
  };
  const close = () => {
    disconnect();
    instance.closeSync();
  };
  signal.addEventListener("abort", interrupt, { once: true });
  try {
    for (const [name, value] of bounds(memoryMiB, threads)) {
      // oxlint-disable-next-line no-await-in-loop
      await connection.run(`SET ${name} = ${value}`);
    }
    await prepare?.(connection);
    await connection.run("SET enable_external_access = false");
    await connection.run("SET lock_configuration = true");
  } catch (error) {
    close();
    throw error;
  }
  const reads: ReadonlySet<number> = new Set([StatementType.SELECT, StatementType.EXPLAIN]);
  return {
    all: async (sql) => (await (await connection.run(sql)).getRows()).map((row) => row.map(toDuckDbCell)),
    readRows: (sql, limits) => readRows(connection, reads, sql, limits),
    async renew(next) {
      disconnect();
      connection = await instance.connect();
      heard = next;
      next.addEventListener("abort", interrupt, { once: true });
    },
    [Symbol.dispose]: close,
  };
}

function bounds(memoryMiB: number, threads: number): readonly (readonly [string, string])[] {
  return [
    ["autoinstall_known_extensions", "false"],
    ["autoload_known_extensions", "false"],
    ["allow_community_extensions", "false"],
    ["memory_limit", quoteText(`${memoryMiB}MiB`)],
    ["threads", String(threads)],
    ["temp_directory", "''"],
    ["max_temp_directory_size", "'0B'"],
    ["preserve_insertion_order", "true"],
    // Of every connection, as the others are.
    ["GLOBAL TimeZone", "'UTC'"],
  ];
}

/** Loads the engine. @throws ToolyardError `dependency_failed` that names the package */
async function loadDuckDb() {
  try {
    return await import("@duckdb/node-api");
  } catch (error) {
    throw new ToolyardError("dependency_failed", "The package @duckdb/node-api cannot be loaded", {
      suggestion: "Install it with `npm install @duckdb/node-api`.",
      cause: error,
    });
  }
}

async function readRows(
  connection: DuckDBConnection,
  reads: ReadonlySet<number>,
  sql: string,
  limits: RowLimits,
): Promise<CollectedRows> {
  const { text } = readingStatement(sql, "duckdb");
  return told(async () => {
    const statement = await connection.prepare(text);
    try {
      if (!reads.has(statement.statementType)) {
        throw new ToolyardError("invalid_input", "only queries that read are allowed");
      }
      return await collect(statement, limits);
    } finally {
      statement.destroySync();
    }
  });
}

async function collect(statement: DuckDBPreparedStatement, limits: RowLimits): Promise<CollectedRows> {
  const result = await statement.stream();
  const rows = new RowCollector(limits);
  await takeRows(result, rows);
  return rows.finish(result.columnNames(), result.columnTypes().map(String));
}

async function takeRows(result: DuckDBResult, rows: RowCollector): Promise<void> {
  for await (const chunk of result.yieldRows()) {
    for (const row of chunk) if (!rows.add(row.map(toDuckDbCell))) return;
  }
}

/** Values of its own classes become what they show; lists, structs and maps keep their shape. */
export function toDuckDbCell(value: unknown): Cell {
  if (typeof value !== "object" || value === null) return toCell(value);
  if ("bytes" in value && value.bytes instanceof Uint8Array) return toCell(value.bytes);
  if ("items" in value && Array.isArray(value.items)) return value.items.map(toDuckDbCell);
  if ("scale" in value) return toNumberCell(String(value));
  if ("entries" in value && Array.isArray(value.entries)) return value.entries.map(toPair);
  if ("entries" in value && typeof value.entries === "object" && value.entries !== null) {
    return Object.fromEntries(Object.entries(value.entries).map(([name, part]) => [name, toDuckDbCell(part)]));
  }
  return String(value);
}

function toPair(entry: unknown): Cell {
  if (typeof entry !== "object" || entry === null || !("key" in entry) || !("value" in entry)) return null;
  return { key: toDuckDbCell(entry.key), value: toDuckDbCell(entry.value) };
}

/** Tells what the engine complains of as the caller's matter. @throws ToolyardError `business_failure` */
export async function told<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (ToolyardError.is(error)) throw error;
    const message = error instanceof Error ? error.message : String(error);
    if (message.startsWith("Out of Memory Error")) {
      throw new ToolyardError("limit_exceeded", "it needs more memory than it may have", {
        details: { limit: "memory_mib" },
      });
    }
    throw new ToolyardError("business_failure", message, {
      suggestion: "Look which tables and columns there are, by get_schema or inspect_data, and change the query.",
    });
  }
}
