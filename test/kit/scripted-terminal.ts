import { ToolyardError } from "../../src/core/errors.ts";
import type { SandboxInstance } from "../../src/core/runtime.ts";
import type { CommandSpec, ProcessExit, ProcessLog, SandboxProcess } from "../../src/core/sandbox-process.ts";
import { type BoundTool, scanTools } from "../../src/core/tool.ts";
import { TerminalTools } from "../../src/core/terminal-tools.ts";
import { SandboxedBackend } from "./sandboxed-backend.ts";

/** A process whose output the test writes and whose input it reads; its log is bounded as a sandbox's is. */
export class ScriptedProcess implements SandboxProcess {
  readonly id: string;
  readonly command: readonly string[];
  readonly pid = 7;
  readonly startedAt = 1_000;
  readonly inputs: string[] = [];
  readonly sizes: string[] = [];
  readonly signals: string[] = [];
  removed = false;
  /** While it is set, nothing that is written is taken. */
  blocked: Promise<void> | undefined;
  exit: ProcessExit | null = null;
  readonly exited: Promise<ProcessExit>;
  readonly #settle: (exit: ProcessExit) => void;
  readonly #fail: (error: unknown) => void;
  readonly #logBytes: number;
  #log = Buffer.alloc(0);
  #start = 0;
  #dead: ToolyardError | undefined;
  readonly #waiting = new Set<() => void>();

  constructor(id: string, command: readonly string[], logBytes = 1_048_576) {
    this.id = id;
    this.command = command;
    this.#logBytes = logBytes;
    const { promise, resolve, reject } = Promise.withResolvers<ProcessExit>();
    this.exited = promise;
    this.#settle = resolve;
    this.#fail = reject;
    promise.catch(() => undefined);
  }

  print(text: string | Uint8Array): void {
    this.#log = Buffer.concat([this.#log, Buffer.from(text as string)]);
    const over = Math.max(0, this.#log.length - this.#logBytes);
    this.#log = this.#log.subarray(over);
    this.#start += over;
    this.#wake();
  }

  end(exitCode: number | null = 0, signal: string | null = null): void {
    if (this.exit !== null) return;
    this.exit = { exitCode, signal, timedOut: false };
    this.#settle(this.exit);
    this.#wake();
  }

  /** As when its sandbox dies. */
  die(): void {
    this.#dead = new ToolyardError("sandbox_dead", "the sandbox is gone");
    this.#fail(this.#dead);
    this.#wake();
  }

  async read({
    cursor,
    maxBytes = 65_536,
    waitMs = 0,
    signal,
  }: Parameters<SandboxProcess["read"]>[0]): Promise<ProcessLog> {
    const end = () => this.#start + this.#log.length;
    // No timer of its own: a wait ends with output, with the process or with the signal.
    if (waitMs > 0 && end() <= cursor && this.exit === null && this.#dead === undefined) await this.#more(signal);
    if (this.#dead !== undefined) throw this.#dead;
    signal.throwIfAborted();
    const from = Math.max(cursor, this.#start);
    const data = this.#log.subarray(from - this.#start, from - this.#start + maxBytes);
    const next = from + data.length;
    const chunks = data.length === 0 ? [] : [{ stream: "stdout" as const, data }];
    return { chunks, cursor: next, skipped: from - cursor, ended: this.exit !== null && next === end() };
  }

  async write(data: Uint8Array): Promise<void> {
    await this.blocked;
    if (this.exit !== null) throw new ToolyardError("conflict", "it has ended");
    this.inputs.push(Buffer.from(data).toString("utf8"));
  }

  endInput = (): Promise<void> => Promise.resolve();

  async kill(signal = "SIGTERM"): Promise<void> {
    this.signals.push(signal);
    if (signal !== "SIGHUP" || this.hangupsIgnored-- <= 0) this.end(null, signal);
  }
  hangupsIgnored = 0;

  async resize(columns: number, rows: number): Promise<void> {
    this.sizes.push(`${columns}x${rows}`);
  }

  async remove(): Promise<void> {
    this.removed = true;
    this.end(null, "SIGKILL");
  }

  #more(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const tell = () => {
        this.#waiting.delete(tell);
        resolve();
      };
      this.#waiting.add(tell);
      signal.addEventListener("abort", tell, { once: true });
    });
  }

  #wake(): void {
    for (const tell of [...this.#waiting]) tell();
  }
}

/** A backend whose sessions have scripted terminals, in the order of their start. */
export class ScriptedTerminals extends SandboxedBackend {
  readonly processes: ScriptedProcess[] = [];
  readonly specs: CommandSpec[] = [];

  constructor(abilities: Partial<SandboxInstance> = {}) {
    super({
      each: () => ({
        spawn: async (spec) => {
          const process = new ScriptedProcess(`p${this.processes.length + 1}`, spec.command);
          this.specs.push(spec);
          this.processes.push(process);
          return process;
        },
        processes: async () => this.processes.filter(({ removed }) => !removed),
        ...abilities,
      }),
    });
  }

  /** The process of the terminal that was started last. */
  get last(): ScriptedProcess {
    const process = this.processes.at(-1);
    if (process === undefined) throw new Error("no terminal was started");
    return process;
  }

  override tools(): ReadonlyMap<string, BoundTool> {
    return scanTools(this, new TerminalTools<SandboxInstance>(({ session }) => session.data));
  }
}
