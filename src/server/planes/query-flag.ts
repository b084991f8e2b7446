/** Whether a flag of a query is set: `?view`, `?view=true`, but not `?view=0`. */
export function isTrue(text: string | null): boolean {
  return text !== null && !["0", "false", "no"].includes(text.toLowerCase());
}
