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

/** The host's view of a process that a supervisor keeps. */
export class SupervisedProcess implements SandboxProcess {
  readonly id: string;
  readonly pid: number;
  readonly command: readonly string[];
  readonly startedAt: number;
  readonly exited: Promise<ProcessExit>;
  readonly #operations: Operations;
  readonly #resolve: (exit: ProcessExit | PromiseLike<ProcessExit>) => void;
  #exit: ProcessExit | null;

  constructor(operations: Operations, facts: ProcessFacts) {
    this.#operations = operations;
    this.id = facts.id;
    this.pid = facts.pid;
    this.command = facts.command;
    this.startedAt = facts.startedAt;
    this.#exit = facts.exit;
    const { promise, resolve } = Promise.withResolvers<ProcessExit>();
    this.exited = promise;
    this.#resolve = resolve;
    // Nobody need wait for it.
    promise.catch(() => {});
    if (facts.exit !== null) resolve(facts.exit);
  }

  get exit(): ProcessExit | null {
    return this.#exit;
  }

  /** Waits for its end; to be called once, when the constructor's caller is not handling a frame any more. */
  follow(): void {
    if (this.#exit !== null) return;
    const parse = (value: unknown) => {
      this.#exit = parseExit(value);
      return this.#exit;
    };
    this.#resolve(this.#operations.run("process.wait", { id: this.id }, { parse }));
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
