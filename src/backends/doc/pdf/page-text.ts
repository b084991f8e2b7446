import { type TextRun, toRows } from "./page-layout.ts";
import { findTables, toMarkdownTable } from "./find-tables.ts";
import type { Ruling } from "./path-lines.ts";
import { findRuledTables } from "./ruled-tables.ts";

/** A picture's place on a page: the height of its upper edge. */
export interface PlacedFigure {
  readonly number: number;
  readonly top: number;
}

/** Writes a page's text in the order in which the PDF has it, with its tables as Markdown and its figures where they stand. */
export function writePage(
  runs: readonly TextRun[],
  figures: readonly PlacedFigure[],
  rulings: readonly Ruling[],
): string {
  const ruled = findRuledTables(runs, rulings);
  const taken = new Set(ruled.flatMap((table) => table.runs));
  const tables = [
    ...ruled,
    ...findTables(toRows(runs.map((run, index) => (taken.has(index) ? { ...run, text: "" } : run)))),
  ];
  const tableOf = new Map(tables.flatMap((table) => table.runs.map((run) => [run, table] as const)));
  const waiting = figures.toSorted((left, right) => right.top - left.top);
  const written = new Set<object>();
  let text = "";
  const block = (content: string) => {
    text = `${text.trimEnd()}${text.trim() === "" ? "" : "\n\n"}${content}\n\n`;
  };
  for (const [index, run] of runs.entries()) {
    const table = tableOf.get(index);
    const isBlank = run.text.trim() === "";
    const isLineStart = text === "" || text.endsWith("\n");
    for (; isLineStart && !isBlank && (waiting[0]?.top ?? -Infinity) > run.y; waiting.shift()) block(show(waiting[0]));
    if (table === undefined) {
      // Between the cells of a table there is white space, which goes with it.
      if (!isBlank || !isLineStart) text += `${run.text}${run.endsLine ? "\n" : ""}`;
    } else if (!written.has(table)) {
      written.add(table);
      block(toMarkdownTable(table.rows));
    }
  }
  for (const figure of waiting) block(show(figure));
  return text.trimEnd();
}

function show(figure: PlacedFigure | undefined): string {
  return figure === undefined ? "" : `![Figure ${figure.number}](figure:${figure.number})`;
}
