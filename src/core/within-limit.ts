import { ToolyardError } from "./errors.ts";

/**
 * What a caller asks for, where it is no more than the config allows.
 *
 * @throws ToolyardError `limit_exceeded` that names the limit and its most.
 */
export function withinLimit(limit: string, value: number, max: number): number {
  if (value <= max) return value;
  throw new ToolyardError("limit_exceeded", `${limit} is at most ${max}`, { details: { limit, max } });
}
