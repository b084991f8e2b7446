import { PerformanceObserver } from "node:perf_hooks";
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";

/** Up to here V8's space for new objects grows as it likes: both of its halves together. */
const MAX_BYTES = 32 * 1_048_576;

/**
 * Keeps V8's space for new objects from growing beyond 32 MiB, to what it did before Node 24 (`--max-semi-space-size=16`).
 *
 * By itself it grows to 128 MiB under load and stays there. With thousands of requests waiting, one collection of it stops every
 * call for 20 to 70 ms; with this bound for 10, at no cost per call (`bench/fairness.ts`, `bench/overload.ts`). The size can only be
 * set by a flag of Node's, which nobody gives to a program that they installed; the factor of its growth is read at each growth.
 */
export function boundYoungSpace(): void {
  // Who gave a flag has chosen.
  const given = [...process.execArgv, process.env["NODE_OPTIONS"] ?? ""].join(" ");
  if (/semi[-_]space/.test(given)) return;
  let growing = true;
  const observer = new PerformanceObserver(() => {
    const mayGrow = youngBytes() < MAX_BYTES;
    if (mayGrow === growing) return;
    growing = mayGrow;
    setFlagsFromString(`--semi-space-growth-factor=${growing ? 2 : 1}`);
  });
  observer.observe({ entryTypes: ["gc"] });
}

function youngBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name: name }) => name === "new_space")?.space_size ?? 0;
}
