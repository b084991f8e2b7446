import { z } from "zod";
import { EvaluatorMistake } from "../found.ts";
import {
  brief,
  failed,
  type Judgement,
  type Metric,
  PASSED,
  readExpected,
  readOptions,
  toJson,
  toLines,
  toPattern,
  toText,
  verdict,
} from "../metric.ts";
import { isEqual } from "./equality.ts";
import { similarity, textSimilarity } from "./text-similarity.ts";

const Loose = z.strictObject({ ignore_case: z.boolean().default(false), trim: z.boolean().default(false) });
const Texts = z.array(z.string()).max(1_000);
const Expected = z.looseObject({ expected: z.unknown() });
const ExpectedList = z.looseObject({ expected: z.array(z.unknown()) });

/** The same, to the character or the value. */
export const exactMatch: Metric = {
  judge(input) {
    const { expected } = readExpected(input, Expected);
    const { ignore_case: ignoreCase, trim } = readOptions(input, Loose);
    const result = typeof expected === "string" ? toText(input.result, "result") : toJson(input.result, "result");
    const found = trim && typeof result === "string" ? result.trim() : result;
    return verdict(isEqual(found, expected, { ignoreCase }), `it is ${brief(found)}`);
  },
};

/** One of those that are listed. */
export const matchInList: Metric = {
  judge(input) {
    const { expected } = readExpected(input, ExpectedList);
    const result = toJson(input.result, "result");
    return verdict(
      expected.some((one) => isEqual(one, result)),
      `${brief(result)} is not listed`,
    );
  },
};

/** A list, or lines, that hold the expected one. */
export const isInList: Metric = {
  judge(input) {
    const { expected } = readExpected(input, Expected);
    const value = toJson(input.result, "result");
    const list: readonly unknown[] = Array.isArray(value) ? value : toLines(input.result, "result");
    return verdict(
      list.some((one) => isEqual(one, expected)),
      `${brief(expected)} is not in it`,
    );
  },
};

/** Two values that both were got, as texts or, with `type: "list"`, as lists in any order. */
export const literalMatch: Metric = {
  judge(input) {
    const schema = z.strictObject({
      type: z.enum(["str", "list"]).default("str"),
      ignore_case: z.boolean().default(false),
    });
    const { type, ignore_case: ignoreCase } = readOptions(input, schema);
    const expected = readExpected(input, z.unknown());
    if (type === "str") {
      const text = toText(input.result, "result");
      return verdict(isEqual(text, String(expected), { ignoreCase }), `it is ${brief(text)}`);
    }
    const result = toJson(input.result, "result");
    const options = { ignoreCase, ignoreOrder: true };
    return verdict(Array.isArray(result) && isEqual(result, expected, options), `it is ${brief(result)}`);
  },
};

/** How alike two texts are, 0 to 1. */
export const fuzzyMatch: Metric = {
  judge(input) {
    const { expected } = readExpected(input, z.looseObject({ expected: z.string() }));
    const { ignore_case: ignoreCase, threshold } = readOptions(
      input,
      z.strictObject({ ignore_case: z.boolean().default(false), threshold: z.number().min(0).max(1).optional() }),
    );
    const shape = (text: string) => (ignoreCase ? text.toLowerCase() : text);
    const score = textSimilarity(shape(toText(input.result, "result")), shape(expected));
    if (threshold !== undefined) return verdict(score >= threshold, `they are alike by ${score.toFixed(3)} only`);
    return score === 1 ? PASSED : failed("they differ", score);
  },
};

/** Holds all of some texts and none of others. */
export const checkIncludeExclude: Metric = {
  judge(input) {
    const rules = readExpected(input, z.looseObject({ include: Texts.default([]), exclude: Texts.default([]) }));
    if (rules.include.length + rules.exclude.length === 0) throw new EvaluatorMistake("expected: it asks for nothing");
    const text = toText(input.result, "result");
    const lacking = rules.include.find((part) => !text.includes(part));
    if (lacking !== undefined) return failed(`${brief(lacking)} is not in it`);
    const wrong = rules.exclude.find((part) => text.includes(part));
    return verdict(wrong === undefined, `${brief(wrong)} is in it`);
  },
};

/** A file that holds all of some texts. */
export const fileContains: Metric = {
  judge(input) {
    const { expected } = readExpected(input, z.looseObject({ expected: Texts.min(1) }));
    const text = toText(input.result, "result");
    const lacking = expected.find((part) => !text.includes(part));
    return verdict(lacking === undefined, `${brief(lacking)} is not in it`);
  },
};

/** Matched by all of some regular expressions, or by one of them with `any`. */
export const checkRegex: Metric = {
  judge(input) {
    const { patterns, flags, any } = readExpected(
      input,
      z.looseObject({
        patterns: z.union([z.string().transform((one) => [one]), Texts.min(1)]),
        flags: z
          .string()
          .regex(/^[imsu]*$/)
          .default(""),
        any: z.boolean().default(false),
      }),
    );
    const text = toText(input.result, "result");
    const lacking = patterns.filter((pattern) => !toPattern(pattern, flags).test(text));
    const passed = any ? lacking.length < patterns.length : lacking.length === 0;
    return verdict(passed, `${brief(lacking[0])} does not match ${brief(text)}`);
  },
};

/** Each `expect` matches a line, and no line matches any `unexpect`. */
export const checkList: Metric = {
  judge(input) {
    const rules = readExpected(input, z.looseObject({ expect: Texts.default([]), unexpect: Texts.default([]) }));
    const lines = toLines(input.result, "result");
    const isThere = (pattern: string) => lines.some((line) => toPattern(pattern).test(line));
    const lacking = rules.expect.find((pattern) => !isThere(pattern));
    if (lacking !== undefined) return failed(`no line matches ${brief(lacking)}`);
    const wrong = rules.unexpect.find(isThere);
    return verdict(wrong === undefined, `a line matches ${brief(wrong)}`);
  },
};

/** The same text, perhaps but for case and blanks. */
export const compareTextFile: Metric = {
  judge(input) {
    const schema = z.strictObject({
      ignore_case: z.boolean().default(false),
      ignore_blanks: z.boolean().default(false),
    });
    const { ignore_case: ignoreCase, ignore_blanks: ignoreBlanks } = readOptions(input, schema);
    const shape = (text: string) => {
      const kept = ignoreBlanks ? text.replace(/\s+/g, " ").trim() : text;
      return ignoreCase ? kept.toLowerCase() : kept;
    };
    const [found, wanted] = bothTexts(input).map(shape);
    return verdict(found === wanted, `it is ${brief(found)}`);
  },
};

/** How alike two texts are by their lines, 0 to 1. */
export const diffTextFile: Metric = {
  judge(input): Judgement {
    const [found = [], wanted = []] = bothTexts(input).map((text) => text.split(/\r?\n/));
    const score = similarity(found, wanted);
    return score === 1 ? PASSED : failed("they differ", score);
  },
};

function bothTexts({ result, expected }: Parameters<Metric["judge"]>[0]): [string, string] {
  if (expected === undefined) throw new EvaluatorMistake("this metric needs an expected value");
  return [toText(result, "result"), toText(expected, "expected")];
}
