import type { PageTable } from "./find-tables.ts";
import { type TextRun, toRows } from "./page-layout.ts";
import type { Ruling } from "./path-lines.ts";

/** Lines as near as this are one, and touch: borders are drawn twice, and cells apart. */
const NEAR = 4;
/** A page of more lines is a drawing. */
const MAX_LINES = 4_000;
/** A grid with fewer of its cells filled is a chart's. */
const LEAST_FILLED = 0.4;

/** Finds tables by the lines around their cells. */
export function findRuledTables(runs: readonly TextRun[], rulings: readonly Ruling[]): PageTable[] {
  if (rulings.length > MAX_LINES) return [];
  return groupTouching(rulings).flatMap((group) => toTable(runs, group) ?? []);
}

/** Puts lines together that touch one another, directly or by others. */
function groupTouching(rulings: readonly Ruling[]): Ruling[][] {
  const left = new Set(rulings);
  const groups: Ruling[][] = [];
  for (const first of rulings) {
    if (!left.delete(first)) continue;
    const group = [first];
    // It grows while it is gone through.
    for (const line of group) {
      for (const other of left) {
        if (!touch(line, other)) continue;
        left.delete(other);
        group.push(other);
      }
    }
    groups.push(group);
  }
  return groups;
}

function touch(line: Ruling, other: Ruling): boolean {
  if (line.direction === other.direction) {
    return Math.abs(line.at - other.at) <= NEAR && line.from <= other.to + NEAR && other.from <= line.to + NEAR;
  }
  const crosses = (one: Ruling, at: number) => at >= one.from - NEAR && at <= one.to + NEAR;
  return crosses(line, other.at) && crosses(other, line.at);
}

function toTable(runs: readonly TextRun[], group: readonly Ruling[]): PageTable | undefined {
  const edges = (direction: Ruling["direction"]) =>
    merge(group.filter((line) => line.direction === direction).map(({ at }) => at));
  const [lefts, bottoms] = [edges("down"), edges("across")];
  const [columns, height] = [lefts.length - 1, bottoms.length - 1];
  if (columns < 2 || height < 2) return undefined;
  const cells = Array.from({ length: height }, () => Array.from({ length: columns }, (): TextRun[] => []));
  const inside: number[] = [];
  for (const [index, run] of runs.entries()) {
    // Where it begins, a little inside of it: what spans several columns is of the first.
    const column = intervalOf(lefts, run.x + Math.min(run.width, run.fontSize) / 2);
    const row = intervalOf(bottoms, run.y + run.fontSize / 4);
    const cell = cells[height - 1 - row]?.[column];
    if (cell === undefined) continue;
    cell.push(run);
    inside.push(index);
  }
  const rows = cells
    .map((row) => row.map(toText))
    // Two lines between rows have nothing between them.
    .filter((row) => row.some((text) => text !== ""));
  const filled = rows.flat().filter((text) => text !== "").length;
  if (rows.length < 2 || filled < 3 || filled < LEAST_FILLED * rows.length * columns) return undefined;
  return { rows, runs: inside };
}

function toText(runs: readonly TextRun[]): string {
  return toRows(runs)
    .map(({ cells }) => cells.map(({ text }) => text).join(" "))
    .join(" ");
}

/** In order, those that are near one another as one. */
function merge(positions: readonly number[]): number[] {
  const merged: number[] = [];
  for (const at of positions.toSorted((left, right) => left - right)) {
    if (at - (merged.at(-1) ?? -Infinity) > NEAR) merged.push(at);
  }
  return merged;
}

/** Between which two of the edges a place is; -1 for none. */
function intervalOf(edges: readonly number[], at: number): number {
  const index = edges.findLastIndex((edge) => edge <= at);
  return index < edges.length - 1 ? index : -1;
}
