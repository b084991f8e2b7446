import { ToolyardError } from "../../core/errors.ts";
import type { Execution, ExecutionHooks } from "../../core/runtime.ts";
import { ConnectionLost } from "./connection.ts";

const NOTHING = { text: "", bytes: 0, truncated: false };

/**
 * Turns a lost connection into what the execution came to: code that would not stop was timed out or cancelled.
 *
 * @throws ToolyardError `sandbox_dead` for every other loss; anything else is thrown as it is.
 */
export function toLostExecution(error: unknown, { signal }: Pick<ExecutionHooks, "signal">): Execution {
  if (!(error instanceof ConnectionLost)) throw error;
  const { stdout, stderr, durationMs } = error.partial ?? {
    stdout: NOTHING,
    stderr: NOTHING,
    durationMs: 0,
  };
  const ended = error.why === "unresponsive" || (error.why === "stopped" && error.partial !== undefined);
  if (!ended) {
    throw new ToolyardError("sandbox_dead", `the sandbox died: ${error.message}`, {
      details: { stdout: stdout.text, stderr: stderr.text },
      cause: error,
    });
  }
  return {
    status: error.why === "stopped" || signal.aborted ? "cancelled" : "timeout",
    stdout,
    stderr,
    value: null,
    text: null,
    valueTruncated: false,
    lossy: [],
    displays: [],
    displaysOmitted: 0,
    error: null,
    limit: null,
    exitCode: null,
    signal: null,
    stateLost: true,
    durationMs,
  };
}
