import { z } from "zod";
import { ToolyardError } from "../../../../core/errors.ts";
import { nearNames } from "../../../../core/near-names.ts";
import { GETTERS, type GetterName } from "./getters/getter-table.ts";
import type { Metric } from "./metric.ts";
import { METRICS, type MetricName } from "./metric-table.ts";

const MAX_CHECKS = 100;
const GetterConfig = z.looseObject({ type: z.string() });
const Options = z.record(z.string(), z.unknown());
const many = <S extends z.ZodType>(one: S) => z.union([one, z.array(one.nullable()).max(MAX_CHECKS)]);

/** How a task is judged, as OSWorld's tasks have it. */
export const Evaluator = z.looseObject({
  func: z
    .union([z.string(), z.array(z.string()).min(1).max(MAX_CHECKS)])
    .describe("A metric or a list of them; infeasible for a task that cannot be done."),
  result: many(GetterConfig).nullish().describe("What is looked at, one for each func."),
  expected: many(GetterConfig).nullish().describe("What it is to be: a rule or something else that is looked at."),
  options: many(Options).nullish(),
  conj: z.enum(["and", "or"]).default("and"),
  postconfig: z
    .array(z.looseObject({ type: z.string() }))
    .max(100)
    .default([])
    .describe("Setup steps before it."),
});
export type Evaluator = z.output<typeof Evaluator>;

/** A way to get something, known and with params that fit. */
export interface GetterCall {
  readonly type: GetterName;
  readonly params: unknown;
}

/** One metric of an evaluator with what it is given. */
export interface PlannedCheck {
  readonly func: MetricName;
  readonly result: GetterCall;
  readonly expected: GetterCall | undefined;
  readonly options: Readonly<Record<string, unknown>>;
}

/**
 * Says what an evaluator asks for, before anything of it is done.
 *
 * @throws ToolyardError `invalid_input` for a metric or a getter that there is not, params that do not fit, or lists of different
 *   lengths.
 */
export function planChecks({ func, ...lists }: Evaluator): readonly PlannedCheck[] {
  const names = [func].flat();
  const part = <T extends object>(name: string, value: T | (T | null)[] | null | undefined): readonly (T | null)[] => {
    if (value === null || value === undefined) return [];
    if (!Array.isArray(value)) return [value];
    if (value.length === names.length) return value;
    throw mistake(name, `${value.length} of them for ${names.length} metrics`);
  };
  const results = part("result", lists.result);
  const expected = part("expected", lists.expected);
  const options = part("options", lists.options);
  return names.map((name, index) => {
    if (!Object.hasOwn(METRICS, name)) throw unknown("func", name, Object.keys(METRICS));
    const metric: Metric = METRICS[name as MetricName]; // it was found just before
    const result = results[index];
    const wanted = expected[index];
    if (!result) throw mistake("result", `the metric ${name} has nothing to look at`);
    if (!wanted && metric.needsNothing !== true)
      throw mistake("expected", `the metric ${name} needs an expected value`);
    return {
      func: name as MetricName,
      result: planGetter("result", result),
      expected: wanted ? planGetter("expected", wanted) : undefined,
      options: options[index] ?? {},
    };
  });
}

function planGetter(where: string, { type, ...params }: z.output<typeof GetterConfig>): GetterCall {
  if (!Object.hasOwn(GETTERS, type)) throw unknown(`${where}.type`, type, Object.keys(GETTERS));
  const known = type as GetterName; // it was found just before
  const parsed = GETTERS[known].params.safeParse(params);
  if (parsed.success) return { type: known, params: parsed.data };
  const [issue] = parsed.error.issues;
  throw mistake([where, ...(issue?.path ?? [])].map(String).join("."), issue?.message ?? "it is wrong");
}

function unknown(where: string, name: string, names: readonly string[]): ToolyardError {
  const near = nearNames(name, names);
  return new ToolyardError("invalid_input", `evaluator.${where}: there is no "${name.slice(0, 64)}"`, {
    details: { names },
    ...(near.length === 0 ? {} : { suggestion: `Did you mean ${near.join(" or ")}?` }),
  });
}

/** What is wrong with an evaluator is its author's matter, and never a score. */
export function mistake(where: string, what: string): ToolyardError {
  return new ToolyardError("invalid_input", `evaluator.${where}: ${what}`);
}
