import { ToolyardError } from "../../core/errors.ts";

/** @throws ToolyardError `limit_exceeded` that names the key of the config. */
export function checkCount(count: number, max: number, limit: string): void {
  if (count <= max) return;
  throw new ToolyardError("limit_exceeded", `${count} are more than ${limit}, which is ${max}`, {
    details: { limit, max },
    suggestion: "Send fewer at once.",
  });
}
