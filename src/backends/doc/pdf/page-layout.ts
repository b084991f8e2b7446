/** A run of text on a page, in PDF's own space: y grows upwards. */
export interface TextRun {
  readonly text: string;
  readonly x: number;
  /** Of the baseline. */
  readonly y: number;
  readonly width: number;
  readonly fontSize: number;
  /** Whether a line ends with it. */
  readonly endsLine: boolean;
}

/** A stretch of a row without a wide gap in it. */
export interface Cell {
  readonly text: string;
  readonly left: number;
  readonly right: number;
}

/** What stands on one baseline. */
export interface Row {
  readonly y: number;
  readonly fontSize: number;
  /** From left to right. */
  readonly cells: readonly Cell[];
  /** Its runs, by their places among those of the page. */
  readonly runs: readonly number[];
}

/** Baselines that are as near to one another as this, in font sizes, are one. */
const SAME_LINE = 0.3;
/** A gap as wide as this, in font sizes, parts cells: spaces between words are narrower, in justified text, too. */
const CELL_GAP = 1.2;
/** A gap as wide as this is a space though nobody wrote one. */
const WORD_GAP = 0.15;

/** Puts the runs of a page into rows from top to bottom, and each row's into cells. */
export function toRows(runs: readonly TextRun[]): Row[] {
  const placed = runs
    .map((run, index) => ({ ...run, index }))
    .filter(({ text, x, y, width, fontSize }) => text.trim() !== "" && fontSize > 0 && Number.isFinite(x + y + width))
    .toSorted((left, right) => right.y - left.y || left.x - right.x);
  const rows: (typeof placed)[] = [];
  for (const run of placed) {
    const row = rows.at(-1);
    const first = row?.[0];
    if (
      row !== undefined &&
      first !== undefined &&
      first.y - run.y <= SAME_LINE * Math.min(first.fontSize, run.fontSize)
    )
      row.push(run);
    else rows.push([run]);
  }
  return rows.map((row) => ({
    y: row[0]?.y ?? 0,
    fontSize: Math.max(...row.map(({ fontSize }) => fontSize)),
    cells: toCells(row.toSorted((left, right) => left.x - right.x)),
    runs: row.map(({ index }) => index),
  }));
}

function toCells(row: readonly TextRun[]): Cell[] {
  const cells: Cell[] = [];
  for (const { text, x, width, fontSize } of row) {
    const cell = cells.at(-1);
    const gap = cell === undefined ? Infinity : x - cell.right;
    const right = x + Math.max(0, width);
    if (cell === undefined || gap > CELL_GAP * fontSize) cells.push({ text: text.trim(), left: x, right });
    else {
      const space = gap > WORD_GAP * fontSize || /^\s/.test(text) ? " " : "";
      cells[cells.length - 1] = {
        ...cell,
        text: `${cell.text}${space}${text.trim()}`,
        right: Math.max(cell.right, right),
      };
    }
  }
  return cells;
}
