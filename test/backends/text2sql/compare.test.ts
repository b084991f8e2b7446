import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compareRows } from "../../../src/backends/text2sql/engines/compare.ts";
import type { Cell } from "../../../src/query/cell.ts";

const YES = { set: true, multiset: true, ordered: true };
const NO = { set: false, multiset: false, ordered: false };

describe("two results", () => {
  it("are equal as BIRD's sets of tuples are: by values, whatever their order and number", () => {
    expect(compareRows([[1], [2]], [[2], [1]])).toEqual({ set: true, multiset: true, ordered: false });
    expect(compareRows([[1], [1], [2]], [[1], [2]])).toEqual({ set: true, multiset: false, ordered: false });
    expect(compareRows([], [])).toEqual(YES);
    expect(compareRows([[null]], [])).toEqual(NO);
    expect(compareRows([[1, 2]], [[2, 1]])).toEqual(NO);
    expect(compareRows([[1]], [[1, 1]])).toEqual(NO);
  });

  it("hold equal what Python does, and keep apart what it does", () => {
    expect(compareRows([[1, true, 0]], [[1.0, 1, false]])).toEqual(YES);
    expect(compareRows([[-0]], [[0]])).toEqual(YES);
    for (const [left, right] of [
      ["1", 1],
      ["a", "A"],
      [null, 0],
      [null, ""],
      ["a ", "a"],
      [0.1 + 0.2, 0.3],
    ] as const) {
      expect(compareRows([[left]], [[right]]), `${left} ${right}`).toEqual(NO);
    }
    expect(compareRows([["a", "b"]], [['a","b']])).toEqual(NO);
  });

  it("are compared to as many digits as one asks for", () => {
    expect(compareRows([[0.1 + 0.2]], [[0.3]], 12)).toEqual(YES);
    expect(compareRows([[1.2345]], [[1.2346]], 4)).toEqual(NO);
    expect(compareRows([[1.2345]], [[1.2346]], 3)).toEqual(YES);
  });

  it("obey: order implies number, number implies set; any shuffle is equal in number", () => {
    const cell: fc.Arbitrary<Cell> = fc.oneof(
      fc.integer({ max: 3, min: 0 }),
      fc.constantFrom("a", "b"),
      fc.constant(null),
    );
    const rows = fc.array(fc.array(cell, { maxLength: 2 }), { maxLength: 5 });
    fc.assert(
      fc.property(rows, rows, (left, right) => {
        const { set, multiset, ordered } = compareRows(left, right);
        expect(ordered && !multiset).toBe(false);
        expect(multiset && !set).toBe(false);
        expect(ordered).toBe(JSON.stringify(left) === JSON.stringify(right));
        expect(compareRows(left, left.toReversed())).toMatchObject({ set: true, multiset: true });
        expect(compareRows(right, left).set).toBe(set);
      }),
    );
  });
});
