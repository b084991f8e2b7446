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
    .map((issue) => ({ path: clip(issue.path.join(".")), message: clip(describe(issue)) }));
}

/** Says what is wrong, in the same words for a body and for params. */
export function describeIssue(issue: z.core.$ZodIssue): string {
  return isMissing(issue) ? "is required" : issue.message;
}

/** Whether the value is not there at all. */
export function isMissing({ code, message }: z.core.$ZodIssue): boolean {
  return code === "invalid_type" && message.endsWith("received undefined");
}

function clip(text: string): string {
  return text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT)}…`;
}
