import { readFileSync } from "node:fs";
import type { DuckDBAppender, DuckDBConnection } from "@duckdb/node-api";
import { ToolyardError } from "../../../core/errors.ts";
import { checkUnpackedSize } from "../../../documents/unpacked-size.ts";
import { quoteName } from "../../../query/sql/quote.ts";
import type { DataFile } from "../data-file.ts";

const MAX_BYTES = 64 * 1024 * 1024;
const MAX_UNPACKED_BYTES = 512 * 1024 * 1024;

/** A sheet that became a table. */
export interface LoadedSheet {
  readonly sheet: string;
  readonly names: readonly string[];
}

type Value = string | number | boolean | Date | null | undefined;
type ColumnType = "BIGINT" | "DOUBLE" | "BOOLEAN" | "TIMESTAMP" | "VARCHAR";

/**
 * Loads the sheets of a workbook as tables: the first under the file's names, each under `NAME/SHEET`, too. DuckDB's own
 * reader of XLSX is an extension that would have to be downloaded.
 */
export async function loadWorkbook(
  connection: DuckDBConnection,
  file: DataFile,
  path: string,
  names: readonly string[],
): Promise<readonly LoadedSheet[]> {
  const sheets = await readSheets(file, path);
  const loaded: LoadedSheet[] = [];
  for (const [index, { sheet, data }] of sheets.entries()) {
    const table = `${names[0] ?? file.name}/${sheet}`;
    // oxlint-disable-next-line no-await-in-loop
    await fill(connection, table, data);
    const aliases = [...names.slice(1).map((name) => `${name}/${sheet}`), ...(index === 0 ? names : [])];
    for (const alias of aliases) {
      // oxlint-disable-next-line no-await-in-loop
      await connection.run(`CREATE OR REPLACE VIEW ${quoteName(alias)} AS FROM ${quoteName(table)}`);
    }
    loaded.push({ sheet, names: [...(index === 0 ? names : []), table] });
  }
  return loaded;
}

async function readSheets({ name, sizeBytes }: DataFile, path: string) {
  if (sizeBytes > MAX_BYTES) throw tooLarge(name, sizeBytes, MAX_BYTES);
  const bytes = readFileSync(path);
  const { default: readExcel } = await load();
  try {
    checkUnpackedSize(bytes, MAX_UNPACKED_BYTES);
    const sheets = await readExcel(bytes);
    return sheets.map(({ sheet, data }) => ({ sheet, data: data as readonly (readonly Value[])[] })); // what its cells hold
  } catch (error) {
    if (ToolyardError.is(error) && error.error === "limit_exceeded") throw unpacksTooLarge(name, error);
    throw new ToolyardError("business_failure", `${name} is not an XLSX file that can be read`, { cause: error });
  }
}

async function load() {
  try {
    return await import("read-excel-file/node");
  } catch (error) {
    throw new ToolyardError("dependency_failed", "The package read-excel-file cannot be loaded", {
      suggestion: "Install it with `npm install read-excel-file`.",
      cause: error,
    });
  }
}

function tooLarge(name: string, sizeBytes: number, max: number): ToolyardError {
  return new ToolyardError("limit_exceeded", `${name} is of ${sizeBytes} bytes`, {
    details: { limit: "workbook_bytes", max },
    suggestion: "Save it as CSV or Parquet.",
  });
}

function unpacksTooLarge(name: string, cause: ToolyardError): ToolyardError {
  return new ToolyardError("limit_exceeded", `${name} unpacks to more than it may, or than it says`, {
    details: { limit: "unpacked_bytes", max: MAX_UNPACKED_BYTES },
    suggestion: "Save it as CSV or Parquet.",
    cause,
  });
}

async function fill(connection: DuckDBConnection, table: string, data: readonly (readonly Value[])[]): Promise<void> {
  const [header = [], ...rows] = data;
  const width = Math.max(1, header.length, ...rows.map((row) => row.length));
  const names = columnNames(header, width);
  const types = names.map((_, column) => typeOf(rows, column));
  const columns = names.map((name, index) => `${quoteName(name)} ${types[index]}`);
  await connection.run(`CREATE TABLE ${quoteName(table)} (${columns.join(", ")})`);
  const { timestampValue } = await import("@duckdb/node-api");
  const appender = await connection.createAppender(table);
  for (const row of rows) {
    for (const [index, type] of types.entries()) {
      const value = row[index];
      if (type === "TIMESTAMP" && value instanceof Date) {
        appender.appendTimestamp(timestampValue(BigInt(value.getTime()) * 1_000n));
      } else append(appender, type, value);
    }
    appender.endRow();
  }
  appender.closeSync();
}

/** Names as the first row has them; one that is missing or comes again is told apart by its place. */
function columnNames(header: readonly Value[], width: number): string[] {
  const names: string[] = [];
  const taken = new Set<string>();
  for (let index = 0; index < width; index += 1) {
    const given = String(header[index] ?? "").trim() || `column${index}`;
    let name = given;
    for (let count = 1; taken.has(name.toLowerCase()); count += 1) name = `${given}_${count}`;
    taken.add(name.toLowerCase());
    names.push(name);
  }
  return names;
}

/** The type that holds every value of a column as it is. */
function typeOf(rows: readonly (readonly Value[])[], column: number): ColumnType {
  const values = rows.map((row) => row[column]).filter((value) => value !== null && value !== undefined);
  if (values.length === 0) return "VARCHAR";
  if (values.every((value) => Number.isSafeInteger(value))) return "BIGINT";
  if (values.every((value) => typeof value === "number")) return "DOUBLE";
  if (values.every((value) => typeof value === "boolean")) return "BOOLEAN";
  return values.every((value) => value instanceof Date) ? "TIMESTAMP" : "VARCHAR";
}

function append(appender: DuckDBAppender, type: ColumnType, value: Value): void {
  if (value === null || value === undefined) return appender.appendNull();
  if (type === "BIGINT") return appender.appendBigInt(BigInt(Number(value)));
  if (type === "DOUBLE") return appender.appendDouble(Number(value));
  if (type === "BOOLEAN") return appender.appendBoolean(value === true);
  appender.appendVarchar(value instanceof Date ? value.toISOString().replace(/T00:00:00\.000Z$/, "") : String(value));
}
