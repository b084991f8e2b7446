/** Prints rows as a Markdown table, ready for docs/benchmarks.md. */
export function printTable(title: string, rows: readonly Readonly<Record<string, string | number>>[]): void {
  const columns = Object.keys(rows[0] ?? {});
  const width = (column: string) => Math.max(column.length, ...rows.map((row) => String(row[column]).length));
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  console.log(`\n### ${title}\n`);
  console.log(line(columns.map((column) => column.padEnd(width(column)))));
  console.log(line(columns.map((column) => "-".repeat(width(column)))));
  for (const row of rows) console.log(line(columns.map((column) => String(row[column]).padEnd(width(column)))));
}
