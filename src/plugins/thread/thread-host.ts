import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { describeError, ToolyardError } from "../../core/errors.ts";
import type { Logger, ToolContext } from "../../core/context.ts";
import { packError, unpackError } from "./crossed-error.ts";
import type { Operation, ToHost, ToWorker, WorkerStart } from "./messages.ts";

/** What one operation is run with. */
export interface OperationContext {
  readonly signal: AbortSignal;
  readonly logger: Logger;
  /** What a tool call may do beside answering. */
  readonly tool?: Pick<ToolContext, "progress" | "output" | "setOutcome" | "call">;
}

/** How the thread is run. */
export interface ThreadHostOptions {
  readonly start: Omit<WorkerStart, "current">;
  readonly logger: Logger;
  /** Milliseconds that an aborted operation gives its thread to show a sign of life. */
  readonly graceMs: number;
}

interface InFlight {
  readonly operation: Operation;
  readonly context: OperationContext;
  readonly resolve: (value: unknown) => void;
  readonly reject: (reason: unknown) => void;
  /** Whether the plugin's code has begun; until then an abort is an end at once. */
  started: boolean;
}

/** The thread ended before an operation's code began, so that it may be run again in the next one. */
export class NeverStartedError extends ToolyardError {}

const FROM_SOURCES = import.meta.url.endsWith(".ts");

/**
 * Owns one worker thread: starts it when it is needed, and again after it ended.
 *
 * A thread that crashes, exits or has to be stopped fails what it was doing with typed errors, and nothing else.
 */
export class ThreadHost {
  readonly #options: ThreadHostOptions;
  readonly #inFlight = new Map<number, InFlight>();
  readonly #calls = new Map<number, AbortController>();
  readonly #pings = new Map<number, (alive: boolean) => void>();
  #watching = false;
  #worker: Worker | undefined;
  #current = new Int32Array(new SharedArrayBuffer(4));
  #lastId = 0;
  #generation = 0;

  constructor(options: ThreadHostOptions) {
    this.#options = options;
  }

  get running(): boolean {
    return this.#worker !== undefined;
  }

  /** Counts the threads so far; each new one has lost what the one before it held. */
  get generation(): number {
    return this.#generation;
  }

  /** Starts the thread if it does not run. */
  start(): void {
    if (this.#worker !== undefined) return;
    this.#generation += 1;
    this.#current = new Int32Array(new SharedArrayBuffer(4));
    const workerData: WorkerStart = { ...this.#options.start, current: this.#current };
    const worker = new Worker(new URL(FROM_SOURCES ? "./worker.ts" : "./worker.js", import.meta.url), {
      workerData,
      execArgv: FROM_SOURCES ? ["--import", pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href] : [],
      name: `toolyard ${this.#options.start.resource}`,
    });
    // The server's socket keeps the process alive, an idle plugin does not.
    worker.unref();
    worker.on("message", (message: ToHost) => this.#worker === worker && this.#receive(message));
    worker.on("error", (error: unknown) => {
      this.#options.logger.error({ err: error }, "a worker thread crashed");
      this.#lose(worker, "crashed");
    });
    worker.on("exit", (code) => this.#lose(worker, `ended by itself with code ${code}`));
    this.#worker = worker;
  }

  /**
   * Runs one operation in the thread.
   *
   * @throws what the plugin threw; ToolyardError session_lost or backend_unavailable when the thread ends first, as a
   *   NeverStartedError if that was before the plugin's code began
   */
  run(operation: Operation, context: OperationContext): Promise<unknown> {
    const { signal } = context;
    if (signal.aborted) return Promise.reject(signal.reason);
    this.start();
    const id = this.#nextId();
    return new Promise((resolve, reject) => {
      const abort = (): void => this.#abort(id);
      const release = (): void => {
        this.#inFlight.delete(id);
        signal.removeEventListener("abort", abort);
      };
      const entry: InFlight = {
        operation,
        context,
        started: false,
        resolve: (value) => (release(), resolve(value)),
        reject: (reason) => (release(), reject(reason)),
      };
      this.#inFlight.set(id, entry);
      signal.addEventListener("abort", abort, { once: true });
      try {
        this.#send({ kind: "run", id, operation });
      } catch (error) {
        entry.reject(
          new ToolyardError("invalid_input", "The params cannot be sent to a worker thread", { cause: error }),
        );
      }
    });
  }

  /** Ends the thread and whatever still runs in it. */
  async stop(): Promise<void> {
    const worker = this.#worker;
    if (worker === undefined) return;
    this.#lose(worker, "was stopped");
    await worker.terminate();
  }

  #nextId(): number {
    this.#lastId = this.#lastId >= 0x7fff_ffff ? 1 : this.#lastId + 1;
    return this.#lastId;
  }

  #send(message: ToWorker): void {
    this.#worker?.postMessage(message);
  }

  #abort(id: number): void {
    const entry = this.#inFlight.get(id);
    if (entry === undefined) return;
    this.#send({ kind: "abort", id, reason: packError(entry.context.signal.reason) });
    if (!entry.started) return entry.reject(entry.context.signal.reason);
    if (!this.#watching) void this.#watch();
  }

  /** Whether the thread gives a sign of life within the grace. */
  responds(): Promise<boolean> {
    const id = this.#nextId();
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#pings.get(id)?.(false), this.#options.graceMs);
      timer.unref();
      this.#pings.set(id, (alive) => {
        clearTimeout(timer);
        this.#pings.delete(id);
        resolve(alive);
      });
      this.#send({ kind: "ping", id });
    });
  }

  /** Stops a thread that an aborted operation holds: nothing else ends code that never yields. */
  async #watch(): Promise<void> {
    this.#watching = true;
    while ([...this.#inFlight.values()].some(({ started, context }) => started && context.signal.aborted)) {
      // One after the other: a tool may answer now, and hold the thread later.
      // oxlint-disable-next-line no-await-in-loop
      const alive = await this.responds();
      const blocker = this.#inFlight.get(Atomics.load(this.#current, 0));
      if (alive) {
        // oxlint-disable-next-line no-await-in-loop
        await new Promise((resolve) => setTimeout(resolve, this.#options.graceMs).unref());
      } else if (blocker === undefined || blocker.context.signal.aborted) {
        // Else somebody's work holds the thread by right, and the aborted one ends when its turn comes.
        this.#options.logger.warn({ operation: blocker && nameOf(blocker.operation) }, "a blocked thread is stopped");
        void this.stop();
      }
    }
    this.#watching = false;
  }

  #lose(worker: Worker, how: string): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    for (const controller of this.#calls.values()) controller.abort();
    this.#calls.clear();
    for (const answer of [...this.#pings.values()]) answer(false);
    for (const entry of [...this.#inFlight.values()]) entry.reject(this.#toLoss(entry, how));
  }

  #toLoss({ operation, context, started }: InFlight, how: string): unknown {
    if (context.signal.aborted) return context.signal.reason;
    const text = `The worker thread of ${this.#options.start.resource} ${how}`;
    const inSession = operation.kind === "tool" && operation.session !== undefined;
    if (inSession) return new ToolyardError("session_lost", text);
    return started
      ? new ToolyardError("backend_unavailable", text)
      : new NeverStartedError("backend_unavailable", text);
  }

  #receive(message: ToHost): void {
    if (message.kind === "unloadable") return this.#refuse(unpackError(message.error));
    if (message.kind === "pong") return this.#pings.get(message.id)?.(true);
    if (message.kind === "call-abort") return this.#calls.get(message.callId)?.abort(unpackError(message.reason));
    const entry = this.#inFlight.get(message.id);
    if (message.kind === "log") {
      const logger = entry?.context.logger ?? this.#options.logger;
      return logger[message.level](message.facts, message.message);
    }
    if (entry === undefined) return;
    switch (message.kind) {
      case "started":
        entry.started = true;
        return;
      case "done":
        return entry.resolve(message.value);
      case "failed":
        return entry.reject(unpackError(message.error));
      case "progress":
        return entry.context.tool?.progress(message.data);
      case "output":
        return entry.context.tool?.output(message.stream, message.text);
      case "outcome":
        return entry.context.tool?.setOutcome(message.outcome);
      case "call":
        return void this.#call(message, entry);
    }
  }

  /** Makes the call that a plugin asks for, and answers it. */
  async #call(message: Extract<ToHost, { kind: "call" }>, { context }: InFlight): Promise<void> {
    const { callId, action, params, options } = message;
    const controller = new AbortController();
    this.#calls.set(callId, controller);
    try {
      if (context.tool === undefined) throw new ToolyardError("internal_error", "Only a tool may call tools");
      const result = await context.tool.call(action, params, { ...options, signal: controller.signal });
      this.#send({ kind: "answer", callId, result });
    } catch (error) {
      this.#send({ kind: "refusal", callId, error: packError(error) });
    } finally {
      this.#calls.delete(callId);
    }
  }

  /** Gives up a thread that could not load its backend. */
  #refuse(error: Error): void {
    this.#options.logger.error(
      { err: error, reason: describeError(error) },
      "a worker thread could not load its backend",
    );
    void this.stop();
  }
}

function nameOf(operation: Operation): string {
  return operation.kind === "tool" ? operation.tool : operation.kind;
}
