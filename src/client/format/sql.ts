import { isJsonObject } from "../envelope.ts";
import { formatFailure } from "./failure.ts";
import { field, lines, listField, textField, toText } from "./fields.ts";
import { formatGeneric } from "./generic.ts";
import type { ContentBlock, ToolView } from "./tool-view.ts";

/** Formats rows as a table, a schema as a listing and databases as a list. */
export function formatSql(view: ToolView): string | readonly ContentBlock[] {
  if (view.failure !== undefined) return formatFailure(view);
  const data = isJsonObject(field(view.data, "result")) ? field(view.data, "result") : view.data;
  if (Array.isArray(field(data, "rows"))) return formatRows(data);
  if (Array.isArray(field(data, "databases"))) return formatDatabases(data);
  const tables = field(data, "tables") ?? field(data, "schema");
  if (Array.isArray(tables)) return tables.map(formatTable).join("\n\n");
  if (isJsonObject(tables))
    return Object.entries(tables)
      .map(([name, table]) => formatTable(table, name))
      .join("\n\n");
  return formatGeneric(view);
}

function formatRows(data: unknown): string {
  const columns = listField(data, "columns").map(nameOf);
  const rows = listField(data, "rows");
  const count = field(data, "row_count") ?? rows.length;
  const truncated = field(data, "truncated") === true ? ` (truncated, showing ${rows.length})` : "";
  return lines(
    columns.join(" | "),
    columns.length > 0 && columns.map((name) => "-".repeat(Math.max(name.length, 3))).join(" | "),
    ...rows.map((row) => toCells(row, columns).map(formatCell).join(" | ")),
    `Rows returned: ${toText(count)}${truncated}`,
  );
}

function toCells(row: unknown, columns: readonly string[]): readonly unknown[] {
  if (Array.isArray(row)) return row;
  return isJsonObject(row) ? columns.map((name) => row[name]) : [row];
}

function formatCell(cell: unknown): string {
  if (cell === null || cell === undefined) return "NULL";
  return typeof cell === "object" ? JSON.stringify(cell) : String(cell);
}

function formatDatabases(data: unknown): string {
  const names = listField(data, "databases").map(nameOf);
  return names.length === 0 ? "[No databases]" : lines("Databases:", ...names.map((name) => `- ${name}`));
}

function formatTable(table: unknown, givenName: string | number): string {
  const name = textField(table, "name") || textField(table, "table") || String(givenName);
  const foreignKeys = listField(table, "foreign_keys").map((key) => `  FK ${formatForeignKey(key)}`);
  const columns = Array.isArray(table) ? table : listField(table, "columns");
  return lines(`Table ${name}`, ...columns.map((column) => `  ${formatColumn(column)}`), ...foreignKeys);
}

function formatColumn(column: unknown): string {
  const isKey = field(column, "pk") === true || field(column, "pk") === 1 || field(column, "primary_key") === true;
  return `${nameOf(column)} ${textField(column, "type")}${isKey ? " (PK)" : ""}`.trim();
}

function formatForeignKey(key: unknown): string {
  if (!isJsonObject(key)) return toText(key);
  const column = textField(key, "column") || textField(key, "from_col") || textField(key, "from");
  const table =
    ["to_table", "table", "ref_table", "references"].map((name) => textField(key, name)).find(Boolean) ?? "";
  const target = textField(key, "to_col") || textField(key, "ref_column") || textField(key, "to");
  return target === "" ? `${column} -> ${table}` : `${column} -> ${table}.${target}`;
}

function nameOf(value: unknown): string {
  return textField(value, "name") || textField(value, "db_id") || toText(value);
}
