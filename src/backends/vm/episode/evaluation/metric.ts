import type { z } from "zod";
import { EvaluatorMistake, type Found, type Side, unreadable } from "./found.ts";

/** What a metric judges by. */
export interface MetricInput {
  readonly result: Found;
  readonly expected: Found | undefined;
  readonly options: Readonly<Record<string, unknown>>;
}

/** 0 to 1, and why it is not 1 in a line. */
export interface Judgement {
  readonly score: number;
  readonly reason?: string;
}

/** Judges what was found; pure but for the libraries that read formats. */
export interface Metric {
  judge(input: MetricInput): Judgement | Promise<Judgement>;
  /** Whether it judges that nothing was found, which is a score of 0 for the others. */
  readonly takesMissing?: boolean;
  /** Whether it needs no expected value. */
  readonly needsNothing?: boolean;
}

export const PASSED: Judgement = { score: 1 };

export function failed(reason: string, score = 0): Judgement {
  return { score, reason };
}

export function verdict(passed: boolean, reason: string): Judgement {
  return passed ? PASSED : failed(reason);
}

/** Reads the expected value, `rules` mostly, by a schema. @throws EvaluatorMistake */
export function readExpected<S extends z.ZodType>({ expected }: MetricInput, schema: S): z.output<S> {
  if (expected === undefined) throw new EvaluatorMistake("this metric needs an expected value");
  return parse(schema, toJson(expected, "expected"), "expected");
}

/** Reads the options by a strict schema. @throws EvaluatorMistake */
export function readOptions<S extends z.ZodType>({ options }: MetricInput, schema: S): z.output<S> {
  return parse(schema, options, "options");
}

function parse<S extends z.ZodType>(schema: S, value: unknown, what: string): z.output<S> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const path = [what, ...(issue?.path ?? [])].map(String).join(".");
  throw new EvaluatorMistake(`${path}: ${issue?.message ?? "it is wrong"}`);
}

/** Text as it is, the text of a file, or JSON written out. */
export function toText(found: Found, side: Side): string {
  switch (found.kind) {
    case "json":
      return typeof found.value === "string" ? found.value : JSON.stringify(found.value);
    case "file":
      return new TextDecoder().decode(found.bytes);
    default:
      throw unreadable(side, found.reason);
  }
}

/** The value, or the one that a file holds; the text of a file that is no JSON. */
export function toJson(found: Found, side: Side): unknown {
  if (found.kind === "json") return found.value;
  const text = toText(found, side);
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** JSON, also where it was found as its text. */
export function toParsedJson(found: Found, side: Side): unknown {
  const value = toJson(found, side);
  if (typeof value !== "string") return value;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    throw unreadable(side, "it is not JSON");
  }
}

/** A list of texts: a list as it is, or the lines of a text. */
export function toLines(found: Found, side: Side): string[] {
  const value = toJson(found, side);
  if (Array.isArray(value)) return value.map((item) => (typeof item === "string" ? item : JSON.stringify(item)));
  const lines = (typeof value === "string" ? value : JSON.stringify(value)).split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

/** @throws EvaluatorMistake for what is no regular expression */
export function toPattern(source: string, flags = ""): RegExp {
  try {
    return new RegExp(source, flags);
  } catch (error) {
    throw new EvaluatorMistake(`"${source.slice(0, 100)}" is no regular expression: ${String(error)}`);
  }
}

/** Text as short as it may stand in a reason. */
export function brief(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "nothing");
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
