import type { Cell } from "../../../query/cell.ts";
import { quoteName } from "../../../query/sql/quote.ts";
import type { ColumnSchema, ForeignKey, IndexSchema, NamedTable } from "./reader.ts";

type Ask = (sql: string) => Promise<Cell[][]>;

const OTHERS = `n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_%'`;

/** Reads the tables and views that the role may read. */
export async function readPostgresTables(ask: Ask): Promise<NamedTable[]> {
  const listed = await ask(
    `SELECT c.oid, n.nspname, c.relname, c.relkind, obj_description(c.oid, 'pg_class'),
       CASE WHEN c.relkind IN ('v', 'm') THEN pg_get_viewdef(c.oid, true) END
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND ${OTHERS} AND has_schema_privilege(n.oid, 'USAGE')
       AND has_any_column_privilege(c.oid, 'SELECT') AND NOT c.relispartition ORDER BY n.nspname, c.relname`,
  );
  const columns = await ask(
    `SELECT a.attrelid, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, pg_get_expr(d.adbin, d.adrelid),
       col_description(a.attrelid, a.attnum)
     FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
     LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
     WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND ${OTHERS} ORDER BY a.attrelid, a.attnum`,
  );
  const keys = await ask(
    `SELECT k.conrelid, k.contype, a.attname, f.relname, b.attname FROM pg_constraint k
     CROSS JOIN LATERAL unnest(k.conkey, k.confkey) WITH ORDINALITY AS u (own, other, position)
     JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = u.own
     LEFT JOIN pg_class f ON f.oid = k.confrelid LEFT JOIN pg_attribute b ON b.attrelid = k.confrelid AND b.attnum = u.other
     WHERE k.contype IN ('p', 'f') ORDER BY k.conname, u.position`,
  );
  const indexes = await ask(
    `SELECT i.indrelid, c.relname, i.indisunique, pg_get_indexdef(i.indexrelid, s.position, true) FROM pg_index i
     JOIN pg_class c ON c.oid = i.indexrelid CROSS JOIN LATERAL generate_series(1, i.indnkeyatts) AS s (position)
     ORDER BY c.relname, s.position`,
  );
  return listed.map((row) => toTable(row, { columns, keys, indexes }));
}

interface Facts {
  readonly columns: readonly Cell[][];
  readonly keys: readonly Cell[][];
  readonly indexes: readonly Cell[][];
}

function toTable([id, schema, table, kind, comment, view]: readonly Cell[], facts: Facts): NamedTable {
  const own = ([owner]: readonly Cell[]) => owner === id;
  const keys = facts.keys.filter(own);
  const primaryKey = keys.filter(([, type]) => type === "p").map(([, , name]) => String(name));
  const inPublic = schema === "public";
  return {
    name: inPublic ? String(table) : `${String(schema)}.${String(table)}`,
    reference: `${quoteName(String(schema))}.${quoteName(String(table))}`,
    schema: {
      kind: kind === "v" || kind === "m" ? "view" : "table",
      columns: facts.columns.filter(own).map((row) => toColumn(row, primaryKey)),
      primary_key: primaryKey,
      foreign_keys: keys.filter(([, type]) => type === "f").map(toForeignKey),
      indexes: toIndexes(facts.indexes.filter(own)),
      ddl: typeof view === "string" ? view : null,
      ...(typeof comment === "string" && { comment }),
      row_count: null,
    },
  };
}

function toColumn(
  [, name, type, notNull, value, comment]: readonly Cell[],
  primaryKey: readonly string[],
): ColumnSchema {
  return {
    name: String(name),
    type: String(type),
    pk: primaryKey.includes(String(name)),
    nullable: notNull !== "t",
    default: typeof value === "string" ? value : null,
    ...(typeof comment === "string" && { comment }),
  };
}

function toForeignKey([, , name, table, other]: readonly Cell[]): ForeignKey {
  return { to_table: String(table), from_col: String(name), to_col: String(other) };
}

function toIndexes(rows: readonly (readonly Cell[])[]): IndexSchema[] {
  const byName = Map.groupBy(rows, ([, name]) => String(name));
  return [...byName].map(([name, parts]) => ({
    name,
    columns: parts.map(([, , , column]) =>
      String(column).replace(/^"(.*)"$/s, (_, inner) => inner.replaceAll('""', '"')),
    ),
    unique: parts[0]?.[2] === "t",
  }));
}
