import { ToolyardError } from "../../../../core/errors.ts";
import { type Evaluator, type GetterCall, mistake, type PlannedCheck, planChecks } from "./evaluator.ts";
import type { Found } from "./found.ts";
import type { World } from "./getters/getter.ts";
import { GETTERS } from "./getters/getter-table.ts";
import type { Check, Judged } from "./judge.ts";
import { judgeInThread } from "./judge-in-thread.ts";

/** The func of a task that cannot be done: it is done right by saying so. */
export const INFEASIBLE = "infeasible";

const JUDGING = { timeMs: 30_000, memoryMiB: 512 };
const MAX_TOTAL_BYTES = 128 * 1024 * 1024;

/** How well a task was done. */
export interface Evaluation {
  /** 0 to 1. */
  readonly score: number;
  /** Of each metric, in their order. */
  readonly results: readonly number[];
  readonly details: readonly EvaluationDetail[];
  readonly last_action_failed: boolean;
}

export interface EvaluationDetail {
  readonly func: string;
  readonly score: number;
  /** Why it is not 1. */
  readonly reason: string | null;
}

/** What surrounds an evaluation. */
export interface EvaluationContext {
  readonly world: World;
  /** Whether the agent's last word was that the task cannot be done. */
  readonly lastActionFailed: boolean;
  /** Does the evaluator's setup steps. */
  setUp(): Promise<void>;
  readonly signal: AbortSignal;
}

/**
 * Judges what an agent left, as OSWorld does: `and` is the mean of the metrics and 0 when one of them is, `or` the best of them. An
 * agent that gave up has 0, but for an infeasible task, where it has 1.
 *
 * @throws ToolyardError `invalid_input` for a wrong evaluator, before anything is done where that can be told; whatever keeps it from
 *   looking or judging, which is never a score.
 */
export async function evaluate(evaluator: Evaluator, context: EvaluationContext): Promise<Evaluation> {
  const { lastActionFailed, signal } = context;
  const isInfeasible = evaluator.func === INFEASIBLE;
  const checks = isInfeasible ? [] : planChecks(evaluator);
  await context.setUp();
  if (isInfeasible) return atOnce([INFEASIBLE], lastActionFailed ? 1 : 0, lastActionFailed);
  if (lastActionFailed)
    return atOnce(
      checks.map(({ func }) => func),
      0,
      true,
    );
  const looked = await look(checks, context);
  const judged = await judgeInThread(looked, JUDGING, context.world.clock, signal);
  const details = judged.map((one, index) =>
    toDetail(checks[index], one, [evaluator.func].flat().length > 1 ? index : null),
  );
  const results = details.map(({ score }) => score);
  return { score: combine(results, evaluator.conj), results, details, last_action_failed: false };
}

function atOnce(funcs: readonly string[], score: number, lastActionFailed: boolean): Evaluation {
  const reason =
    score === 1 ? null : lastActionFailed ? "the agent gave up" : "the agent did not say that it cannot be done";
  const details = funcs.map((func) => ({ func, score, reason }));
  return { score, results: details.map(() => score), details, last_action_failed: lastActionFailed };
}

async function look(planned: readonly PlannedCheck[], { world, signal }: EvaluationContext): Promise<readonly Check[]> {
  const checks: Check[] = [];
  let bytes = 0;
  const get = async (call: GetterCall): Promise<Found> => {
    const found = await GETTERS[call.type].get(call.params, world, signal);
    bytes += found.kind === "file" ? found.bytes.length : 0;
    if (bytes <= MAX_TOTAL_BYTES) return found;
    throw new ToolyardError("limit_exceeded", "the files to compare are too large together", {
      details: { limit: "evaluation_total_bytes", max: MAX_TOTAL_BYTES },
    });
  };
  for (const { func, options, ...calls } of planned) {
    // oxlint-disable-next-line no-await-in-loop -- a getter may be a command that the next one builds on
    const result = await get(calls.result);
    // oxlint-disable-next-line no-await-in-loop -- as above
    const expected = calls.expected && (await get(calls.expected));
    if (expected?.kind === "missing") throw mistake("expected", expected.reason);
    checks.push({ func, result, expected, options });
  }
  return checks;
}

function toDetail(check: PlannedCheck | undefined, judged: Judged, index: number | null): EvaluationDetail {
  const func = check?.func ?? "";
  if (judged.kind === "score") return { func, score: judged.score, reason: judged.reason };
  const where = index === null ? func : `func.${index} (${func})`;
  if (judged.kind === "mistake") throw mistake(where, judged.message);
  if (judged.known) throw new ToolyardError("dependency_failed", judged.message);
  throw new ToolyardError("internal_error", `the metric ${func} broke`, { cause: new Error(judged.message) });
}

function combine(results: readonly number[], conj: "and" | "or"): number {
  if (conj === "or") return Math.max(...results);
  return results.includes(0) ? 0 : results.reduce((sum, score) => sum + score, 0) / results.length;
}
