import { type Metric, PASSED, verdict } from "../metric.ts";

/** There is something. */
export const fileExists: Metric = {
  judge: ({ result }) => (result.kind === "missing" ? { score: 0, reason: result.reason } : PASSED),
  takesMissing: true,
  needsNothing: true,
};

/** There is nothing. */
export const fileAbsent: Metric = {
  judge: ({ result }) => verdict(result.kind === "missing", "there is something"),
  takesMissing: true,
  needsNothing: true,
};
