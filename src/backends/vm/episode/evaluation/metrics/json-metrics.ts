import { z } from "zod";
import { EvaluatorMistake } from "../found.ts";
import { brief, failed, type Metric, readExpected, readOptions, toParsedJson, verdict } from "../metric.ts";
import { isEqual, isRecord } from "./equality.ts";
import { matches, MatchRule } from "./match-rule.ts";

const KeyRule = MatchRule.extend({ key: z.array(z.union([z.string(), z.int()])).describe("The way to it.") });
const JsonRules = z.looseObject({ expect: z.array(KeyRule).default([]), unexpect: z.array(KeyRule).default([]) });

/** The values at some places are as `expect` says, and none as `unexpect` does. */
export const checkJson: Metric = {
  judge(input) {
    const { expect, unexpect } = readExpected(input, JsonRules);
    const value = toParsedJson(input.result, "result");
    const holds = ({ key, ...rule }: z.infer<typeof KeyRule>) => {
      const place = at(value, key);
      return place !== undefined && matches(place.value, rule);
    };
    const lacking = expect.find((rule) => !holds(rule));
    if (lacking !== undefined) return failed(`${lacking.key.join(".")} is ${brief(at(value, lacking.key)?.value)}`);
    const wrong = unexpect.find(holds);
    return verdict(wrong === undefined, `${wrong?.key.join(".")} is ${brief(wrong?.ref)}`);
  },
};

/** An object that has these keys with these values; with `expect_in_result`, values that hold these. */
export const checkDirectJsonObject: Metric = {
  judge(input) {
    const schema = z.looseObject({
      expected: z.record(z.string(), z.unknown()),
      expect_in_result: z.boolean().default(false),
    });
    const { expected, expect_in_result: within } = readExpected(input, schema);
    const value = toParsedJson(input.result, "result");
    if (!isRecord(value)) return failed(`it is ${brief(value)}`);
    for (const [key, wanted] of Object.entries(expected)) {
      const passed = within ? holds(value[key], wanted) : isEqual(value[key], wanted);
      if (!passed) return failed(`${key} is ${brief(value[key])}`);
    }
    return { score: 1 };
  },
};

/** The same JSON. */
export const compareJson: Metric = {
  judge(input) {
    const schema = z.strictObject({
      tolerance: z.number().min(0).optional(),
      ignore_case: z.boolean().default(false),
      ignore_order: z.boolean().default(false),
    });
    const { tolerance, ignore_case: ignoreCase, ignore_order: ignoreOrder } = readOptions(input, schema);
    if (input.expected === undefined) throw new EvaluatorMistake("this metric needs an expected value");
    const found = toParsedJson(input.result, "result");
    const wanted = toParsedJson(input.expected, "expected");
    return verdict(isEqual(found, wanted, { tolerance, ignoreCase, ignoreOrder }), `it is ${brief(found)}`);
  },
};

function at(value: unknown, key: readonly (string | number)[]): { readonly value: unknown } | undefined {
  let here = value;
  for (const step of key) {
    if (Array.isArray(here)) here = here.at(Number(step));
    else if (isRecord(here) && Object.hasOwn(here, step)) here = here[step];
    else return undefined;
    if (here === undefined) return undefined;
  }
  return { value: here };
}

function holds(value: unknown, wanted: unknown): boolean {
  if (Array.isArray(wanted)) return wanted.every((one) => holds(value, one));
  if (typeof value === "string") return value.includes(String(wanted));
  return Array.isArray(value) && value.some((one) => isEqual(one, wanted));
}
