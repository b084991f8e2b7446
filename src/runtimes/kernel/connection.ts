import type { Duplex } from "node:stream";
import { ToolyardError } from "../../core/errors.ts";
import type { Execution, ExecutionHooks, Language, SandboxLimits } from "../../core/runtime.ts";
import { BinaryFrame, encodeFrame, FrameDecoder, ProtocolViolation } from "./frame.ts";
import { LiveExecution, type PartialExecution } from "./live-execution.ts";
import { MAX_CODE_LENGTH, toWireLimits } from "./limits.ts";
import {
  type HostFrame,
  type KernelRequest,
  parseSandboxFrame,
  PROTOCOL_VERSION,
  type Readiness,
  type SandboxFrame,
} from "./messages.ts";
import { type DialHandler, Operations } from "./operations.ts";
import { type Excuse, OverdueWatch } from "./overdue-watch.ts";

// More than this waits for nobody who reads: it is the host's memory.
const MAX_UNREAD_BYTES = 128 * 1024 * 1024;

/** Why a connection ended: `unresponsive` means that an execution outlived its deadline and the grace after it. */
export type LossCause = "violation" | "unresponsive" | "closed" | "stopped";

/** The connection is gone, and everything behind it must be taken for dead. */
export class ConnectionLost extends Error {
  override readonly name = "ConnectionLost";
  readonly why: LossCause;
  /** What the execution had come to; absent for whoever was not executing. */
  readonly partial: PartialExecution | undefined;

  constructor(why: LossCause, message: string, partial?: PartialExecution) {
    super(message);
    this.why = why;
    this.partial = partial;
  }
}

/** How a connection is built. */
export interface ConnectionOptions {
  readonly limits: Required<SandboxLimits>;
  /** Milliseconds after a deadline or a cancellation until the other side counts as unresponsive. */
  readonly graceMs: number;
  /** Asked for at a deadline: whether from there on a busy machine keeps the other side from its answer. Without it nothing does. */
  readonly excuse?: () => Excuse;
  /** Kills what is behind the connection, at once; called exactly once, however the connection ends. */
  readonly kill: (why: LossCause, message: string) => void;
  /** The port at the sandbox's loopback where user code finds a proxy, and who takes the connections made to it. */
  readonly egress?: { readonly port: number; readonly onDial: DialHandler };
}

interface Live {
  readonly execution: LiveExecution;
  readonly kernel: string;
  readonly resolve: (execution: Execution) => void;
  readonly reject: (error: ConnectionLost) => void;
  readonly watch: OverdueWatch;
  cancelled: boolean;
  /** Lets go of the caller's signal, which may outlive many executions. */
  release: () => void;
}

/** The host's side of "ptc-frame/1": one persistent channel to a supervisor, over which executions, calls and output run. */
export class SupervisorConnection {
  readonly ready: Promise<Readiness>;
  readonly operations: Operations;
  readonly #channel: Duplex;
  readonly #options: ConnectionOptions;
  readonly #decoder = new FrameDecoder();
  readonly #live = new Map<number, Live>();
  readonly #resets = new Map<string, (() => void)[]>();
  readonly #pings = new Map<number, () => void>();
  #becameReady: (readiness: Readiness) => void = () => {};
  #becameLost: (error: ConnectionLost) => void = () => {};
  #isReady = false;
  #lost: ConnectionLost | undefined;
  #nextExecution = 1;
  #nextPing = 1;

  constructor(channel: Duplex, options: ConnectionOptions) {
    this.#channel = channel;
    this.#options = options;
    this.ready = new Promise((resolve, reject) => {
      this.#becameReady = resolve;
      this.#becameLost = reject;
    });
    // Nobody may be waiting when it is lost; whoever asks later still gets the error.
    this.ready.catch(() => {});
    channel.on("data", (chunk: Buffer) => this.#read(chunk));
    channel.on("error", () => this.close("closed", "the channel to the sandbox failed"));
    channel.on("close", () => this.close("closed", "the sandbox closed its channel"));
    channel.on("end", () => this.close("closed", "the sandbox closed its channel"));
    this.operations = new Operations((bytes) => this.#write(bytes), options.egress?.onDial);
    const egress = options.egress === undefined ? {} : { egress_port: options.egress.port };
    this.#send({ t: "hello", v: PROTOCOL_VERSION, limits: toWireLimits(options.limits), ...egress });
  }

  /** How many executions are live. */
  get executing(): number {
    return this.#live.size;
  }

  get lost(): ConnectionLost | undefined {
    return this.#lost;
  }

  /**
   * Runs code in a kernel, which the supervisor opens if it must.
   *
   * @throws ConnectionLost when the other side died, broke the protocol or did not keep the deadline;
   *   ToolyardError `payload_too_large` for code over {@link MAX_CODE_LENGTH}.
   */
  execute(kernel: string, language: Language, request: KernelRequest, hooks: ExecutionHooks): Promise<Execution> {
    if (this.#lost !== undefined) return Promise.reject(this.#lost);
    const { code, deadlineMs, dialect } = request;
    if (code.length > MAX_CODE_LENGTH) {
      const message = `code holds at most ${MAX_CODE_LENGTH} characters`;
      return Promise.reject(new ToolyardError("payload_too_large", message));
    }
    const x = this.#nextExecution++;
    const execution = new LiveExecution(x, hooks, this.#options.limits, (frame) => this.#send(frame));
    return new Promise<Execution>((resolve, reject) => {
      // Before anything is live: what cannot be sent must leave no clock behind that kills the sandbox.
      const frame = encodeFrame({
        t: "exec",
        x,
        k: kernel,
        language,
        code,
        deadline_ms: deadlineMs,
        ...(dialect === undefined ? {} : { dialect }),
      } satisfies HostFrame);
      const watch = this.#watch();
      watch.start(deadlineMs);
      const live: Live = { execution, kernel, resolve, reject, watch, cancelled: false, release: () => {} };
      this.#live.set(x, live);
      this.#write(frame);
      const cancel = () => this.#cancel(live);
      if (hooks.signal.aborted) cancel();
      else hooks.signal.addEventListener("abort", cancel, { once: true });
      live.release = () => hooks.signal.removeEventListener("abort", cancel);
    });
  }

  /** Interrupts what runs in a kernel. */
  interrupt(kernel: string): void {
    for (const live of this.#live.values()) if (live.kernel === kernel) this.#cancel(live);
  }

  /** Ends a kernel and what it started; resolves when the supervisor says so. */
  reset(kernel: string): Promise<void> {
    if (this.#lost !== undefined) return Promise.resolve();
    return new Promise((resolve) => {
      const waiting = this.#resets.get(kernel);
      if (waiting !== undefined) {
        // One answer serves all: a second one would be a reset that nobody asked for.
        waiting.push(resolve);
        return;
      }
      this.#resets.set(kernel, [resolve]);
      this.#send({ t: "reset", k: kernel });
    });
  }

  /** Asks whether the other side answers, and answers whether it did before the signal fired. */
  ping(signal: AbortSignal): Promise<boolean> {
    if (this.#lost !== undefined || signal.aborted) return Promise.resolve(false);
    const n = this.#nextPing++;
    return new Promise((resolve) => {
      const end = (answered: boolean) => {
        signal.removeEventListener("abort", giveUp);
        resolve(answered);
      };
      const giveUp = () => end(false);
      signal.addEventListener("abort", giveUp, { once: true });
      this.#pings.set(n, () => end(this.#lost === undefined));
      this.#send({ t: "ping", n });
    });
  }

  /** Ends the connection; only the first call counts. */
  close(why: LossCause, message: string): void {
    if (this.#lost !== undefined) return;
    this.#lost = new ConnectionLost(why, message);
    this.#options.kill(why, message);
    this.#channel.destroy();
    this.#becameLost(this.#lost);
    for (const live of this.#live.values()) {
      this.#settle(live);
      live.reject(new ConnectionLost(why, message, live.execution.abandon()));
    }
    for (const waiting of this.#resets.values()) for (const resolve of waiting) resolve();
    this.#resets.clear();
    for (const answered of this.#pings.values()) answered();
    this.#pings.clear();
    this.operations.close(message);
  }

  #settle(live: Live): void {
    this.#live.delete(live.execution.x);
    live.watch.stop();
    live.release();
  }

  #cancel(live: Live): void {
    if (live.cancelled || !this.#live.has(live.execution.x)) return;
    live.cancelled = true;
    live.watch.start(0);
    this.#send({ t: "cancel", x: live.execution.x });
  }

  #watch(): OverdueWatch {
    const { graceMs, excuse } = this.#options;
    const onOverdue = () => this.close("unresponsive", "the code could not be interrupted");
    return new OverdueWatch({ graceMs, onOverdue, ...(excuse && { excuse }) });
  }

  #send(frame: HostFrame): void {
    if (this.#lost === undefined) this.#write(encodeFrame(frame));
  }

  #write(bytes: Uint8Array): void {
    if (this.#lost !== undefined) return;
    this.#channel.write(bytes);
    if (this.#channel.writableLength > MAX_UNREAD_BYTES)
      this.close("violation", "the sandbox does not read what it is sent");
  }

  #read(chunk: Buffer): void {
    try {
      for (const message of this.#decoder.push(chunk)) {
        if (this.#lost !== undefined) return;
        if (message instanceof BinaryFrame) this.operations.handle(message);
        else this.#handle(parseSandboxFrame(message));
      }
    } catch (error) {
      const message = error instanceof ProtocolViolation ? error.message : "a frame could not be handled";
      this.close("violation", `the sandbox broke the protocol: ${message}`);
    }
  }

  #handle(frame: SandboxFrame): void {
    if (!this.#isReady) {
      if (frame.t !== "ready" || frame.v !== PROTOCOL_VERSION)
        throw new ProtocolViolation("it did not start with ready");
      this.#isReady = true;
      this.#becameReady({ versions: frame.versions, kernels: frame.kernels, paused: frame.paused });
      return;
    }
    switch (frame.t) {
      case "ready":
        throw new ProtocolViolation("a second ready");
      case "idle":
        return;
      case "pong": {
        const answered = this.#pings.get(frame.n);
        if (answered === undefined) throw new ProtocolViolation("an answer to a ping that nobody sent");
        this.#pings.delete(frame.n);
        return answered();
      }
      case "reset": {
        const waiting = this.#resets.get(frame.k);
        if (waiting === undefined) throw new ProtocolViolation("a reset that nobody asked for");
        this.#resets.delete(frame.k);
        for (const resolve of waiting) resolve();
        return;
      }
      case "out": {
        const pending = this.#of(frame.x).execution.output(frame.stream, frame.seq, frame.data);
        if (pending !== undefined) this.#pauseFor(pending);
        return;
      }
      case "call":
        this.#of(frame.x).execution.call({ index: frame.i, tool: frame.tool, args: frame.args });
        return;
      case "end": {
        const live = this.#of(frame.x);
        const execution = live.execution.finish(frame);
        this.#settle(live);
        live.resolve(execution);
        return;
      }
      default:
        this.operations.handle(frame);
    }
  }

  #of(x: number): Live {
    const live = this.#live.get(x);
    if (live === undefined) throw new ProtocolViolation("a frame of an execution that is not live");
    return live;
  }

  #pauseFor(pending: Promise<void>): void {
    this.#channel.pause();
    const resume = () => this.#channel.resume();
    // A watcher that fails must not hold the execution up.
    pending.then(resume, resume);
  }
}
