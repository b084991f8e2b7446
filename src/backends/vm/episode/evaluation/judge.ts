import { describeError, ToolyardError } from "../../../../core/errors.ts";
import { EvaluatorMistake, type Found, UnreadableResult } from "./found.ts";
import type { Judgement, Metric } from "./metric.ts";
import { METRICS, type MetricName } from "./metric-table.ts";

/** One thing to judge; crosses threads. */
export interface Check {
  readonly func: MetricName;
  readonly result: Found;
  readonly expected: Found | undefined;
  readonly options: Readonly<Record<string, unknown>>;
}

/** What judging it came to; crosses threads. */
export type Judged =
  | { readonly kind: "score"; readonly score: number; readonly reason: string | null }
  | { readonly kind: "mistake"; readonly message: string }
  /** Ours: `message` is for the log unless `known` says that callers may see it. */
  | { readonly kind: "broken"; readonly message: string; readonly known: boolean };

/** Judges by one metric; never throws. */
export async function judge({ func, ...input }: Check): Promise<Judged> {
  const metric: Metric = METRICS[func];
  if (input.result.kind === "missing" && metric.takesMissing !== true) {
    return { kind: "score", score: 0, reason: input.result.reason };
  }
  try {
    return toScore(await metric.judge(input));
  } catch (error) {
    if (error instanceof UnreadableResult) return { kind: "score", score: 0, reason: error.message };
    if (error instanceof EvaluatorMistake) return { kind: "mistake", message: error.message };
    if (error instanceof RangeError) return { kind: "mistake", message: error.message };
    if (ToolyardError.is(error)) return { kind: "broken", message: error.message, known: true };
    return { kind: "broken", message: describeError(error), known: false };
  }
}

function toScore({ score, reason }: Judgement): Judged {
  return { kind: "score", score: Math.min(1, Math.max(0, score)), reason: reason ?? null };
}
