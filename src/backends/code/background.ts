import { randomUUID } from "node:crypto";
import { ToolyardError } from "../../core/errors.ts";
import type { SandboxProcess } from "../../core/sandbox-process.ts";
import { parseTerminalCommand } from "../../core/terminal.ts";
import type { CommandStatus } from "./bash-schemas.ts";
import type { SessionSandboxes } from "./sandboxes.ts";
import type { CodeContext } from "./session.ts";
import { quote, SHELL_STATE } from "./shell-code.ts";

/** A command that is to run by itself. */
export interface BackgroundCommand {
  readonly command: string;
  readonly cwd?: string | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Unlimited by default. */
  readonly timeoutMs?: number | undefined;
  /** The shell whose folder, exported variables and functions it starts with, once that has ended what it does. */
  readonly shell: string;
}

/** Characters of a script that surely fit into one argument of a program, which Linux bounds to 128 KiB. */
const MAX_ARGUMENT = 30_000;

/** What shows a command that runs for its own sake in a shell's clothes. */
const MARK = "\n# toolyard: the command\n";

/**
 * Starts a command in the background, with the state that its shell has.
 *
 * @throws ToolyardError `limit_exceeded` when the session has as many as it may.
 */
export async function startBackground(
  { command, cwd, env, timeoutMs, shell }: BackgroundCommand,
  maxBackground: number,
  context: CodeContext,
): Promise<SandboxProcess> {
  const { sandboxes } = context.session.data;
  const box = sandboxes.able("spawn");
  const known = await listBackground(sandboxes, context.signal);
  if (known.length >= maxBackground) {
    throw new ToolyardError("limit_exceeded", `a session may have ${maxBackground} commands in the background`, {
      details: { limit: "background_commands", max: maxBackground },
      suggestion: "End and remove one with bash:kill; those that ended count until they are removed.",
    });
  }
  const setUp = [
    await stateOf(shell, context),
    ...(cwd === undefined ? [] : [`cd -- ${quote(cwd)} || exit`]),
    ...Object.entries(env ?? {}).map(([name, value]) => `export ${name}=${quote(value)}`),
  ];
  const script = `${setUp.join("\n")}${MARK}${command}`;
  return box.spawn(
    {
      command: ["bash", "-c", script.length > MAX_ARGUMENT ? await toFile(script, context) : script],
      keepInput: true,
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    },
    context.signal,
  );
}

/** Reads what a new shell needs to be like an open one; nothing for one that is not open, and so is as any new one. */
async function stateOf(shell: string, { session, signal }: CodeContext): Promise<string> {
  const { sandboxes, timeoutMs } = session.data;
  if (!sandboxes.kernels.some(({ name }) => name === shell)) return "";
  const { status, stdout } = await sandboxes.use(shell, "bash", signal, ({ kernel }) =>
    kernel.run({ code: SHELL_STATE, deadlineMs: timeoutMs }, { signal }),
  );
  if (status === "ok" && !stdout.truncated) return stdout.text;
  throw new ToolyardError(
    "execution_error",
    `the shell "${shell}" could not say its state to start a command with it`,
    {
      suggestion: "Start it in a shell of its own: give shell another name.",
    },
  );
}

/** Puts a script where a shell finds it that could not take it as an argument. */
async function toFile(script: string, { session, signal }: CodeContext): Promise<string> {
  const path = `/tmp/.toolyard-${randomUUID()}.sh`;
  await session.data.sandboxes.able("files").files.write(path, Buffer.from(script, "utf8"), { mode: 0o600 }, signal);
  return `source ${path}`;
}

/** Lists the commands in the background, of which the programs of terminals are none. */
export async function listBackground(
  sandboxes: SessionSandboxes,
  signal: AbortSignal,
): Promise<readonly SandboxProcess[]> {
  const processes = await sandboxes.able("processes").processes(signal);
  return processes.filter(({ command }) => parseTerminalCommand(command) === undefined);
}

/** Finds a command of the session's box by its id. */
export async function findBackground(id: string, { session, signal }: CodeContext): Promise<SandboxProcess> {
  const known = await listBackground(session.data.sandboxes, signal);
  const found = known.find((process) => process.id === id);
  if (found !== undefined) return found;
  throw new ToolyardError("unknown_name", `there is no command "${id}" in the background`, {
    details: { ids: known.map((process) => process.id) },
    suggestion: "bash:list names those that there are.",
  });
}

export function toStatus({ id, pid, command, startedAt, exit }: SandboxProcess): CommandStatus {
  const script = command.at(-1) ?? "";
  const mark = script.indexOf(MARK);
  return {
    id,
    pid,
    command: mark < 0 ? command.join(" ") : script.slice(mark + MARK.length),
    running: exit === null,
    started_at: new Date(startedAt).toISOString(),
    timed_out: exit?.timedOut ?? false,
    exit_code: exit?.exitCode ?? null,
    signal: exit?.signal ?? null,
  };
}
