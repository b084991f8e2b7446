import type { ProcessExit, ProcessLog, SandboxProcess } from "../../core/sandbox-process.ts";
import { count, flag, isCount, isFields, wrong } from "./fields.ts";
import { ProtocolViolation } from "./frame.ts";
import type { Operations } from "./operations.ts";
import { parseExit } from "./process-exit.ts";

const DEFAULT_READ_BYTES = 64 * 1024;
const MAX_READ_BYTES = 1024 * 1024;

/** What a supervisor tells of a process that runs by itself. */
export interface ProcessFacts {
  readonly id: string;
  readonly pid: number;
  readonly command: readonly string[];
  readonly startedAt: number;
  readonly exit: ProcessExit | null;
}

/** The wait for the end of one process, which all views of it share. */
interface Wait {
  readonly exited: Promise<ProcessExit>;
  exit: ProcessExit | null;
}

// A wait lives as long as its process: one for each look at a process would use up what a sandbox does at once.
const waits = new WeakMap<Operations, Map<string, Wait>>();

/** The host's view of a process that a supervisor keeps. */
export class SupervisedProcess implements SandboxProcess {
  readonly id: string;
  readonly pid: number;
  readonly command: readonly string[];
  readonly startedAt: number;
  readonly #operations: Operations;
  #wait: Wait | undefined;
  readonly #exit: ProcessExit | null;

  constructor(operations: Operations, facts: ProcessFacts) {
    this.#operations = operations;
    this.id = facts.id;
    this.pid = facts.pid;
    this.command = facts.command;
    this.startedAt = facts.startedAt;
    this.#exit = facts.exit;
  }

  get exit(): ProcessExit | null {
    return this.#exit ?? this.#wait?.exit ?? null;
  }

  get exited(): Promise<ProcessExit> {
    if (this.#exit !== null) return Promise.resolve(this.#exit);
    this.follow();
    return this.#wait?.exited ?? Promise.reject(new Error("nobody waits for the process"));
  }

  /** Waits for its end; not to be called while a frame is being handled. */
  follow(): void {
    if (this.#exit === null) this.#wait ??= waitFor(this.#operations, this.id);
  }

  async read(options: Parameters<SandboxProcess["read"]>[0]): Promise<ProcessLog> {
    const chunks: Buffer[] = [];
    const { cursor, waitMs = 0, signal } = options;
    const window = Math.min(options.maxBytes ?? DEFAULT_READ_BYTES, MAX_READ_BYTES);
    const args = { id: this.id, cursor, wait_ms: waitMs };
    const parse = (value: unknown) => parseLog(value, Buffer.concat(chunks));
    return this.#operations.run("process.read", args, { signal, window, parse, onData: (data) => chunks.push(data) });
  }

  async write(data: Uint8Array): Promise<void> {
    const operation = this.#operations.begin("process.write", { id: this.id }, { parse: () => {} });
    await operation.write(data);
    operation.fin();
    await operation.result;
  }

  endInput(): Promise<void> {
    return this.#do("process.end_input", {});
  }

  kill(signal = "SIGTERM"): Promise<void> {
    return this.#do("process.kill", { signal });
  }

  resize(columns: number, rows: number): Promise<void> {
    return this.#do("process.resize", { columns, rows });
  }

  remove(): Promise<void> {
    return this.#do("process.remove", {});
  }

  #do(op: string, args: Readonly<Record<string, unknown>>): Promise<void> {
    return this.#operations.run(op, { id: this.id, ...args }, { parse: () => {} });
  }
}

function waitFor(operations: Operations, id: string): Wait {
  const known = waits.get(operations) ?? new Map<string, Wait>();
  waits.set(operations, known);
  const waiting = known.get(id);
  if (waiting !== undefined) return waiting;
  const parse = (value: unknown) => (wait.exit = parseExit(value));
  const exited = operations.run("process.wait", { id }, { parse });
  const wait: Wait = { exited, exit: null };
  known.set(id, wait);
  const forget = () => known.delete(id);
  // Nobody else need wait for it.
  exited.then(forget, forget);
  return wait;
}

function parseLog(value: unknown, bytes: Buffer): ProcessLog {
  if (!isFields(value)) throw wrong("value");
  const parts = value["chunks"];
  if (!Array.isArray(parts)) throw wrong("chunks");
  let start = 0;
  const chunks = parts.map((part: unknown) => {
    const [stream, length] = Array.isArray(part) ? part : [];
    if ((stream !== 0 && stream !== 1) || !isCount(length)) throw wrong("chunks");
    const data = bytes.subarray(start, start + length);
    start += length;
    return { stream: stream === 0 ? ("stdout" as const) : ("stderr" as const), data };
  });
  if (start !== bytes.length) throw new ProtocolViolation("a log is not as long as it says");
  return { chunks, cursor: count(value, "cursor"), skipped: count(value, "skipped"), ended: flag(value, "ended") };
}
