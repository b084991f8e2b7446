import { z } from "zod";
import { type ErrorName, ToolyardError } from "../core/errors.ts";
import type { CatalogEntry } from "./catalog.ts";
import { describeIssue as describePlain, isMissing, toIssues } from "../core/issues.ts";
import { nearNames } from "../core/near-names.ts";
import { withoutUnsaidNulls } from "./unsaid-nulls.ts";

/** What the known implementation injects; its clients may send them along, and they must not pass for the server's own. */
const RESERVED = ["worker_id", "session_id", "session_info", "trace_id"] as const;

/** How many unknown params are named, and looked up. */
const SUGGESTED = 3;
/** How much of an unknown param's name is shown, in characters. */
const MAX_SHOWN = 40;

/**
 * Checks a call's params with the tool's schema, before any session is made.
 *
 * @throws ToolyardError missing_field, invalid_type or invalid_input, with every issue in `details.issues`.
 */
export function parseParams(entry: CatalogEntry, params: Readonly<Record<string, unknown>>): unknown {
  const schema = entry.tool.definition.params;
  const own = withoutReserved(schema, params);
  let parsed = schema.safeParse(own);
  if (parsed.success) return parsed.data;
  const said = withoutUnsaidNulls(schema, own);
  if (said !== own) parsed = schema.safeParse(said);
  if (parsed.success) return parsed.data;
  const issues = toIssues(parsed.error, (issue) => describeIssue(issue, schema));
  const lines = issues.map(({ path, message }) => `${path || "params"}: ${message}`);
  throw new ToolyardError(toErrorName(parsed.error.issues), `${entry.fullName}: ${lines.join("; ")}`, {
    details: { issues: issues.map(({ path }, index) => ({ path, message: lines[index] })) },
    suggestion: `GET /api/v1/tools/${entry.fullName}/schema has the tool's parameters.`,
  });
}

function withoutReserved(
  schema: z.ZodType,
  params: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const own = schema instanceof z.ZodObject ? schema.shape : {};
  const forged = RESERVED.filter((key) => key in params && !(key in own));
  if (forged.length === 0) return params;
  return Object.fromEntries(Object.entries(params).filter(([key]) => !forged.some((reserved) => reserved === key)));
}

function describeIssue(issue: z.core.$ZodIssue, schema: z.ZodType): string {
  if (issue.code !== "unrecognized_keys" || !(schema instanceof z.ZodObject)) return describePlain(issue);
  const known = issue.path.length === 0 ? Object.keys(schema.shape) : [];
  const near = issue.keys.slice(0, SUGGESTED).flatMap((key) => nearNames(key, known));
  const keys = issue.keys.slice(0, SUGGESTED).map((key) => JSON.stringify(key.slice(0, MAX_SHOWN)));
  const more = issue.keys.length > SUGGESTED ? ` and ${issue.keys.length - SUGGESTED} more` : "";
  const unknown = `unknown ${keys.join(", ")}${more}`;
  return near.length === 0 ? unknown : `${unknown}; did you mean ${near.join(", ")}?`;
}

function toErrorName(issues: readonly z.core.$ZodIssue[]): ErrorName {
  if (issues.some(isMissing)) return "missing_field";
  if (issues.every((issue) => issue.code === "invalid_type")) return "invalid_type";
  return "invalid_input";
}
