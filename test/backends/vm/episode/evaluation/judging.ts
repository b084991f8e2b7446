import type { Found } from "../../../../../src/backends/vm/episode/evaluation/found.ts";
import { type Judged, judge } from "../../../../../src/backends/vm/episode/evaluation/judge.ts";
import type { MetricName } from "../../../../../src/backends/vm/episode/evaluation/metric-table.ts";

export const json = (value: unknown): Found => ({ kind: "json", value });
export const file = (name: string, content: string | Uint8Array): Found => ({
  kind: "file",
  name,
  bytes: typeof content === "string" ? Buffer.from(content) : content,
});
export const missing: Found = { kind: "missing", reason: "there is nothing at /x" };

/** Judges plain values in this thread. */
export function score(func: MetricName, result: Found, expected?: Found, options: Record<string, unknown> = {}) {
  return judge({ func, result, expected, options });
}

export const passed: Judged = { kind: "score", score: 1, reason: null };
