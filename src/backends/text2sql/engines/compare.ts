import type { Cell } from "../../../query/cell.ts";

/** Whether two results are equal, by three measures; each implies the one before. */
export interface Comparison {
  /** As BIRD and bird_sql measure it: the same rows, whatever their order and however often. */
  readonly set: boolean;
  /** The same rows equally often, in any order. */
  readonly multiset: boolean;
  /** The same rows in the same order. */
  readonly ordered: boolean;
}

type Rows = readonly (readonly Cell[])[];

/** Compares results by values: the names of columns do not matter, their order does. */
export function compareRows(left: Rows, right: Rows, significantDigits?: number): Comparison {
  const leftKeys = left.map((row) => toKey(row, significantDigits));
  const rightKeys = right.map((row) => toKey(row, significantDigits));
  const leftSet = new Set(leftKeys);
  const rightSet = new Set(rightKeys);
  const set = leftSet.size === rightSet.size && [...leftSet].every((key) => rightSet.has(key));
  const equal = (one: readonly string[], other: readonly string[]) =>
    one.length === other.length && one.every((key, index) => key === other[index]);
  return {
    set,
    multiset: set && equal(leftKeys.toSorted(), rightKeys.toSorted()),
    ordered: set && equal(leftKeys, rightKeys),
  };
}

/** Values that Python, whose equality BIRD uses, holds equal have one key: 1, 1.0 and true. */
function toKey(row: readonly Cell[], digits: number | undefined): string {
  return JSON.stringify(row.map((cell) => toComparable(cell, digits)));
}

function toComparable(cell: Cell, digits: number | undefined): unknown {
  if (typeof cell === "boolean") return Number(cell);
  if (typeof cell === "number") {
    const rounded = digits === undefined ? cell : Number(cell.toPrecision(digits));
    return rounded === 0 ? 0 : rounded;
  }
  return cell;
}
