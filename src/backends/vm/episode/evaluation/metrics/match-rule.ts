import { z } from "zod";
import { EvaluatorMistake } from "../found.ts";
import { toPattern } from "../metric.ts";
import { isEqual } from "./equality.ts";

/** How one value is to be: `{"method": "ge", "ref": 10}`. */
export const MatchRule = z.strictObject({
  method: z
    .string()
    .describe("eq, ne, lt, le, gt, ge, approx:0.01, re (anywhere), re.match, in, contains, prefix, suffix"),
  ref: z.unknown(),
});
export type MatchRule = z.infer<typeof MatchRule>;

const COMPARES: Readonly<Record<string, (left: number, right: number) => boolean>> = {
  lt: (left, right) => left < right,
  le: (left, right) => left <= right,
  gt: (left, right) => left > right,
  ge: (left, right) => left >= right,
};

/** Whether a value is as a rule says. @throws EvaluatorMistake for a method that there is not */
export function matches(value: unknown, { method, ref }: MatchRule): boolean {
  const compare = COMPARES[method];
  if (compare !== undefined) return isComparable(value, ref) && compare(Number(value), Number(ref));
  const [name, argument] = method.split(":");
  const text = typeof value === "string" ? value : JSON.stringify(value ?? null);
  switch (name) {
    case "eq":
      return isEqual(value, ref);
    case "ne":
      return !isEqual(value, ref);
    case "approx":
      return isComparable(value, ref) && Math.abs(Number(value) - Number(ref)) <= Number(argument ?? 0);
    case "re":
      return toPattern(String(ref)).test(text);
    case "re.match":
      return toPattern(`^(?:${String(ref)})`).test(text);
    case "in":
      return Array.isArray(ref) && ref.some((one) => isEqual(one, value));
    case "contains":
      return Array.isArray(value) ? value.some((one) => isEqual(one, ref)) : text.includes(String(ref));
    case "prefix":
      return text.startsWith(String(ref));
    case "suffix":
      return text.endsWith(String(ref));
    default:
      throw new EvaluatorMistake(`there is no method "${method.slice(0, 40)}"`);
  }
}

function isComparable(...values: unknown[]): boolean {
  return values.every((value) => value !== null && value !== "" && Number.isFinite(Number(value)));
}
