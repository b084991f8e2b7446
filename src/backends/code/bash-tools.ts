import { StringDecoder } from "node:string_decoder";
import type { ProcessLog } from "../../core/sandbox-process.ts";
import { type Input, tool } from "../../core/tool.ts";
import { findBackground, listBackground, startBackground, toStatus } from "./background.ts";
import {
  BashParams,
  BashResult,
  CommandStatus,
  IdParams,
  InputParams,
  InputResult,
  KillResult,
  ListCommandsResult,
  LogsParams,
  LogsResult,
  SignalParams,
  SignalResult,
  StatusParams,
} from "./bash-schemas.ts";
import type { ToolLimits } from "./code-tools.ts";
import { runCommand, tellCommand } from "./run-command.ts";
import type { CodeContext } from "./session.ts";

/** `bash:*`: a shell that lasts, and commands in the background. */
export class BashTools {
  readonly #limits: ToolLimits;

  constructor(limits: ToolLimits) {
    this.#limits = limits;
  }

  @tool({
    name: "bash:run",
    description:
      "Run a command in a shell of the sandbox that lasts: its folder, variables and functions are there for the next " +
      "command. Answers the exit code, stdout and stderr; with background, an id at once.",
    params: BashParams,
    result: BashResult,
    annotations: { title: "Run a command", destructiveHint: true, openWorldHint: false },
  })
  async run(params: Input<typeof BashParams>, context: CodeContext): Promise<BashResult> {
    const { command, cwd, env, shell, timeout_ms: timeoutMs } = params;
    const { maxTimeoutMs, maxBackground } = this.#limits;
    if (params.background) {
      const started = await startBackground({ command, cwd, env, timeoutMs, shell }, maxBackground, context);
      tellCommand(context, command);
      const { id, pid, startedAt } = started;
      return { background: true, id, pid, started_at: new Date(startedAt).toISOString() };
    }
    const done = await runCommand({ command, shell, cwd, env, timeoutMs, maxTimeoutMs }, context);
    if (done.exit_code !== 0 || done.error !== null) context.setOutcome("tool_error");
    const { stdout, stderr, stdout_bytes, stderr_bytes } = done.truncated;
    return {
      background: false,
      exit_code: done.exit_code,
      signal: done.signal,
      stdout: done.stdout,
      stderr: done.stderr,
      truncated: { stdout, stderr, stdout_bytes, stderr_bytes },
      duration_ms: done.duration_ms,
      state_lost: done.state_lost,
    };
  }

  @tool({
    name: "bash:logs",
    description: "Read what a command in the background wrote, from a cursor on.",
    params: LogsParams,
    result: LogsResult,
    annotations: { title: "Read a command's output", readOnlyHint: true, idempotentHint: true },
  })
  async logs(params: Input<typeof LogsParams>, context: CodeContext): Promise<LogsResult> {
    const process = await findBackground(params.id, context);
    const { cursor, max_bytes: maxBytes, wait_ms: waitMs } = params;
    const log = await process.read({ cursor, maxBytes, waitMs, signal: context.signal });
    return {
      id: params.id,
      chunks: toText(log),
      cursor: log.cursor,
      skipped_bytes: log.skipped,
      ended: log.ended,
    };
  }

  @tool({
    name: "bash:status",
    description: "Say whether a command in the background runs, and how it ended.",
    params: StatusParams,
    result: CommandStatus,
    annotations: { title: "A command's status", readOnlyHint: true, idempotentHint: true },
  })
  async status(params: Input<typeof StatusParams>, context: CodeContext): Promise<CommandStatus> {
    const process = await findBackground(params.id, context);
    if (process.exit === null && params.wait_ms > 0) await orAfter(process.exited, params.wait_ms, context.signal);
    return toStatus(process);
  }

  @tool({
    name: "bash:list",
    description: "List the commands in the background, ended ones too until they are killed away.",
    result: ListCommandsResult,
    annotations: { title: "List commands", readOnlyHint: true, idempotentHint: true },
  })
  async list(_params: object, { session, signal }: CodeContext): Promise<ListCommandsResult> {
    return { commands: (await listBackground(session.data.sandboxes, signal)).map(toStatus) };
  }

  @tool({
    name: "bash:input",
    description: "Write to the input of a command in the background, and end it if asked to.",
    params: InputParams,
    result: InputResult,
    annotations: { title: "Write to a command", destructiveHint: false },
  })
  async input({ id, text, end }: Input<typeof InputParams>, context: CodeContext): Promise<InputResult> {
    const process = await findBackground(id, context);
    const data = Buffer.from(text, "utf8");
    if (data.length > 0) await process.write(data);
    if (end) await process.endInput();
    return { id, written_bytes: data.length, ended: end };
  }

  @tool({
    name: "bash:signal",
    description: "Send a signal to a command in the background and to what it started.",
    params: SignalParams,
    result: SignalResult,
    annotations: { title: "Signal a command", destructiveHint: true },
  })
  async signal({ id, signal }: Input<typeof SignalParams>, context: CodeContext): Promise<SignalResult> {
    const process = await findBackground(id, context);
    await process.kill(signal);
    return { id, signal };
  }

  @tool({
    name: "bash:kill",
    description: "Kill a command in the background with all that it started, and forget it and its output.",
    params: IdParams,
    result: KillResult,
    annotations: { title: "Kill a command", destructiveHint: true, idempotentHint: true },
  })
  async kill({ id }: Input<typeof IdParams>, context: CodeContext): Promise<KillResult> {
    const process = await findBackground(id, context);
    const killed = process.exit === null;
    await process.remove();
    return { id, killed };
  }
}

/** Joins neighbouring chunks of a stream, so that a character that was cut between them is whole. */
function toText({ chunks }: ProcessLog): { stream: "stdout" | "stderr"; text: string }[] {
  const decoders = { stdout: new StringDecoder("utf8"), stderr: new StringDecoder("utf8") };
  const told: { stream: "stdout" | "stderr"; text: string }[] = [];
  const tell = (stream: "stdout" | "stderr", text: string) => {
    const last = told.at(-1);
    if (last?.stream === stream) last.text += text;
    else if (text !== "") told.push({ stream, text });
  };
  for (const { stream, data } of chunks) tell(stream, decoders[stream].write(Buffer.from(data)));
  for (const stream of ["stdout", "stderr"] as const) tell(stream, decoders[stream].end());
  return told;
}

async function orAfter(work: Promise<unknown>, waitMs: number, signal: AbortSignal): Promise<void> {
  const over = AbortSignal.any([signal, AbortSignal.timeout(waitMs)]);
  const waited = Promise.withResolvers<void>();
  over.addEventListener("abort", () => waited.resolve(), { once: true });
  await Promise.race([work, waited.promise]);
  signal.throwIfAborted();
}
