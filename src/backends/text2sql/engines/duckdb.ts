import type { Cell } from "../../../query/cell.ts";
import { type DuckDb, openDuckDb, told } from "../../../query/duckdb.ts";
import { quoteName } from "../../../query/sql/quote.ts";
import { readingStatement } from "../../../query/sql/statement.ts";
import type { ColumnSchema, ForeignKey, IndexSchema, NamedTable, Reader, ReaderLimits } from "./reader.ts";

const THREADS = 2;
/** What the process needs beside what DuckDB counts. */
const OWN_MIB = 192;

/** How a file is opened for a job. */
export function toDuckDbOptions(path: string, { memoryMiB }: ReaderLimits) {
  return { path, memoryMiB: Math.max(64, memoryMiB - OWN_MIB), threads: THREADS };
}

/** Opens a DuckDB file to read. */
export async function openDuckDbReader(path: string, limits: ReaderLimits, signal: AbortSignal): Promise<Reader> {
  const database = await openDuckDb(toDuckDbOptions(path, limits), signal);
  return {
    readRows: (sql, limits) => database.readRows(sql, limits),
    async explain(sql) {
      const { text, verb } = readingStatement(sql, "duckdb");
      const { rows } = await database.readRows(verb === "EXPLAIN" ? text : `EXPLAIN ${text}`, {
        maxRows: 100,
        maxBytes: 1 << 20,
      });
      return rows.map((row) => String(row.at(-1))).join("\n");
    },
    tables: () => told(() => readTables(database)),
    all: (sql) => told(() => database.all(sql)),
    close: async () => database[Symbol.dispose](),
  };
}

type Row = readonly Cell[];

async function readTables(database: DuckDb): Promise<NamedTable[]> {
  const columns = await database.all(
    `SELECT schema_name, table_name, column_name, data_type, is_nullable, column_default, comment
     FROM duckdb_columns() WHERE database_name = current_database() AND NOT internal ORDER BY table_name, column_index`,
  );
  const constraints = await database.all(
    `SELECT schema_name, table_name, constraint_type, constraint_column_names, referenced_table,
       referenced_column_names FROM duckdb_constraints() WHERE database_name = current_database()`,
  );
  const indexes = await database.all(
    `SELECT schema_name, table_name, index_name, expressions, is_unique FROM duckdb_indexes()
     WHERE database_name = current_database() ORDER BY index_name`,
  );
  const listed = await database.all(
    `SELECT schema_name, table_name, 'table', sql, comment FROM duckdb_tables()
     WHERE database_name = current_database() AND NOT internal
     UNION ALL SELECT schema_name, view_name, 'view', sql, comment FROM duckdb_views()
     WHERE database_name = current_database() AND NOT internal ORDER BY 1, 2`,
  );
  return listed.map(([schema, table, kind, ddl, comment]) => {
    const own = ([itsSchema, itsTable]: Row) => itsSchema === schema && itsTable === table;
    const keys = constraints.filter(own);
    const primaryKey = keys.filter(([, , type]) => type === "PRIMARY KEY").flatMap(([, , , names]) => toNames(names));
    const inMain = schema === "main";
    return {
      name: inMain ? String(table) : `${String(schema)}.${String(table)}`,
      reference: inMain ? quoteName(String(table)) : `${quoteName(String(schema))}.${quoteName(String(table))}`,
      schema: {
        kind: kind === "view" ? "view" : "table",
        columns: columns.filter(own).map((row) => toColumn(row, primaryKey)),
        primary_key: primaryKey,
        foreign_keys: keys.filter(([, , type]) => type === "FOREIGN KEY").flatMap(toForeignKeys),
        indexes: indexes.filter(own).map(toIndex),
        ddl: typeof ddl === "string" ? ddl : null,
        ...(typeof comment === "string" && { comment }),
        row_count: null,
      },
    };
  });
}

function toColumn([, , name, type, nullable, defaultValue, comment]: Row, primaryKey: readonly string[]): ColumnSchema {
  return {
    name: String(name),
    type: String(type),
    pk: primaryKey.includes(String(name)),
    nullable: nullable === true,
    default: typeof defaultValue === "string" ? defaultValue : null,
    ...(typeof comment === "string" && { comment }),
  };
}

function toForeignKeys([, , , names, table, others]: Row): ForeignKey[] {
  return toNames(names).map((name, index) => ({
    to_table: String(table),
    from_col: name,
    to_col: toNames(others)[index] ?? "",
  }));
}

function toIndex([, , name, expressions, unique]: Row): IndexSchema {
  // DuckDB shows the columns as the text of a list: `[a, '"b c"']`.
  const columns = String(expressions)
    .replace(/^\[|\]$/g, "")
    .split(", ");
  return {
    name: String(name),
    columns: columns.map((column) => column.replace(/^'(.*)'$/, "$1").replace(/^"(.*)"$/, "$1")),
    unique: unique === true,
  };
}

function toNames(cell: Cell | undefined): string[] {
  return Array.isArray(cell) ? cell.map(String) : [];
}
