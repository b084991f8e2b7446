import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { estimateMean, scoreRanking } from "../../../src/backends/rag/eval/metrics.ts";

describe("the scores of a ranking", () => {
  it("are those of the textbook", () => {
    // Relevant documents at the ranks 1, 3 and 5, and one that was not found.
    const grades = new Map([
      ["a", 3],
      ["b", 1],
      ["c", 2],
      ["missed", 1],
    ]);
    const scores = scoreRanking(["a", "x", "b", "y", "c"], grades);
    expect(scores.averagePrecision).toBeCloseTo((1 / 1 + 2 / 3 + 3 / 5) / 4, 12);
    expect(scores).toMatchObject({ precision10: 0.3, precision30: 0.1, recall100: 0.75, reciprocalRank: 1 });
    const gain = 3 / Math.log2(2) + 1 / Math.log2(4) + 2 / Math.log2(6);
    const ideal = 3 / Math.log2(2) + 2 / Math.log2(3) + 1 / Math.log2(4) + 1 / Math.log2(5);
    expect(scores.ndcg10).toBeCloseTo(gain / ideal, 12);
  });

  it("look no further than their depth, and count a first hit wherever it is", () => {
    const ranking = Array.from({ length: 200 }, (_, index) => `d${index + 1}`);
    const at = (...ranks: number[]) => new Map(ranks.map((rank) => [`d${rank}`, 1]));
    expect(scoreRanking(ranking, at(10))).toMatchObject({ precision10: 0.1, recall100: 1, reciprocalRank: 0.1 });
    expect(scoreRanking(ranking, at(11))).toMatchObject({ precision10: 0, ndcg10: 0, precision30: 1 / 30 });
    expect(scoreRanking(ranking, at(100))).toMatchObject({ recall100: 1 });
    expect(scoreRanking(ranking, at(101))).toMatchObject({ recall100: 0, averagePrecision: 1 / 101 });
    expect(scoreRanking([], at(1))).toMatchObject({ averagePrecision: 0, reciprocalRank: 0, ndcg10: 0 });
  });

  it("lie between 0 and 1, and are 1 where all that is relevant comes first", () => {
    const names = fc.uniqueArray(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(names, fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 10 }), (ids, given) => {
        const grades = new Map(ids.slice(0, given.length).map((id, index) => [id, given[index] ?? 1]));
        for (const value of Object.values(scoreRanking(ids.toReversed(), grades))) {
          expect(value).toBeGreaterThanOrEqual(0);
          expect(value).toBeLessThanOrEqual(1 + 1e-12);
        }
        const best = [...grades.keys()].toSorted((a, b) => (grades.get(b) ?? 0) - (grades.get(a) ?? 0));
        const scores = scoreRanking(best, grades);
        for (const key of ["averagePrecision", "ndcg10", "recall100", "reciprocalRank"] as const)
          expect(scores[key]).toBeCloseTo(1, 12);
      }),
    );
  });
});

describe("the bounds of a mean", () => {
  it("hold what resampling gives, and the same each time", () => {
    const values = Array.from({ length: 100 }, (_, index) => index / 99);
    const estimate = estimateMean(values);
    expect(estimate.mean).toBeCloseTo(0.5, 12);
    // The standard error of 100 evenly spread values is .0294, so that 95 of 100 lie within .0577.
    expect(estimate.low).toBeCloseTo(0.5 - 0.0577, 2);
    expect(estimate.high).toBeCloseTo(0.5 + 0.0577, 2);
    expect(estimateMean(values)).toEqual(estimate);
    expect(estimateMean([0.3, 0.3])).toMatchObject({ low: 0.3, high: 0.3 });
    expect(estimateMean([])).toEqual({ mean: 0, low: 0, high: 0 });
  });
});
