import { ToolyardError } from "../../core/errors.ts";
import type { Execution, Kernel, SandboxInstance } from "../../core/runtime.ts";
import type { CommandResult } from "../../core/sandbox-process.ts";

const NOTHING = { text: "", bytes: 0, truncated: false };
// What shells other than bash lack of what ours are told with; a folder that is not there ends the command.
const BUILTIN = `builtin() { case $1 in return) exit 1 ;; *) "$@" ;; esac; }\n`;

/**
 * Stands for the shell that lasts where there is no python3 to keep one: each command has a new shell, so that files stay and
 * variables do not.
 */
export function createPlainShell(
  shell: { readonly path: string; readonly isBash: boolean },
  exec: NonNullable<SandboxInstance["exec"]>,
): Kernel {
  let running = new AbortController();
  return {
    language: "bash",
    run: async ({ code, deadlineMs }, { signal, onOutput }) => {
      running = new AbortController();
      const command = [shell.path, "-c", shell.isBash ? code : BUILTIN + code];
      const started = performance.now();
      try {
        const options = {
          signal: AbortSignal.any([signal, running.signal]),
          ...(onOutput !== undefined && {
            onOutput: (stream: "stdout" | "stderr", text: string) => void onOutput(stream, text),
          }),
        };
        return toExecution(await exec({ command, timeoutMs: deadlineMs }, options));
      } catch (error) {
        if (!ToolyardError.is(error) || error.error !== "cancelled") throw error;
        const durationMs = performance.now() - started;
        return { ...EMPTY, status: "cancelled", stdout: NOTHING, stderr: NOTHING, durationMs };
      }
    },
    interrupt: () => running.abort(),
    stop: async () => running.abort(),
  };
}

const EMPTY = {
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
  stateLost: false,
} as const;

function toExecution({ stdout, stderr, exitCode, signal, timedOut, limit, durationMs }: CommandResult): Execution {
  const status = timedOut ? "timeout" : limit === null ? "ok" : "limit";
  return { ...EMPTY, status, stdout, stderr, exitCode, signal, limit, durationMs };
}
