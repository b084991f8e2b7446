import { type ChildProcess, spawn, type StdioOptions } from "node:child_process";
import { once } from "node:events";
import type { CommandResult, CommandSpec } from "../../../core/sandbox-process.ts";

const OUTPUT_BYTES = 1024 * 1024;
const END_MS = 2_000;

/** The processes of one local desktop, each with all that it starts in a group of its own. */
export class LocalProcesses {
  readonly #environment: Readonly<Record<string, string>>;
  readonly #cwd: string;
  readonly #running = new Set<ChildProcess>();

  constructor(environment: Readonly<Record<string, string>>, cwd: string) {
    this.#environment = environment;
    this.#cwd = cwd;
  }

  /** Starts a program that lasts. */
  start(command: readonly string[], environment: Readonly<Record<string, string>>, stdio: StdioOptions): ChildProcess {
    const [program = "", ...args] = command;
    const env = { ...this.#environment, ...environment };
    const child = spawn(program, args, { cwd: this.#cwd, env, stdio, detached: true });
    this.#running.add(child);
    const gone = () => this.#running.delete(child);
    child.once("exit", gone);
    child.once("error", gone);
    return child;
  }

  /** Runs a command to its end. A program that is not there ends with 127, as in a shell. */
  async exec(
    spec: CommandSpec,
    environment: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<CommandResult> {
    const startedAt = performance.now();
    const child = this.start(spec.command, { ...environment, ...spec.environment }, ["pipe", "pipe", "pipe"]);
    let timedOut = false;
    const kill = () => killGroup(child, "SIGKILL");
    const timer = setTimeout(() => {
      timedOut = true;
      kill();
    }, spec.timeoutMs ?? 60_000);
    signal.addEventListener("abort", kill, { once: true });
    const stdout = capture(child.stdout, spec.outputBytes);
    const stderr = capture(child.stderr, spec.outputBytes);
    child.stdin?.on("error", () => {});
    child.stdin?.end(spec.input ?? "");
    try {
      const [exitCode, killedBy] = await ended(child);
      signal.throwIfAborted();
      const durationMs = performance.now() - startedAt;
      return { exitCode, signal: killedBy, timedOut, stdout: stdout(), stderr: stderr(), limit: null, durationMs };
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", kill);
    }
  }

  /** Ends all of them, by force after a while. */
  async stop(): Promise<void> {
    await Promise.all(
      [...this.#running].map(async (child) => {
        const gone = ended(child);
        killGroup(child, "SIGTERM");
        const timer = setTimeout(() => killGroup(child, "SIGKILL"), END_MS);
        await gone;
        clearTimeout(timer);
      }),
    );
  }
}

async function ended(child: ChildProcess): Promise<[number | null, string | null]> {
  if (child.exitCode !== null || child.signalCode !== null) return [child.exitCode, child.signalCode];
  try {
    const [code, signal]: unknown[] = await once(child, "close");
    return [typeof code === "number" ? code : null, typeof signal === "string" ? signal : null];
  } catch {
    return [127, null];
  }
}

function killGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // It is gone already.
  }
}

/** Keeps the start of a stream, and drinks the rest so that its writer does not wait. */
function capture(stream: NodeJS.ReadableStream | null, limit = OUTPUT_BYTES): () => CommandResult["stdout"] {
  const chunks: Buffer[] = [];
  let bytes = 0;
  stream?.on("data", (chunk: Buffer) => {
    if (bytes < limit) chunks.push(chunk.subarray(0, limit - bytes));
    bytes += chunk.length;
  });
  return () => ({ text: Buffer.concat(chunks).toString("utf8"), bytes, truncated: bytes > limit });
}
