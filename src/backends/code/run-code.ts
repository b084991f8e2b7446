import type { Language } from "../../core/runtime.ts";
import { runCompiled } from "./run-compiled.ts";
import { toRunResult } from "./run-result.ts";
import type { KERNEL_LANGUAGES, LANGUAGES, RunResult } from "./code-schemas.ts";
import type { OpenKernel } from "./sandboxes.ts";
import type { CodeContext } from "./session.ts";
import { StopSignal } from "./stop-signal.ts";

/** Code and where it is to run. */
export interface CodeRun {
  readonly language: (typeof KERNEL_LANGUAGES)[number];
  readonly code: string;
  /** The language's own by default. */
  readonly kernel?: string | undefined;
  /** The session's by default. */
  readonly timeoutMs?: number | undefined;
  readonly maxTimeoutMs: number;
}

/**
 * Runs code in a kernel of the call's session, in its turn. The time that it may take begins with the turn.
 *
 * @throws ToolyardError `timeout`, `limit_exceeded` or `cancelled` with what the code wrote until then.
 */
export function runCode(run: CodeRun, context: CodeContext): Promise<RunResult> {
  const language: Language = run.language === "typescript" ? "javascript" : run.language;
  const { sandboxes } = context.session.data;
  return sandboxes.use(run.kernel ?? language, language, context.signal, (open) => runIn(open, run, context));
}

/** Runs code in a kernel whose turn the caller has; throws as {@link runCode} does. */
export async function runIn(open: OpenKernel, run: CodeRun, context: CodeContext): Promise<RunResult> {
  const wantedMs = Math.min(run.timeoutMs ?? context.session.data.timeoutMs, run.maxTimeoutMs);
  open.executionCount += 1;
  const timeoutMs = Math.max(1, Math.min(wantedMs, Math.floor(context.timeLeftMs)));
  using stop = new StopSignal(context.signal);
  const execution = await open.kernel.run(
    {
      code: run.code,
      deadlineMs: timeoutMs,
      ...(run.language === "typescript" ? { dialect: "typescript" } : {}),
    },
    {
      signal: stop.signal,
      onOutput: (stream, text) => context.output(stream, text),
      onCall: ({ tool: action, args }, signal) => context.call(action, args, { signal, caller: "code" }),
    },
  );
  if (execution.stateLost) open.executionCount = 0;
  return toRunResult(execution, { language: run.language, open, timeoutMs });
}

/** Runs code of any language: in its kernel, or as a program of its own where it has none. */
export function runAnyCode(
  run: Omit<CodeRun, "language"> & { readonly language: (typeof LANGUAGES)[number] },
  context: CodeContext,
): Promise<RunResult> {
  const { language } = run;
  switch (language) {
    case "javascript":
    case "typescript":
    case "python":
    case "bash":
      return runCode({ ...run, language }, context);
    default:
      return runCompiled({ ...run, language }, context);
  }
}
