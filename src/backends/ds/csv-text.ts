import type { Cell } from "../../query/cell.ts";

/** Writes rows as CSV; an empty cell is a null. */
export function toCsv(columns: readonly string[], rows: readonly (readonly Cell[])[]): string {
  return [columns, ...rows].map((row) => row.map(toField).join(",")).join("\n");
}

function toField(cell: Cell): string {
  if (cell === null) return "";
  const text = typeof cell === "object" ? JSON.stringify(cell) : String(cell);
  return /[",\n\r]/.test(text) || text === "" ? `"${text.replaceAll('"', '""')}"` : text;
}
