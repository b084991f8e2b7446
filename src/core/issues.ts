import type { z } from "zod";

/** One thing that a schema found wrong. */
export interface Issue {
  /** Where, with dots; empty for the whole value. */
  readonly path: string;
  readonly message: string;
}

const MAX_ISSUES = 10;
const MAX_TEXT = 300;

/** Lists what a schema found wrong, in a size that an answer can carry whatever was sent: the first ten, cut short. */
export function toIssues(
  { issues }: z.ZodError,
  describe: (issue: z.core.$ZodIssue) => string = describeIssue,
): readonly Issue[] {
  return issues
    .slice(0, MAX_ISSUES)
    .map(narrowUnion)
    .map((issue) => ({ path: clip(issue.path.join(".")), message: clip(describe(issue)) }));
}

/** Says what is wrong, in the same words for a body and for params. */
export function describeIssue(issue: z.core.$ZodIssue): string {
  return isMissing(issue) ? "is required" : issue.message;
}

/** Where one of several schemas was to fit: what is wrong in the one that was meant, else which kinds there are. */
function narrowUnion(issue: z.core.$ZodIssue): z.core.$ZodIssue {
  if (issue.code !== "invalid_union") return issue;
  const meant = issue.errors.filter((branch) => !branch.some(isOtherKind));
  const [inner] = meant.length === 1 ? (meant[0] ?? []) : [];
  if (inner !== undefined) return narrowUnion({ ...inner, path: [...issue.path, ...inner.path] });
  const kinds = [...new Set(issue.errors.flat().filter(isOtherKind).flatMap(kindsOf))];
  if (meant.length > 0 || kinds.length === 0) return issue;
  return { ...issue, message: `${issue.message}: expected ${kinds.join(" or ")}` };
}

/** Whether a branch of a union is not even for values of this kind. */
function isOtherKind({ code, path }: z.core.$ZodIssue): boolean {
  return path.length === 0 && (code === "invalid_type" || code === "invalid_value");
}

function kindsOf(issue: z.core.$ZodIssue): readonly string[] {
  if (issue.code === "invalid_type") return [issue.expected];
  return issue.code === "invalid_value" ? issue.values.map((value) => JSON.stringify(value)) : [];
}

/** Whether the value is not there at all. */
export function isMissing({ code, message }: z.core.$ZodIssue): boolean {
  return code === "invalid_type" && message.endsWith("received undefined");
}

function clip(text: string): string {
  return text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT)}…`;
}
