import { percentile } from "./load.ts";

/** A row of a benchmark's table. */
export type Row = Record<string, string | number>;

/** How long some work takes, in milliseconds. */
export async function time(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

/** How long each of some works takes that are done one after another, in milliseconds. */
export async function times(count: number, work: (index: number) => Promise<unknown>): Promise<number[]> {
  const values: number[] = [];
  for (let index = 0; index < count; index += 1) values.push(await time(() => work(index)));
  return values;
}

/** @param baseline what the ratio is to; its own p50 by default */
export function toRow(work: string, values: readonly number[], { baseline = values, digits = 2 } = {}): Row {
  const p50 = percentile(values, 50);
  return {
    work,
    "p50 ms": p50.toFixed(1),
    "p99 ms": percentile(values, 99).toFixed(1),
    ratio: (p50 / percentile(baseline, 50)).toFixed(digits),
  };
}
