import type { Cell, Row } from "./page-layout.ts";

/** A table that was found on a page. */
export interface PageTable {
  /** Its rows of text, each with as many cells. */
  readonly rows: readonly (readonly string[])[];
  /** The runs that it is made of, by their places among those of the page. */
  readonly runs: readonly number[];
}

interface Column {
  left: number;
  right: number;
}

/** Rows that are further apart than this, in font sizes, are of different tables. */
const MAX_ROW_GAP = 4;
/** A line that follows after less than this share of the usual distance goes on in the cells above it. */
const WRAPPED = 0.85;
/** Columns as full as this of lines as long as this are columns of prose. */
const PROSE_FILL = 0.75;
const PROSE_CHARACTERS = 30;
const LEADER = /(?:\. ?){6}/;

/**
 * Finds tables by what stands below one another: a PDF says where text stands and not what it is. What has no columns with a
 * gap between them is not found, and text in columns of prose is not taken for a table.
 */
export function findTables(rows: readonly Row[]): PageTable[] {
  const tables: PageTable[] = [];
  for (let at = 0; at < rows.length; ) {
    const block = blockFrom(rows, at);
    const table = block.length > 1 ? toTable(block) : undefined;
    if (table !== undefined) tables.push(table);
    at += table === undefined ? 1 : block.length;
  }
  return tables;
}

/** The rows from a place on that could be of one table: those of several cells, and single ones below such. */
function blockFrom(rows: readonly Row[], start: number): Row[] {
  const block: Row[] = [];
  for (const row of rows.slice(start)) {
    const above = block.at(-1);
    if (above === undefined && row.cells.length < 2) break;
    if (above !== undefined && above.y - row.y > MAX_ROW_GAP * Math.max(above.fontSize, row.fontSize)) break;
    if (row.cells.length < 2 && !isBelowOneColumn(row, block)) break;
    block.push(row);
  }
  while ((block.at(-1)?.cells.length ?? 2) < 2 && !isWrapped(block, block.length - 1)) block.pop();
  return block;
}

/** Whether a row of one cell stands below a single cell of the rows above, as the rest of it, or with others left empty. */
function isBelowOneColumn({ cells: [cell] }: Row, above: readonly Row[]): boolean {
  if (cell === undefined) return false;
  const columns = toColumns(above);
  const touched = columns.filter((column) => column.left < cell.right && cell.left < column.right);
  return columns.length > 1 && touched.length === 1;
}

/** Whether a row goes on in the cells of the row above it: it is nearer to it than rows are to one another. */
function isWrapped(block: readonly Row[], index: number): boolean {
  const [row, above] = [block[index], block[index - 1]];
  if (row === undefined || above === undefined || row.cells.length >= block.reduce(widest, 0)) return false;
  const gaps = block
    .map(({ y, cells }, at) => (at > 0 && cells.length > 1 ? (block[at - 1]?.y ?? y) - y : 0))
    .filter((gap) => gap > 0)
    .toSorted((left, right) => left - right);
  const usual = gaps[Math.floor(gaps.length / 2)] ?? 0;
  return above.y - row.y < WRAPPED * usual;
}

function widest(most: number, { cells }: Row): number {
  return Math.max(most, cells.length);
}

function toTable(block: readonly Row[]): PageTable | undefined {
  const columns = toColumns(block.filter(({ cells }) => cells.length > 1));
  const rows: string[][] = [];
  for (const [index, row] of block.entries()) {
    const texts = columns.map((column) =>
      row.cells
        .filter((cell) => isIn(cell, column))
        .map(({ text }) => text)
        .join(" "),
    );
    const above = rows.at(-1);
    if (above !== undefined && isWrapped(block, index)) {
      for (const [at, text] of texts.entries()) above[at] = [above[at] ?? "", text].filter(Boolean).join(" ");
    } else rows.push(texts);
  }
  if (!looksLikeTable(block, columns, rows)) return undefined;
  return { rows, runs: block.flatMap(({ runs }) => runs) };
}

/** Where cells of several rows overlap they are of one column. */
function toColumns(rows: readonly Row[]): Column[] {
  const cells = rows.flatMap((row) => row.cells).toSorted((left, right) => left.left - right.left);
  const columns: Column[] = [];
  for (const { left, right } of cells) {
    const column = columns.at(-1);
    if (column !== undefined && left < column.right) column.right = Math.max(column.right, right);
    else columns.push({ left, right });
  }
  return columns;
}

function isIn({ left, right }: Cell, column: Column): boolean {
  const middle = (left + right) / 2;
  return middle >= column.left && middle <= column.right;
}

function looksLikeTable(
  block: readonly Row[],
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
): boolean {
  const most = block.reduce(widest, 0);
  // Below the head of a page, and in a list of contents or an index, there are rows of several cells, too.
  const single = block.filter(({ cells }) => cells.length < 2).length;
  if (single * 2 > block.length - single) return false;
  if (block.some(({ cells }) => cells.some(({ text }) => LEADER.test(text)))) return false;
  // Where cells of one row fall together in a column there are none that hold.
  if (columns.length < 2 || columns.length < most) return false;
  if (rows.length < 2 || (columns.length === 2 && rows.length < 3)) return false;
  // A list's marks, and lines of equations with their numbers, stand below one another, too.
  if (columns.length === 2 && rows.every(([mark = ""]) => /^(?:\P{L}{0,4}|\p{L}[.)])$/u.test(mark))) {
    return rows.every(([mark = ""]) => /^-?[\d.,%]+$/.test(mark) && !/[.)]$/.test(mark));
  }
  return !isProse(block, columns);
}

function isProse(block: readonly Row[], columns: readonly Column[]): boolean {
  const full = columns.filter((column) => {
    const cells = block.flatMap((row) => row.cells.filter((cell) => isIn(cell, column)));
    const fill = mean(cells.map(({ left, right }) => (right - left) / Math.max(1, column.right - column.left)));
    return fill > PROSE_FILL && mean(cells.map(({ text }) => text.length)) > PROSE_CHARACTERS;
  });
  return full.length * 2 > columns.length || full.length > 1;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}

/** Writes a table as Markdown. */
export function toMarkdownTable(rows: readonly (readonly string[])[]): string {
  const [head = [], ...body] = rows.map((row) =>
    row.map((text) => text.replaceAll("|", "\\|").replace(/\s+/g, " ").trim()),
  );
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...body.map(line)].join("\n");
}
