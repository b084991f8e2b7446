import { z } from "zod";
import { EvaluatorMistake } from "../found.ts";
import { brief, failed, type Metric, PASSED, readExpected, readOptions, toText, verdict } from "../metric.ts";
import { matches, MatchRule } from "./match-rule.ts";
import { parseCsv } from "./csv.ts";
import { judgeTableRule, TableRule } from "./table-rules.ts";
import { readWorkbook } from "./workbook.ts";

/** Spreadsheets (XLSX or CSV) that agree by all of some rules; by the data of their first sheets where there are none. */
export const compareTable: Metric = {
  async judge(input) {
    const usual: TableRule[] = [TableRule.parse({ type: "sheet_data" })];
    const schema = z.strictObject({ rules: z.array(TableRule).min(1).max(100).default(usual) });
    const { rules } = readOptions(input, schema);
    const result = await readWorkbook(input.result, "result");
    const expected = input.expected && (await readWorkbook(input.expected, "expected"));
    for (const rule of rules) {
      const judgement = judgeTableRule(rule, { result, expected });
      if (judgement.score < 1) return judgement;
    }
    return PASSED;
  },
  needsNothing: true,
};

/** The same rows of text. */
export const compareCsv: Metric = {
  judge(input) {
    const schema = z.strictObject({ strict: z.boolean().default(true), ignore_case: z.boolean().default(false) });
    const { strict, ignore_case: ignoreCase } = readOptions(input, schema);
    if (input.expected === undefined) throw new EvaluatorMistake("this metric needs an expected value");
    const shape = (text: string) =>
      parseCsv(ignoreCase ? text.toLowerCase() : text).map((row) => row.map((cell) => (strict ? cell : cell.trim())));
    const [found, wanted] = [shape(toText(input.result, "result")), shape(toText(input.expected, "expected"))];
    const wrong = Array.from({ length: Math.max(found.length, wanted.length) }, (_item, index) => index).find(
      (index) => JSON.stringify(found[index]) !== JSON.stringify(wanted[index]),
    );
    return verdict(wrong === undefined, `row ${(wrong ?? 0) + 1} is ${brief(found[wrong ?? 0])}`);
  },
};

const Row = z.record(z.string(), z.union([z.string(), z.number(), MatchRule]));

/** Each `expect` fits a row by its columns' names, and no row fits any `unexpect`. */
export const checkCsv: Metric = {
  judge(input) {
    const schema = z.looseObject({ expect: z.array(Row).default([]), unexpect: z.array(Row).default([]) });
    const { expect, unexpect } = readExpected(input, schema);
    const [names = [], ...rows] = parseCsv(toText(input.result, "result"));
    const fits = (wanted: z.infer<typeof Row>) =>
      rows.some((row) => Object.entries(wanted).every(([name, rule]) => fitsCell(row[names.indexOf(name)], rule)));
    const lacking = expect.find((wanted) => !fits(wanted));
    if (lacking !== undefined) return failed(`no row fits ${brief(lacking)}`);
    const wrong = unexpect.find(fits);
    return verdict(wrong === undefined, `a row fits ${brief(wrong)}`);
  },
};

function fitsCell(cell: string | undefined, rule: string | number | MatchRule): boolean {
  if (cell === undefined) return false;
  return typeof rule === "object" ? matches(cell, rule) : cell.trim() === String(rule);
}
