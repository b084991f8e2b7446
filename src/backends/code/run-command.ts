import type { RunResult } from "./code-schemas.ts";
import { runIn } from "./run-code.ts";
import type { OpenKernel } from "./sandboxes.ts";
import type { CodeContext } from "./session.ts";
import { quote, toShellCode } from "./shell-code.ts";

/** A command for a shell that lasts. */
export interface ShellCommand {
  readonly command: string;
  readonly shell: string;
  readonly cwd?: string | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly timeoutMs?: number | undefined;
  readonly maxTimeoutMs: number;
}

/** What it takes to ask a shell where it is, and to send it somewhere. */
const ASIDE_MS = 5_000;
/** Characters of a command that an event holds. */
const MAX_TOLD = 1_000;

/** Runs a command in the shell itself, which is afterwards where it was before if the command was to run elsewhere. */
export async function runCommand(run: ShellCommand, context: CodeContext): Promise<RunResult> {
  const done = await runInShell(run, context);
  tellCommand(context, run.command, done);
  return done;
}

/** Tells the event log of a command: how it ended, or that it was started in the background. */
export function tellCommand(
  context: CodeContext,
  command: string,
  ended?: Pick<RunResult, "exit_code" | "duration_ms">,
): void {
  context.emit?.("command_executed", {
    sandbox_id: context.session.data.sandboxes.box.id,
    command: command.length > MAX_TOLD ? `${command.slice(0, MAX_TOLD)}…` : command,
    background: ended === undefined,
    exit_code: ended?.exit_code ?? null,
    duration_ms: ended?.duration_ms ?? null,
  });
}

function runInShell(run: ShellCommand, context: CodeContext): Promise<RunResult> {
  const { command, shell, cwd, env, timeoutMs, maxTimeoutMs } = run;
  const code = toShellCode(command, { cwd, env });
  return context.session.data.sandboxes.use(shell, "bash", context.signal, async (open) => {
    const folder = cwd === undefined ? undefined : await aside(open, 'builtin printf %s "$PWD"');
    try {
      return await runIn(open, { language: "bash", code, timeoutMs, maxTimeoutMs }, context);
    } finally {
      // However it ended: a timeout or an `exit` must not leave the shell elsewhere. In a sandbox that died nobody is anywhere.
      if (folder !== undefined) await aside(open, `builtin cd -- ${quote(folder)}`).catch(() => "");
    }
  });
}

async function aside({ kernel }: OpenKernel, code: string): Promise<string> {
  // Not the call's signal: it may be what ended the command.
  const signal = AbortSignal.timeout(ASIDE_MS);
  return (await kernel.run({ code, deadlineMs: ASIDE_MS }, { signal })).stdout.text;
}
