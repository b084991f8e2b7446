import type { Display } from "../../core/display.ts";
import { ToolyardError } from "../../core/errors.ts";
import type { Execution, GuestError } from "../../core/runtime.ts";
import type { OpenKernel } from "./sandboxes.ts";
import type { LANGUAGES, RunResult } from "./code-schemas.ts";

const NAMED_LIMITS: Readonly<Record<string, string>> = {
  memory: "the code used more memory than the sandbox has",
  stack: "the code recursed too deeply",
};

/** What a result says beside the execution itself. */
export interface RunFacts {
  readonly language: (typeof LANGUAGES)[number];
  readonly open: OpenKernel;
  readonly timeoutMs: number;
}

/**
 * Turns an execution into the tool's result; what the code raised is a value in it.
 *
 * @throws ToolyardError `timeout`, `limit_exceeded` or `cancelled` with what the code wrote until then.
 */
export function toRunResult(execution: Execution, { language, open, timeoutMs }: RunFacts): RunResult {
  const { stdout, stderr } = execution;
  const details = {
    stdout: stdout.text,
    stderr: stderr.text,
    state_lost: execution.stateLost,
    duration_ms: execution.durationMs,
    ...(execution.displays.length === 0 ? {} : { results: execution.displays.map(toBlock) }),
    ...(execution.error === null ? {} : { error: execution.error }),
  };
  const lost = execution.stateLost ? "; its interpreter had to be replaced and its variables are gone" : "";
  switch (execution.status) {
    case "timeout":
      throw new ToolyardError("timeout", `the code did not end within ${timeoutMs} ms${lost}`, {
        details: { limit: "timeout", timeout_ms: timeoutMs, ...details },
      });
    case "cancelled":
      throw new ToolyardError("cancelled", `the code was cancelled${lost}`, { details });
    case "limit": {
      const limit = execution.limit ?? "unknown";
      throw new ToolyardError("limit_exceeded", (NAMED_LIMITS[limit] ?? `the code met the limit "${limit}"`) + lost, {
        details: { limit, ...details },
      });
    }
    case "ok":
    case "error":
    case "exited":
      return {
        language,
        runtime: open.runtime,
        kernel: open.name,
        stdout: stdout.text,
        stderr: stderr.text,
        result: execution.value,
        text: execution.text,
        lossy: [...execution.lossy],
        results: execution.displays.map(toBlock),
        results_omitted: execution.displaysOmitted,
        error: execution.error ?? toExitError(execution, language),
        exit_code: execution.exitCode,
        signal: execution.signal,
        truncated: {
          stdout: stdout.truncated,
          stderr: stderr.truncated,
          result: execution.valueTruncated,
          stdout_bytes: stdout.bytes,
          stderr_bytes: stderr.bytes,
        },
        execution_count: open.executionCount,
        duration_ms: execution.durationMs,
        state_lost: execution.stateLost,
      };
  }
}

/** Writes a display in the words of the tools. */
function toBlock({ isResult, image, table, omitted, ...forms }: Display): RunResult["results"][number] {
  return {
    is_result: isResult,
    ...forms,
    ...(image === undefined ? {} : { image: { media_type: image.mediaType, base64: image.base64 } }),
    ...(table === undefined
      ? {}
      : {
          table: {
            columns: [...table.columns],
            rows: table.rows.map((row) => [...row]),
            total_rows: table.totalRows,
            truncated: table.truncated,
          },
        }),
    omitted: [...omitted],
  };
}

function toExitError(execution: Execution, language: string): GuestError | null {
  if (execution.status !== "exited") return null;
  // `exit` in bash is how a script says its exit code; a signal is not.
  if (language === "bash" && execution.signal === null) return null;
  const how =
    execution.signal === null ? `ended with exit code ${execution.exitCode}` : `was killed by ${execution.signal}`;
  return { name: "InterpreterExited", message: `the ${language} interpreter ${how}`, traceback: "" };
}
