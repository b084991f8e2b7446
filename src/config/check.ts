import type { z } from "zod";
import { ConfigError, toKey } from "./config-error.ts";
import { didYouMean } from "./near-name.ts";

/** What a value is checked against, and how its mistakes are named. */
export interface CheckOptions {
  readonly file: string;
  /** Where the value stands in the file. */
  readonly path?: readonly PropertyKey[];
  /** The keys whose whole value was one placeholder, so that its text may stand for a number or a boolean. */
  readonly placeholders?: ReadonlySet<string>;
}

/**
 * Checks a value, and reads `"8080"` as a number where a placeholder gave it and the schema wants a number.
 *
 * @throws ConfigError that names the file and the first wrong key
 */
export function checkConfig<S extends z.ZodType>(schema: S, value: unknown, options: CheckOptions): z.output<S> {
  const base = options.path ?? [];
  let checked = schema.safeParse(value);
  if (!checked.success) {
    const coerced = coerce(value, leaves(checked.error.issues), base, options.placeholders ?? new Set());
    if (coerced.changed) checked = schema.safeParse(coerced.value);
  }
  if (checked.success) return checked.data;
  const [issue] = checked.error.issues;
  if (issue === undefined) throw new ConfigError({ file: options.file }, "it is not valid");
  const { path, message } = describe(deepest(issue), schema, value);
  throw new ConfigError({ file: options.file, key: toKey([...base, ...path]) }, message);
}

type Issue = z.core.$ZodIssue;

interface Coerced {
  readonly value: unknown;
  readonly changed: boolean;
}

/** All issues, those inside the branches of a union too, with their whole paths. */
function leaves(issues: readonly Issue[], base: readonly PropertyKey[] = []): Issue[] {
  return issues.flatMap((issue) => {
    const path = [...base, ...issue.path];
    if (issue.code === "invalid_union") return issue.errors.flatMap((branch) => leaves(branch, path));
    return [{ ...issue, path }];
  });
}

function coerce(
  value: unknown,
  issues: readonly Issue[],
  base: readonly PropertyKey[],
  placeholders: ReadonlySet<string>,
): Coerced {
  const copy = structuredClone(value);
  let changed = false;
  for (const issue of issues) {
    if (issue.code !== "invalid_type" || !placeholders.has(toKey([...base, ...issue.path]))) continue;
    const last = issue.path.at(-1);
    const parent = issue.path.slice(0, -1).reduce<unknown>(child, copy);
    if (last === undefined || typeof parent !== "object" || parent === null) continue;
    const read = readScalar(child(parent, last), issue.expected);
    if (read === undefined) continue;
    Reflect.set(parent, last, read);
    changed = true;
  }
  return { value: copy, changed };
}

function child(value: unknown, key: PropertyKey): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, key) ? Reflect.get(value, key) : undefined;
}

function readScalar(text: unknown, wanted: string): number | boolean | undefined {
  if (typeof text !== "string") return undefined;
  if (wanted === "boolean") return text === "true" ? true : text === "false" ? false : undefined;
  if (wanted !== "number" && wanted !== "int") return undefined;
  const number = Number(text);
  return text.trim() === "" || !Number.isFinite(number) ? undefined : number;
}

/** Of a union, the branch that got furthest says best what is wrong. */
function deepest(issue: Issue): Issue {
  if (issue.code !== "invalid_union") return issue;
  const inside = leaves([issue]);
  return inside.reduce<Issue>((best, next) => (next.path.length > best.path.length ? next : best), issue);
}

function describe(issue: Issue, schema: z.ZodType, value: unknown): { path: readonly PropertyKey[]; message: string } {
  if (issue.code === "unrecognized_keys") {
    const [key = ""] = issue.keys;
    const known = knownKeys(schema, issue.path);
    const list = known.length > 0 && known.length <= 12 ? `; known: ${known.join(", ")}` : "";
    return { path: [...issue.path, key], message: `unknown key${didYouMean(key, known) || list}` };
  }
  if (issue.code === "invalid_key") {
    return { path: issue.path, message: issue.issues[0]?.message ?? issue.message };
  }
  const found = issue.path.reduce<unknown>(child, value);
  const shown = issue.code === "custom" || typeof found === "object" ? "" : `, found ${show(found)}`;
  return { path: issue.path, message: `${issue.message}${issue.message.includes("received") ? "" : shown}` };
}

/** Shows what kind of value is there, not the value: it may be a secret. */
function show(value: unknown): string {
  if (value === undefined) return "nothing";
  return typeof value === "string" ? "other text" : String(value);
}

/** Lists the keys that the schema knows at a path. */
function knownKeys(schema: z.ZodType, path: readonly PropertyKey[]): readonly string[] {
  let inner: unknown = unwrap(schema);
  for (const part of path) {
    const definition = definitionOf(inner);
    if (definition?.type === "object") inner = unwrap(child(definition.shape, part));
    else if (definition?.type === "record") inner = unwrap(definition.valueType);
    else if (definition?.type === "array") inner = unwrap(definition.element);
    else return [];
  }
  const shape = definitionOf(inner)?.shape;
  return typeof shape === "object" && shape !== null ? Object.keys(shape).filter((key) => !key.startsWith("$")) : [];
}

interface Definition {
  readonly type?: unknown;
  readonly shape?: unknown;
  readonly valueType?: unknown;
  readonly element?: unknown;
  readonly innerType?: unknown;
  readonly in?: unknown;
}

function definitionOf(schema: unknown): Definition | undefined {
  const definition = child(schema, "def");
  return typeof definition === "object" && definition !== null ? definition : undefined;
}

/** Takes off what wraps a schema: defaults, optionals, and the output side of pipes. */
function unwrap(schema: unknown): unknown {
  const definition = definitionOf(schema);
  const inside = definition?.innerType ?? definition?.in;
  return inside === undefined ? schema : unwrap(inside);
}
