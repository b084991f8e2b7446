import { randomBytes } from "node:crypto";
import type Docker from "dockerode";
import type { Duplex } from "node:stream";
import { ToolyardError } from "../../core/errors.ts";
import type { ExecOptions } from "../../core/runtime.ts";
import type { CommandResult, CommandSpec } from "../../core/sandbox-process.ts";
import { ByteCapture } from "./byte-capture.ts";
import { Demultiplexer } from "./demultiplexer.ts";
import { type EngineClient, DEADLINES_MS } from "./engine-client.ts";
import { isMissing } from "./engine-failure.ts";

// Inherited by all that a command starts, so that it can be found.
const MARK = "TOOLYARD_COMMAND";
// A process that cleared its environment is found by nothing but this: it takes all that the container's user has.
const KILL_ALL = "kill -9 -1";
const KILL_MARKED =
  'n=0; while [ $n -lt 50 ]; do n=$((n+1)); f=; for p in /proc/[0-9]*; do if grep -q "$0" $p/environ 2>/dev/null; ' +
  'then kill -9 ${p#/proc/} 2>/dev/null && f=1; fi; done; [ -z "$f" ] && break; done';
const BEGIN_LOOKS = 100;
const BEGIN_LOOK_MS = 50;
const NOT_RUNNABLE = 126;
const NOT_FOUND = 127;
const ENGINE_COMPLAINT = "OCI runtime exec failed";
const SIGNALLED = 128;
const SIGKILL = 9;

/** Where commands run. */
export interface ExecPlace {
  readonly engine: EngineClient;
  readonly container: string;
  readonly sh: string;
  readonly outputBytes: number;
  /** How many commands run there now, this one included. */
  readonly running: () => number;
}

/**
 * Runs a command through the engine, for images in which no supervisor can run. At its timeout everything is killed that it
 * started, and, when no other command runs beside it, everything that runs at all.
 *
 * @throws ToolyardError `sandbox_dead`, `cancelled`; EngineFailure.
 */
export async function execInContainer(
  place: ExecPlace,
  spec: CommandSpec,
  { signal, onOutput }: ExecOptions,
): Promise<CommandResult> {
  signal.throwIfAborted();
  const started = performance.now();
  const mark = `${MARK}=${randomBytes(12).toString("hex")}`;
  const { exec, stream } = await open(place, spec, mark);
  const limit = spec.outputBytes ?? place.outputBytes;
  const captures = {
    stdout: new ByteCapture(limit, (text) => onOutput?.("stdout", text)),
    stderr: new ByteCapture(limit, (text) => onOutput?.("stderr", text)),
  };
  const stopped = await watch(place, { exec, stream }, { mark, spec, signal, captures });
  const call = { what: "asking how a command ended", deadlineMs: DEADLINES_MS.look };
  const { ExitCode: code } = await place.engine.call(call, (_docker, abortSignal) => exec.inspect({ abortSignal }));
  const killed = stopped !== null || code === SIGNALLED + SIGKILL;
  if (stopped === "cancelled") throw new ToolyardError("cancelled", "the command was cancelled");
  // The end of the container looks like one of the command's own.
  if (stopped === null && (killed || code === NOT_RUNNABLE || code === null)) await assertRuns(place);
  return toRunnable(spec, {
    stdout: captures.stdout.finish(),
    stderr: captures.stderr.finish(),
    exitCode: killed ? null : code,
    signal: killed ? "SIGKILL" : null,
    timedOut: stopped === "timeout",
    limit: null,
    durationMs: performance.now() - started,
  });
}

/** The engine tells as output what could not be run at all, and where its own files are. */
function toRunnable({ command: [program = ""] }: CommandSpec, result: CommandResult): CommandResult {
  const { exitCode, stdout } = result;
  const refused = exitCode === NOT_RUNNABLE || exitCode === NOT_FOUND;
  if (!refused || !stdout.text.startsWith(ENGINE_COMPLAINT)) return result;
  const missing = /no such file or directory|executable file not found/.test(stdout.text);
  const text = `${program}: ${missing ? "not found" : "cannot be run"}\n`;
  return {
    ...result,
    exitCode: missing ? NOT_FOUND : NOT_RUNNABLE,
    stdout: { text: "", bytes: 0, truncated: false },
    stderr: { text, bytes: Buffer.byteLength(text), truncated: false },
  };
}

/** @throws ToolyardError `sandbox_dead` when the container has ended; EngineFailure. */
export async function assertRuns({ engine, container }: Pick<ExecPlace, "engine" | "container">): Promise<void> {
  const call = { what: "asking whether a container runs", deadlineMs: DEADLINES_MS.look };
  const runs = await engine
    .call(call, (docker, abortSignal) => docker.getContainer(container).inspect({ abortSignal }))
    .then(
      ({ State: state }) => state.Running,
      (error: unknown) => {
        if (isMissing(error)) return false;
        throw error;
      },
    );
  if (!runs) throw new ToolyardError("sandbox_dead", "the sandbox died: its container ended");
}

async function open(
  { engine, container }: ExecPlace,
  spec: CommandSpec,
  mark: string,
): Promise<{ readonly exec: Docker.Exec; readonly stream: Duplex }> {
  const call = { what: "starting a command", deadlineMs: DEADLINES_MS.start };
  const variables = Object.entries(spec.environment ?? {}).map(([name, value]) => `${name}=${value}`);
  try {
    return await engine.call(call, async (docker, abortSignal) => {
      const exec = await docker.getContainer(container).exec({
        Cmd: [...spec.command],
        Env: [...variables, mark],
        WorkingDir: spec.cwd ?? "/workspace",
        AttachStdin: spec.input !== undefined,
        AttachStdout: true,
        AttachStderr: true,
        abortSignal,
      });
      // No signal: it would end the stream with the call that opened it.
      const stream = await exec.start({ hijack: true, stdin: spec.input !== undefined });
      if (spec.input !== undefined) stream.end(Buffer.from(spec.input));
      return { exec, stream };
    });
  } catch (error) {
    if (isMissing(error)) throw new ToolyardError("sandbox_dead", "the sandbox's container is gone", { cause: error });
    throw error;
  }
}

/** Reads all that a command writes; resolves when it has ended, with why it was killed. */
function watch(
  place: ExecPlace,
  { exec, stream }: { readonly exec: Docker.Exec; readonly stream: Duplex },
  options: {
    readonly mark: string;
    readonly spec: CommandSpec;
    readonly signal: AbortSignal;
    readonly captures: Readonly<Record<"stdout" | "stderr", ByteCapture>>;
  },
): Promise<"timeout" | "cancelled" | null> {
  const { mark, spec, signal, captures } = options;
  return new Promise((resolve, reject) => {
    let stopped: "timeout" | "cancelled" | null = null;
    const demultiplexer = new Demultiplexer((name, data) => captures[name].push(data));
    const stop = (why: "timeout" | "cancelled") => {
      if (stopped !== null) return;
      stopped = why;
      // What survives holds the stream open; it is closed in any case.
      untilBegun(place, exec)
        .then(() => killTree(place, mark))
        .then(
          () => stream.destroy(),
          (error: unknown) => finish(() => reject(error)),
        );
    };
    const timer = spec.timeoutMs === undefined ? undefined : setTimeout(() => stop("timeout"), spec.timeoutMs);
    const cancel = () => stop("cancelled");
    const finish = (settle: () => void) => {
      clearTimeout(timer);
      signal.removeEventListener("abort", cancel);
      stream.destroy();
      settle();
    };
    // It may have fired while the engine started the command.
    if (signal.aborted) cancel();
    else signal.addEventListener("abort", cancel, { once: true });
    stream.on("data", (chunk: Buffer) => {
      try {
        demultiplexer.push(chunk);
      } catch (error) {
        finish(() => reject(error));
      }
    });
    stream.on("error", () => {});
    stream.once("close", () => finish(() => resolve(stopped)));
    stream.once("end", () => finish(() => resolve(stopped)));
  });
}

/** Waits until there is something to kill: the engine answers before it has started a command. */
async function untilBegun({ engine }: ExecPlace, exec: Docker.Exec): Promise<void> {
  const call = { what: "asking whether a command has begun", deadlineMs: DEADLINES_MS.look };
  for (let look = 0; look < BEGIN_LOOKS; look += 1) {
    // oxlint-disable-next-line no-await-in-loop -- one look after another
    const { Pid: pid, ExitCode: code } = await engine.call(call, (_docker, abortSignal) =>
      exec.inspect({ abortSignal }),
    );
    if (pid > 0 || code !== null) return;
    // oxlint-disable-next-line no-await-in-loop
    await new Promise((resolve) => setTimeout(resolve, BEGIN_LOOK_MS));
  }
}

async function killTree({ engine, container, sh, running }: ExecPlace, mark: string): Promise<void> {
  const script = running() > 1 ? [sh, "-c", KILL_MARKED, mark] : [sh, "-c", KILL_ALL];
  const call = { what: "killing what a command started", deadlineMs: DEADLINES_MS.look };
  await engine.call(call, async (docker, abortSignal) => {
    const exec = await docker.getContainer(container).exec({ Cmd: script, AttachStdout: true, abortSignal });
    const stream = await exec.start({ hijack: true, stdin: false });
    stream.resume();
    await new Promise<void>((resolve) => {
      stream.once("close", resolve);
      stream.once("end", resolve);
      abortSignal.addEventListener("abort", () => resolve(), { once: true });
    });
  });
}
