import type { Execution, ExecutionHooks, GuestError, Kernel, Language } from "../../core/runtime.ts";
import type { KernelRequest } from "./messages.ts";
import { stripTypes } from "./strip-types.ts";

type Execute = (request: KernelRequest, hooks: ExecutionHooks) => Promise<Execution>;

const NOTHING = { text: "", bytes: 0, truncated: false };
// Bash names the code by where it reads it from; the line is true.
const SHELL_COMPLAINT =
  /^\/dev\/fd\/9: line (\d+): ((?:syntax error|unexpected EOF)[^\n]*)(?:\n\/dev\/fd\/9: line \d+: (`[^\n]*))?/m;

/** Gives a kernel its `run`: what its language needs on this side, around the execution on the other. */
export function createRun(language: Language, execute: Execute): Kernel["run"] {
  switch (language) {
    case "python":
      return execute;
    case "javascript":
      return (request, hooks) =>
        request.dialect === "typescript" ? runStripped(request, hooks, execute) : execute(request, hooks);
    case "bash":
      return async (request, hooks) => withSyntaxError(await execute(request, hooks));
  }
}

async function runStripped(
  { code, deadlineMs }: KernelRequest,
  hooks: ExecutionHooks,
  execute: Execute,
): Promise<Execution> {
  const stripped = await stripTypes(code);
  if ("code" in stripped) return execute({ code: stripped.code, deadlineMs }, hooks);
  return {
    status: "error",
    stdout: NOTHING,
    stderr: NOTHING,
    value: null,
    text: null,
    valueTruncated: false,
    lossy: [],
    displays: [],
    displaysOmitted: 0,
    error: stripped.error,
    limit: null,
    exitCode: null,
    signal: null,
    stateLost: false,
    durationMs: 0,
  };
}

/** Bash tells a syntax error on stderr only; here it becomes an error as in the other languages. */
function withSyntaxError(execution: Execution): Execution {
  // Two is its exit code for code that it could not parse.
  if (execution.status !== "ok" || execution.exitCode !== 2) return execution;
  const error = findSyntaxError(execution.stderr.text);
  return error === null ? execution : { ...execution, status: "error", error };
}

function findSyntaxError(stderr: string): GuestError | null {
  const [found, line, message, excerpt] = SHELL_COMPLAINT.exec(stderr) ?? [];
  if (found === undefined || message === undefined) return null;
  const traceback = `line ${line}: ${message}${excerpt === undefined ? "" : `\n${excerpt}`}`;
  return { name: "SyntaxError", message, line: Number(line), traceback };
}
