import type { ToolFailure } from "../core/result.ts";

/** What a client does well to wait while a server is replaced by the next one. */
const RESTART_S = 5;

/** Says when to send a refused request again: whole seconds, at least one; nothing where that would not help. */
export function retryAfterOf({ error, details }: ToolFailure): Readonly<Record<string, string>> | undefined {
  const ms = details?.["retry_after_ms"];
  if (typeof ms === "number") return { "retry-after": String(Math.max(1, Math.ceil(ms / 1000))) };
  return error === "shutting_down" ? { "retry-after": String(RESTART_S) } : undefined;
}
