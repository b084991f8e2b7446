import type { ToolContext } from "./context.ts";
import { ToolyardError } from "./errors.ts";
import type { SandboxInstance } from "./runtime.ts";
import type { SessionTerminals, TerminalStatus } from "./terminal.ts";
import {
  IdParams,
  ReadParams,
  ReadResult,
  RecordingParams,
  RecordingResult,
  ResizeParams,
  StartParams,
  TerminalFacts,
  TerminalStatusResult,
  WriteParams,
  WriteResult,
} from "./terminal-schemas.ts";
import { type BoundTool, type Input, scanTools, tool } from "./tool.ts";

/**
 * `terminal:*`, for every backend whose sessions have a sandbox.
 *
 * @example
 * ```ts
 * override tools() { return scanTools(this, new TerminalTools<Vm>(({ session }) => session.data.box)); }
 * ```
 */
export class TerminalTools<D> {
  readonly #boxOf: (context: ToolContext<D>) => Pick<SandboxInstance, "files">;

  /** @param boxOf the session's sandbox; it throws when that cannot be used now. */
  constructor(boxOf: (context: ToolContext<D>) => Pick<SandboxInstance, "files">) {
    this.#boxOf = boxOf;
  }

  @tool({
    name: "terminal:start",
    description:
      "Start a real terminal in the sandbox, with a shell or a program in it; people can watch it and type in it at its url.",
    params: StartParams,
    result: TerminalFacts,
    annotations: { title: "Start a terminal", destructiveHint: false, openWorldHint: false },
  })
  async start(params: Input<typeof StartParams>, context: ToolContext<D>): Promise<TerminalFacts> {
    const { command, columns, rows, cwd, env } = params;
    const words = typeof command === "string" ? ["sh", "-c", command] : command;
    const request = { command: words, columns, rows, cwd, environment: env };
    return toFacts(await this.#terminalsOf(context).start(request, context.signal), context);
  }

  @tool({
    name: "terminal:stop",
    description: "Hang a terminal up and end all that runs in it; answers how its program ended.",
    params: IdParams,
    result: TerminalFacts,
    annotations: { title: "Stop a terminal", destructiveHint: true, idempotentHint: true },
  })
  async stop(params: Input<typeof IdParams>, context: ToolContext<D>): Promise<TerminalFacts> {
    return toFacts(await this.#terminalsOf(context).stop(params.terminal_id, context.signal), context);
  }

  @tool({
    name: "terminal:status",
    description: "List the terminals of the session, those that ended lately too, with their sizes, titles and exits.",
    result: TerminalStatusResult,
    annotations: { title: "Terminals", readOnlyHint: true, idempotentHint: true },
  })
  async status(_params: object, context: ToolContext<D>): Promise<TerminalStatusResult> {
    const terminals = (await terminalsOf(context).list()).map((status) => toFacts(status, context));
    return { running: terminals.filter(({ running }) => running).length, terminals };
  }

  @tool({
    name: "terminal:write",
    description: "Type in a terminal. Refused while a human has control of the session.",
    params: WriteParams,
    result: WriteResult,
    annotations: { title: "Type in a terminal", destructiveHint: true },
  })
  async write(params: Input<typeof WriteParams>, context: ToolContext<D>): Promise<WriteResult> {
    const data = Buffer.from(params.enter ? `${params.text}\r` : params.text, "utf8");
    const { id } = await this.#terminalsOf(context).write(params.terminal_id, data);
    return { terminal_id: id, written_bytes: data.length };
  }

  @tool({
    name: "terminal:read",
    description: "Read what a terminal wrote from a cursor on, and what it shows now as lines of text.",
    params: ReadParams,
    result: ReadResult,
    annotations: { title: "Read a terminal", readOnlyHint: true, idempotentHint: true },
  })
  async read(params: Input<typeof ReadParams>, context: ToolContext<D>): Promise<ReadResult> {
    const terminals = this.#terminalsOf(context);
    const { cursor, max_bytes: maxBytes, wait_ms: waitMs } = params;
    const read = await terminals.read(params.terminal_id, { cursor, maxBytes, waitMs, signal: context.signal });
    const { id, text, skippedBytes, ended } = read;
    const screen = params.screen ? await terminals.screen(id, read.cursor) : undefined;
    return {
      terminal_id: id,
      text,
      cursor: read.cursor,
      skipped_bytes: skippedBytes,
      ended,
      screen:
        screen === undefined ? null : { lines: [...screen.lines], cursor: screen.cursor, alternate: screen.alternate },
    };
  }

  @tool({
    name: "terminal:resize",
    description: "Give a terminal another size; its program is told. Refused while a human has control of the session.",
    params: ResizeParams,
    result: TerminalFacts,
    annotations: { title: "Resize a terminal", destructiveHint: false, idempotentHint: true },
  })
  async resize(params: Input<typeof ResizeParams>, context: ToolContext<D>): Promise<TerminalFacts> {
    const { terminal_id: id, columns, rows } = params;
    return toFacts(await this.#terminalsOf(context).resize(id, columns, rows), context);
  }

  @tool({
    name: "terminal:recording",
    description: "Give what a terminal has shown so far as an asciicast (version 2), here or as a file in the sandbox.",
    params: RecordingParams,
    result: RecordingResult,
    annotations: { title: "A terminal's recording", destructiveHint: false, idempotentHint: true },
  })
  async recording(params: Input<typeof RecordingParams>, context: ToolContext<D>): Promise<RecordingResult> {
    const { path } = params;
    const { id, cast, complete } = await terminalsOf(context).recording(params.terminal_id);
    const data = Buffer.from(cast, "utf8");
    if (path !== undefined) await this.#write(path, data, context);
    return {
      terminal_id: id,
      format: "asciicast-v2",
      complete,
      size_bytes: data.length,
      path: path ?? null,
      cast: path === undefined ? cast : null,
    };
  }

  /** What needs a sandbox that runs, in contrast to what is kept of its terminals. */
  #terminalsOf(context: ToolContext<D>): SessionTerminals {
    this.#boxOf(context);
    return terminalsOf(context);
  }

  async #write(path: string, data: Uint8Array, context: ToolContext<D>): Promise<void> {
    const { files } = this.#boxOf(context);
    if (files === undefined) throw new ToolyardError("runtime_unavailable", "the session's sandbox has no files");
    await files.write(path, data, {}, context.signal);
  }
}

/** The same tools for a backend beside others that have them, under names of its own: `terminal_start` and so on. */
export function ownTerminalTools<D>(tools: TerminalTools<D>): ReadonlyMap<string, BoundTool> {
  const own = [...scanTools(tools).values()].map((bound) => ({
    ...bound,
    name: bound.name.replace(":", "_"),
    renamed: false,
  }));
  return new Map(own.map((bound) => [bound.name, bound]));
}

function terminalsOf({ terminals }: Pick<ToolContext, "terminals">): SessionTerminals {
  if (terminals !== undefined) return terminals;
  throw new ToolyardError("runtime_unavailable", "there are no terminals for backends in a worker thread");
}

function toFacts(
  { id, running, pid, command, columns, rows, title, startedAt, exit, viewers }: TerminalStatus,
  { session }: { readonly session: unknown },
): TerminalFacts {
  const sessionId = typeof session === "object" && session !== null && "id" in session ? String(session.id) : "";
  return {
    terminal_id: id,
    running,
    pid,
    command: [...command],
    columns,
    rows,
    title,
    started_at: startedAt.toISOString(),
    exit_code: exit?.exitCode ?? null,
    signal: exit?.signal ?? null,
    viewers,
    url: `/ws/term/${encodeURIComponent(sessionId)}?terminal=${id}`,
  };
}
