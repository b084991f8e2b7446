import { stripTypeScriptTypes } from "node:module";
import type { QuickJSWASMModule } from "quickjs-emscripten-core";
import type { ExecutionStatus, GuestError } from "../../core/runtime.ts";
import { Capture } from "../kernel/capture.ts";
import {
  type EndFrame,
  type HostFrame,
  PROTOCOL_VERSION,
  type SandboxFrame,
  type StreamUsage,
  type WireLimits,
} from "../kernel/messages.ts";
import { clip } from "./clip.ts";
import { allowRedeclaration } from "./declarations.ts";
import { type CellOutcome, type CellState, Guest } from "./guest.ts";

const BATCH_LENGTH = 8192;
// Characters of each stream that an `end` keeps when all of it is too large for a frame.
const SHORT_TAIL = 256 * 1024;
// Characters of one `out`, which a frame holds with every one escaped.
const MAX_OUT = 1024 * 1024;
// Longer than any deadline needs between two looks at the clock.
const MAX_TIMER_MS = 2_147_483_647;

interface Cell {
  readonly x: number;
  readonly fileName: string;
  readonly started: number;
  readonly deadline: number;
  readonly captures: Record<"stdout" | "stderr", Capture>;
  readonly sequences: Record<"stdout" | "stderr", number>;
  /** Written but not yet sent: a frame for each line would cost more than the line. */
  unsent: string;
  unsentStream: "stdout" | "stderr";
  readonly timers: Map<number, NodeJS.Timeout>;
  /** Calls that the host has not answered. */
  readonly calls: Set<number>;
  nextCall: number;
  alarm: NodeJS.Timeout;
}

type Exec = Extract<HostFrame, { t: "exec" }>;
type Settled = Partial<Omit<EndFrame, "t" | "x" | "usage" | "status">>;

/** The sandbox's side of the protocol around one QuickJS guest: runs cells, relays output and calls, and says how each ended. */
export class QuickJsSession {
  readonly #guest: Guest;
  readonly #send: (frame: SandboxFrame) => void;
  #limits: WireLimits | undefined;
  #cell: Cell | undefined;
  #nextTimer = 1;

  constructor(engine: QuickJSWASMModule, send: (frame: SandboxFrame) => void) {
    this.#send = send;
    this.#guest = new Guest(engine, {
      write: (stream, text) => this.#write(stream, text),
      call: (tool, argsJson) => this.#call(tool, argsJson),
      startTimer: (delayMs) => this.#startTimer(delayMs),
      stopTimer: (id) => {
        clearTimeout(this.#cell?.timers.get(id));
        this.#cell?.timers.delete(id);
      },
    });
    // Before anybody waits: the parser and the compiler are slow the first time.
    this.#guest.begin(allowRedeclaration("const warm = [1].map(String);"), "warm-up.js", 1);
    this.#guest.begin("delete globalThis.warm", "warm-up.js", 1);
  }

  handle(frame: HostFrame): void {
    switch (frame.t) {
      case "hello":
        this.#limits = frame.limits;
        this.#guest.limitMemory(frame.limits.memory_mib);
        this.#send({
          t: "ready",
          v: PROTOCOL_VERSION,
          versions: { javascript: "QuickJS" },
          kernels: [],
          paused: false,
        });
        return;
      case "exec":
        this.#begin(frame);
        return;
      case "res":
        if (this.#cell?.x !== frame.x || !this.#cell.calls.delete(frame.i)) return;
        this.#step((guest) => guest.settle(frame.i, frame.ok, JSON.stringify(frame.ok ? frame.value : frame.error)));
        return;
      case "cancel":
        // It was read, so user code is waiting: its jobs may still run later, so the context is given up.
        if (this.#cell?.x === frame.x) this.#end("cancelled", { state_lost: this.#guest.hasJobs });
        return;
      case "ping":
        this.#send({ t: "pong", n: frame.n });
        return;
      case "reset":
      case "bye":
        process.exit(0);
    }
  }

  #begin({ x, code, deadline_ms, dialect }: Exec): void {
    const limits = this.#limits;
    if (limits === undefined || this.#cell !== undefined) return;
    this.#cell = {
      x,
      fileName: `cell-${x}.js`,
      started: performance.now(),
      deadline: Date.now() + deadline_ms,
      captures: { stdout: new Capture(limits.output_bytes), stderr: new Capture(limits.output_bytes) },
      sequences: { stdout: 0, stderr: 0 },
      unsent: "",
      unsentStream: "stdout",
      timers: new Map(),
      calls: new Set(),
      nextCall: 0,
      alarm: setTimeout(() => this.#onAlarm(x), Math.min(deadline_ms, MAX_TIMER_MS)),
    };
    let source: string;
    try {
      source = allowRedeclaration(dialect === "typescript" ? stripTypeScriptTypes(code) : code);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      this.#end("error", {
        error: { name: "SyntaxError", message, traceback: `SyntaxError: ${message}` },
      });
      return;
    }
    const { fileName } = this.#cell;
    this.#step((guest) => guest.begin(source, fileName, limits.calls_in_flight));
  }

  /** Lets user code go on, then looks where that leaves the cell. */
  #step(run: (guest: Guest) => CellState | void): void {
    const cell = this.#cell;
    const guest = this.#guest;
    if (cell === undefined) return;
    guest.deadline = cell.deadline;
    let state: CellState;
    try {
      const begun = run(guest);
      state = begun ?? guest.pump(cell.fileName);
    } catch {
      // The engine itself failed (V8's stack, a WASM trap): nothing in it can be relied on any more.
      this.#end("limit", { limit: "stack", state_lost: true });
      return;
    } finally {
      guest.deadline = Number.POSITIVE_INFINITY;
      this.#flush(cell);
    }
    if (Date.now() >= cell.deadline) this.#timeOut();
    else if (state.status === "ready") setImmediate(() => this.#cell === cell && this.#step(() => {}));
    else if (state.status !== "waiting") this.#finish(state);
    else if (cell.calls.size === 0 && cell.timers.size === 0) this.#deadlock();
  }

  #finish(outcome: CellOutcome): void {
    if (outcome.status === "rejected") {
      const limit = limitOf(outcome.error);
      this.#end(limit === null ? "error" : "limit", { error: outcome.error, limit });
      return;
    }
    const { json, text } = outcome;
    const tooLarge = json !== null && json.length > (this.#limits?.result_bytes ?? 0);
    this.#end("ok", {
      value: json === null || tooLarge ? null : JSON.parse(json),
      value_truncated: tooLarge,
      text: text === null ? null : clip(text),
    });
  }

  #deadlock(): void {
    const message = "the code awaits a promise that nothing can settle: no call, timer or job is left";
    this.#end("error", { error: { name: "Deadlock", message, traceback: `Deadlock: ${message}` } });
  }

  #onAlarm(x: number): void {
    if (this.#cell?.x === x) this.#timeOut();
  }

  #timeOut(): void {
    // Jobs that are left belong to the code that was stopped; the next cell must not run them.
    this.#end("timeout", { state_lost: this.#guest.hasJobs });
  }

  #end(status: ExecutionStatus, settled: Settled): void {
    const cell = this.#cell;
    if (cell === undefined) return;
    this.#cell = undefined;
    this.#flush(cell);
    clearTimeout(cell.alarm);
    for (const timer of cell.timers.values()) clearTimeout(timer);
    this.#sendEnd({
      t: "end",
      x: cell.x,
      status,
      value: null,
      text: null,
      value_truncated: false,
      lossy: [],
      displays: [],
      displays_omitted: 0,
      error: null,
      limit: null,
      exit_code: null,
      signal: null,
      state_lost: false,
      ...settled,
      usage: {
        duration_ms: performance.now() - cell.started,
        stdout: cell.captures.stdout.finish(),
        stderr: cell.captures.stderr.finish(),
      },
    });
  }

  #sendEnd(end: EndFrame): void {
    try {
      this.#send(end);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      // What user code wrote and answered must not end its engine: the end of its output is kept, as much as fits.
      const usage = { ...end.usage, stdout: shorten(end.usage.stdout), stderr: shorten(end.usage.stderr) };
      this.#send({ ...end, value: null, value_truncated: true, usage });
    }
  }

  #write(stream: "stdout" | "stderr", text: string): void {
    const cell = this.#cell;
    if (cell === undefined) return;
    if (stream !== cell.unsentStream) this.#flush(cell);
    cell.unsentStream = stream;
    cell.unsent += text;
    if (cell.unsent.length > BATCH_LENGTH) this.#flush(cell);
  }

  #flush(cell: Cell): void {
    if (cell.unsent === "") return;
    const stream = cell.unsentStream;
    const data = cell.captures[stream].feed(cell.unsent);
    cell.unsent = "";
    for (let at = 0; at < data.length; at += MAX_OUT) {
      this.#send({ t: "out", x: cell.x, stream, seq: cell.sequences[stream]++, data: data.slice(at, at + MAX_OUT) });
    }
  }

  #call(tool: string, argsJson: string): number {
    const cell = this.#cell;
    // The prelude queues what is too much, but in a realm that user code may have bent.
    if (cell === undefined || cell.calls.size >= (this.#limits?.calls_in_flight ?? 0)) return -1;
    this.#flush(cell);
    try {
      const args: unknown = JSON.parse(argsJson);
      if (typeof args !== "object" || args === null || Array.isArray(args)) return -1;
      const i = cell.nextCall;
      this.#send({ t: "call", x: cell.x, i, tool, args: { ...args } });
      cell.nextCall += 1;
      cell.calls.add(i);
      return i;
    } catch {
      return -1;
    }
  }

  #startTimer(delayMs: number): number {
    const id = this.#nextTimer++;
    const cell = this.#cell;
    const fire = () => {
      cell?.timers.delete(id);
      if (this.#cell === cell) this.#step((guest) => guest.fire(id));
    };
    cell?.timers.set(id, setTimeout(fire, Math.min(Math.max(delayMs, 0), MAX_TIMER_MS)));
    return id;
  }
}

function shorten(usage: StreamUsage): StreamUsage {
  const omitted = usage.omitted + Buffer.byteLength(usage.tail.slice(0, -SHORT_TAIL));
  return { ...usage, tail: usage.tail.slice(-SHORT_TAIL), omitted };
}

function limitOf({ name, message }: GuestError): string | null {
  if (name !== "InternalError") return null;
  if (message === "out of memory") return "memory";
  return message === "stack overflow" ? "stack" : null;
}
