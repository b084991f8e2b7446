import type { ToolContext } from "./context.ts";

/** Names who calls, for what is shared fairly among workers; no name holds a line break. */
export function workerOf({ tenant, workerId }: Pick<ToolContext, "tenant" | "workerId">): string {
  return `${tenant}\n${workerId}`;
}
