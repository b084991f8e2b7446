import { z } from "zod";
import { EvaluatorMistake, UnreadableResult } from "../found.ts";
import { brief, failed, type Judgement, PASSED, verdict } from "../metric.ts";
import { matches, MatchRule } from "./match-rule.ts";
import { textSimilarity } from "./text-similarity.ts";
import { type Cell, type Sheet, toPlace } from "./workbook.ts";

/** A sheet by its number, or as `RI0`, `RNName` of the result and `EI0`, `ENName` of the expected workbook. */
const SheetIndex = z.union([z.int().min(0), z.string().regex(/^(?:[RE]?I?\d+|[RE]N.+)$/)]);
const Pair = { sheet_idx0: SheetIndex.default(0), sheet_idx1: SheetIndex.default("EI0") };

/** What is compared of two spreadsheets. */
export const TableRule = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("sheet_name") }),
  z.strictObject({ type: z.literal("sheet_data"), ...Pair, precision: z.int().min(0).max(15).default(4) }),
  z.strictObject({ type: z.literal("sheet_print"), ...Pair, ignore_case: z.boolean().default(false) }),
  z.strictObject({
    type: z.literal("sheet_fuzzy"),
    ...Pair,
    rules: z.array(
      z.strictObject({
        range: z.array(z.string()).min(1),
        type: z.enum(["includes", "included_by", "fuzzy_match", "exact_match"]),
        threshold: z.number().min(0).max(100).default(85),
        ignore_case: z.boolean().default(false),
        ignore_chars: z.string().default(""),
        trim_leadings: z.string().optional(),
        trim_trailings: z.string().optional(),
      }),
    ),
  }),
  z.strictObject({
    type: z.literal("check_cell"),
    sheet_idx: SheetIndex.default(0),
    coordinate: z.string(),
    props: z.strictObject({ value: MatchRule }),
  }),
]);
export type TableRule = z.infer<typeof TableRule>;

/** The two spreadsheets; the expected one is only needed by rules that look at it. */
export interface Workbooks {
  readonly result: readonly Sheet[];
  readonly expected: readonly Sheet[] | undefined;
}

export function judgeTableRule(rule: TableRule, books: Workbooks): Judgement {
  switch (rule.type) {
    case "sheet_name": {
      const [found, wanted] = [books.result, expectedOf(books)].map((sheets) => sheets.map(({ name }) => name));
      return verdict(JSON.stringify(found) === JSON.stringify(wanted), `its sheets are ${brief(found)}`);
    }
    case "sheet_data":
      return judgeCells(rule, books, (cell) => toData(cell, rule.precision));
    case "sheet_print":
      return judgeCells(rule, books, (cell) => (rule.ignore_case ? toPrint(cell).toLowerCase() : toPrint(cell)));
    case "sheet_fuzzy":
      return judgeFuzzy(rule, books);
    case "check_cell": {
      const value = cellAt(sheetOf(rule.sheet_idx, books, "R"), rule.coordinate);
      return verdict(matches(value, rule.props.value), `${rule.coordinate} is ${brief(value)}`);
    }
    default:
      throw new EvaluatorMistake("there is no such rule");
  }
}

function judgeCells(
  rule: Extract<TableRule, { type: "sheet_data" | "sheet_print" }>,
  books: Workbooks,
  shape: (cell: Cell) => string,
): Judgement {
  const found = sheetOf(rule.sheet_idx0, books, "R").rows;
  const wanted = sheetOf(rule.sheet_idx1, books, "E").rows;
  for (let row = 0; row < Math.max(found.length, wanted.length); row += 1) {
    const width = Math.max(found[row]?.length ?? 0, wanted[row]?.length ?? 0);
    for (let column = 0; column < width; column += 1) {
      const [left, right] = [found[row]?.[column] ?? null, wanted[row]?.[column] ?? null];
      if (shape(left) !== shape(right)) {
        return failed(`row ${row + 1}, column ${column + 1} is ${brief(left)} and not ${brief(right)}`);
      }
    }
  }
  return PASSED;
}

function judgeFuzzy(rule: Extract<TableRule, { type: "sheet_fuzzy" }>, books: Workbooks): Judgement {
  const found = sheetOf(rule.sheet_idx0, books, "R");
  const wanted = sheetOf(rule.sheet_idx1, books, "E");
  for (const one of rule.rules) {
    for (const name of one.range.flatMap(toNames)) {
      const shape = (cell: Cell) => {
        let text = toPrint(cell);
        if (one.ignore_case) text = text.toLowerCase();
        for (const character of one.ignore_chars) text = text.replaceAll(character, "");
        if (one.trim_leadings !== undefined) text = trimBy(text, one.trim_leadings);
        if (one.trim_trailings !== undefined) text = reverse(trimBy(reverse(text), one.trim_trailings));
        return text;
      };
      const [left, right] = [shape(cellAt(found, name)), shape(cellAt(wanted, name))];
      if (!isAlike(left, right, one)) return failed(`${name} is ${brief(left)} and not ${brief(right)}`);
    }
  }
  return PASSED;
}

function isAlike(left: string, right: string, { type, threshold }: { type: string; threshold: number }): boolean {
  if (type === "includes") return left.includes(right);
  if (type === "included_by") return right.includes(left);
  if (type === "exact_match") return left === right;
  return textSimilarity(left, right) * 100 >= threshold;
}

function expectedOf({ expected }: Workbooks): readonly Sheet[] {
  if (expected === undefined) throw new EvaluatorMistake("this rule needs an expected spreadsheet");
  return expected;
}

/** @param usual whose sheet a bare number means */
function sheetOf(index: number | string, books: Workbooks, usual: "R" | "E"): Sheet {
  const text = String(index);
  const side = /^[RE]/.test(text) ? text.charAt(0) : usual;
  const rest = /^[RE]/.test(text) ? text.slice(1) : text;
  const sheets = side === "R" ? books.result : expectedOf(books);
  const sheet = rest.startsWith("N")
    ? sheets.find(({ name }) => name === rest.slice(1))
    : sheets[Number(rest.replace("I", ""))];
  if (sheet !== undefined) return sheet;
  if (side === "R") throw new UnreadableResult(`it has no sheet ${text}`);
  throw new EvaluatorMistake(`the expected spreadsheet has no sheet ${text}`);
}

function cellAt({ rows }: Sheet, name: string): Cell {
  const place = toPlace(name);
  if (place === undefined) throw new EvaluatorMistake(`"${name.slice(0, 40)}" is no cell`);
  return rows[place.row]?.[place.column] ?? null;
}

const MAX_RANGE = 100_000;

function toNames(range: string): string[] {
  const [first = "", last = first] = range.split(":");
  const [from, to] = [toPlace(first), toPlace(last)];
  if (!from || !to) throw new EvaluatorMistake(`"${range.slice(0, 40)}" is no range`);
  const [rows, columns] = [to.row - from.row + 1, to.column - from.column + 1];
  if (rows * columns > MAX_RANGE) throw new EvaluatorMistake(`"${range}" is too large`);
  return Array.from({ length: Math.max(0, rows) }, (_row, row) =>
    Array.from({ length: Math.max(0, columns) }, (_column, column) => toName(from.row + row, from.column + column)),
  ).flat();
}

function toName(row: number, column: number): string {
  let letters = "";
  for (let rest = column + 1; rest > 0; rest = Math.floor((rest - 1) / 26)) {
    letters = String.fromCharCode(65 + ((rest - 1) % 26)) + letters;
  }
  return `${letters}${row + 1}`;
}

/** A number by so many digits, and a text that is one (of a CSV) as the number. */
function toData(cell: Cell, precision: number): string {
  if (typeof cell === "string" && cell.trim() !== "" && Number.isFinite(Number(cell)))
    return toData(Number(cell), precision);
  return typeof cell === "number" ? `n${Number(cell.toFixed(precision)) + 0}` : `s${toPrint(cell)}`;
}

function toPrint(cell: Cell): string {
  return cell === null ? "" : String(cell);
}

function trimBy(text: string, characters: string): string {
  let start = 0;
  while (start < text.length && characters.includes(text.charAt(start))) start += 1;
  return text.slice(start);
}

function reverse(text: string): string {
  return [...text].toReversed().join("");
}
