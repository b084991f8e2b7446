import { seededRandom } from "../seeded-random.ts";

/** How well one query was answered. */
export interface QueryScores {
  readonly averagePrecision: number;
  readonly precision10: number;
  readonly precision30: number;
  readonly ndcg10: number;
  readonly recall100: number;
  readonly reciprocalRank: number;
}

/** Each measure with the name that reports give it. */
export const MEASURES: readonly (readonly [keyof QueryScores, string])[] = [
  ["averagePrecision", "MAP"],
  ["precision10", "P@10"],
  ["precision30", "P@30"],
  ["ndcg10", "nDCG@10"],
  ["recall100", "Recall@100"],
  ["reciprocalRank", "MRR"],
];

/** Scores a ranking of documents, best first, by the grades above 0 that judges gave. */
export function scoreRanking(ranking: readonly string[], grades: ReadonlyMap<string, number>): QueryScores {
  let found = 0;
  let precisionSum = 0;
  let gain10 = 0;
  let reciprocalRank = 0;
  const foundAt = { 10: 0, 30: 0, 100: 0 };
  for (const [index, id] of ranking.entries()) {
    const grade = grades.get(id) ?? 0;
    if (grade <= 0) continue;
    const rank = index + 1;
    found += 1;
    precisionSum += found / rank;
    if (reciprocalRank === 0) reciprocalRank = 1 / rank;
    if (rank <= 10) {
      foundAt[10] += 1;
      gain10 += grade / Math.log2(rank + 1);
    }
    if (rank <= 30) foundAt[30] += 1;
    if (rank <= 100) foundAt[100] += 1;
  }
  const ideal = [...grades.values()]
    .toSorted((left, right) => right - left)
    .slice(0, 10)
    .reduce((sum, grade, index) => sum + grade / Math.log2(index + 2), 0);
  const relevant = Math.max(1, grades.size);
  return {
    averagePrecision: precisionSum / relevant,
    precision10: foundAt[10] / 10,
    precision30: foundAt[30] / 30,
    ndcg10: ideal === 0 ? 0 : gain10 / ideal,
    recall100: foundAt[100] / relevant,
    reciprocalRank,
  };
}

/** A mean over queries, with the bounds between which 95 of 100 resampled sets of queries have theirs. */
export interface Estimate {
  readonly mean: number;
  readonly low: number;
  readonly high: number;
}

/** Estimates a mean by the bootstrap; the same values always give the same bounds. */
export function estimateMean(values: readonly number[], resamples = 2_000): Estimate {
  const count = values.length;
  if (count === 0) return { mean: 0, low: 0, high: 0 };
  const random = seededRandom(count);
  const means = Float64Array.from({ length: resamples }, () => {
    let sum = 0;
    for (let draw = 0; draw < count; draw++) sum += values[Math.floor(random() * count)] ?? 0;
    return sum / count;
  }).sort();
  const at = (share: number): number => means[Math.min(resamples - 1, Math.floor(share * resamples))] ?? 0;
  return { mean: values.reduce((sum, value) => sum + value, 0) / count, low: at(0.025), high: at(0.975) };
}
