import type { Cell } from "../../../query/cell.ts";
import { quoteName, quoteText } from "../../../query/sql/quote.ts";
import type { ColumnSchema, ForeignKey, IndexSchema, NamedTable } from "./reader.ts";

type Ask = (sql: string) => readonly (readonly Cell[])[];

/** Reads the tables and views of an SQLite database; what virtual tables keep for themselves is left out. */
export function readSqliteTables(ask: Ask): NamedTable[] {
  const listed = ask(
    `SELECT l.name, l.type, m.sql FROM pragma_table_list AS l
     LEFT JOIN sqlite_schema AS m ON m.name = l.name AND m.type IN ('table', 'view')
     WHERE l.schema = 'main' AND l.type IN ('table', 'view', 'virtual') AND l.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
     ORDER BY l.name`,
  );
  return listed.map(([nameCell, type, ddl]) => {
    const name = String(nameCell);
    const { columns, primaryKey } = readColumns(ask, name);
    return {
      name,
      reference: quoteName(name),
      schema: {
        kind: type === "view" ? "view" : "table",
        columns,
        primary_key: primaryKey,
        foreign_keys: readForeignKeys(ask, name),
        indexes: readIndexes(ask, name),
        ddl: typeof ddl === "string" ? ddl : null,
        row_count: null,
      },
    };
  });
}

function readColumns(ask: Ask, table: string) {
  const rows = askColumns(ask, table).filter(([, , , , , hidden]) => hidden !== 1);
  const columns: ColumnSchema[] = rows.map(([name, type, notNull, defaultValue, pk]) => ({
    name: String(name),
    type: String(type),
    pk: Number(pk) > 0,
    nullable: notNull === 0,
    default: defaultValue === null || defaultValue === undefined ? null : String(defaultValue),
  }));
  const primaryKey = rows
    .filter(([, , , , pk]) => Number(pk) > 0)
    .toSorted((left, right) => Number(left[4]) - Number(right[4]))
    .map(([name]) => String(name));
  return { columns, primaryKey };
}

/** A view of what is gone has no columns; that costs no other table its own. */
function askColumns(ask: Ask, table: string) {
  try {
    return ask(
      `SELECT name, type, "notnull", dflt_value, pk, hidden FROM pragma_table_xinfo(${quoteText(table)}) ORDER BY cid`,
    );
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "SQLITE_ERROR") return [];
    throw error;
  }
}

function readForeignKeys(ask: Ask, table: string): ForeignKey[] {
  const rows = ask(
    `SELECT "table", "from", "to", seq FROM pragma_foreign_key_list(${quoteText(table)}) ORDER BY id, seq`,
  );
  return rows.map(([toTable, from, to, position]) => ({
    to_table: String(toTable),
    from_col: String(from),
    // A key that names no columns means the other table's primary key.
    to_col: typeof to === "string" ? to : (primaryKeyOf(ask, String(toTable))[Number(position)] ?? "rowid"),
  }));
}

function primaryKeyOf(ask: Ask, table: string): string[] {
  return ask(`SELECT name FROM pragma_table_info(${quoteText(table)}) WHERE pk > 0 ORDER BY pk`).map(([name]) =>
    String(name),
  );
}

function readIndexes(ask: Ask, table: string): IndexSchema[] {
  return ask(`SELECT name, "unique" FROM pragma_index_list(${quoteText(table)}) ORDER BY name`).map(
    ([name, unique]) => ({
      name: String(name),
      columns: ask(`SELECT name FROM pragma_index_info(${quoteText(String(name))}) ORDER BY seqno`).map(([column]) =>
        column === null ? "(expression)" : String(column),
      ),
      unique: unique === 1,
    }),
  );
}
