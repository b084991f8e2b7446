/** What was learned of an index: a direction for each term. */
export interface SemanticModel {
  readonly model: number;
  readonly rank: number;
  /** How many chunks there were when it was learned. */
  readonly chunks: number;
  readonly terms: ReadonlyMap<string, number>;
  /** How much each term tells, by its number. */
  readonly weights: Float32Array;
  /** `rank` numbers per term. */
  readonly basis: Float32Array;
}

/** The vector of a query's weighted terms; `undefined` when the model knows none of them. */
export function foldQuery(
  query: ReadonlyMap<string, number>,
  { rank, terms, weights, basis }: SemanticModel,
): Float32Array | undefined {
  const vector = new Float32Array(rank);
  for (const [term, count] of query) {
    const number = terms.get(term);
    if (number === undefined) continue;
    const weight = count * (weights[number] ?? 0);
    for (let at = 0; at < rank; at++) vector[at] = (vector[at] ?? 0) + weight * (basis[number * rank + at] ?? 0);
  }
  return normalize(vector) ? vector : undefined;
}

/** What so many occurrences of a term count. */
export function dampen(frequency: number): number {
  return frequency === 1 ? 1 : 1 + Math.log(frequency);
}

/** Brings a vector to length 1; answers whether it had any length. */
export function normalize(vector: Float32Array): boolean {
  let sum = 0;
  for (const value of vector) sum += value * value;
  if (sum < 1e-20) return false;
  const scale = 1 / Math.sqrt(sum);
  for (let at = 0; at < vector.length; at++) vector[at] = (vector[at] ?? 0) * scale;
  return true;
}
