import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import type { Logger, ToolContext } from "../../core/context.ts";
import { describeError, ToolyardError } from "../../core/errors.ts";
import { packError, unpackError } from "../../core/crossed-error.ts";
import type { Operation, ToHost, ToWorker, WorkerStart } from "./messages.ts";
import { createClaim, type OperationClaim, withdraw } from "./operation-claim.ts";

/** What one operation is run with. */
export interface OperationContext {
  readonly signal: AbortSignal;
  readonly logger: Logger;
  /** What a tool call may do beside answering. */
  readonly tool?: Pick<ToolContext, "progress" | "output" | "setOutcome" | "call">;
}

/** How a thread is run. */
export interface WorkerThreadOptions {
  readonly start: Omit<WorkerStart, "current">;
  readonly logger: Logger;
  /** Milliseconds that an aborted operation gives its thread to show a sign of life. */
  readonly graceMs: number;
}

interface InFlight {
  readonly operation: Operation;
  readonly context: OperationContext;
  readonly claim: OperationClaim;
  readonly resolve: (value: unknown) => void;
  readonly reject: (reason: unknown) => void;
}

/** The thread ended before an operation's code began, so that it may be run again in the next one. */
export class NeverStartedError extends ToolyardError {}

const FROM_SOURCES = import.meta.url.endsWith(".ts");

/**
 * One worker thread from its start to its end, with all that is under way in it.
 *
 * Nothing of it outlives it: ids are counted anew in each thread, so what a dead one asked for must not reach the next.
 */
export class WorkerThread {
  readonly #options: WorkerThreadOptions;
  readonly #onEnd: () => void;
  readonly #worker: Worker;
  readonly #current = new Int32Array(new SharedArrayBuffer(4));
  readonly #inFlight = new Map<number, InFlight>();
  readonly #calls = new Map<number, AbortController>();
  readonly #pings = new Map<number, (alive: boolean) => void>();
  #lastId = 0;
  #watching = false;
  #ended = false;

  /** Starts the thread; `onEnd` is called once, before what was under way in it is failed. */
  constructor(options: WorkerThreadOptions, onEnd: () => void) {
    this.#options = options;
    this.#onEnd = onEnd;
    const workerData: WorkerStart = { ...options.start, current: this.#current };
    const worker = new Worker(new URL(FROM_SOURCES ? "./worker.ts" : "./worker.js", import.meta.url), {
      workerData,
      execArgv: FROM_SOURCES ? ["--import", pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href] : [],
      name: `toolyard ${options.start.resource}`,
    });
    // The server's socket keeps the process alive, an idle plugin does not.
    worker.unref();
    worker.on("message", (message: ToHost) => this.#receive(message));
    worker.on("error", (error: unknown) => {
      options.logger.error({ err: error }, "a worker thread crashed");
      this.#end("crashed");
    });
    worker.on("exit", (code) => this.#end(`ended by itself with code ${code}`));
    this.#worker = worker;
  }

  /** Runs one operation in the thread, as {@link ThreadHost.run} says. */
  run(operation: Operation, context: OperationContext): Promise<unknown> {
    const { signal } = context;
    const id = this.#nextId();
    const claim = createClaim();
    return new Promise((resolve, reject) => {
      const abort = (): void => this.#abort(id);
      const release = (): void => {
        this.#inFlight.delete(id);
        signal.removeEventListener("abort", abort);
      };
      const entry: InFlight = {
        operation,
        context,
        claim,
        resolve: (value) => (release(), resolve(value)),
        reject: (reason) => (release(), reject(reason)),
      };
      this.#inFlight.set(id, entry);
      signal.addEventListener("abort", abort, { once: true });
      try {
        this.#send({ kind: "run", id, claim, operation });
      } catch (error) {
        entry.reject(
          new ToolyardError("invalid_input", "The params cannot be sent to a worker thread", { cause: error }),
        );
      }
    });
  }

  /** Ends the thread and whatever still runs in it. */
  async stop(): Promise<void> {
    this.#end("was stopped");
    await this.#worker.terminate();
  }

  /** Whether the thread gives a sign of life within the grace. */
  responds(): Promise<boolean> {
    if (this.#ended) return Promise.resolve(false);
    const id = this.#nextId();
    return new Promise((resolve) => {
      // When the host's own loop was held, the timer is due before a sign of life that came in time has been read.
      const late = (): void => void setImmediate(() => this.#pings.get(id)?.(false));
      const timer = setTimeout(late, this.#options.graceMs).unref();
      this.#pings.set(id, (alive) => {
        clearTimeout(timer);
        this.#pings.delete(id);
        resolve(alive);
      });
      this.#send({ kind: "ping", id });
    });
  }

  #nextId(): number {
    this.#lastId = this.#lastId >= 0x7fff_ffff ? 1 : this.#lastId + 1;
    return this.#lastId;
  }

  #send(message: ToWorker): void {
    if (!this.#ended) this.#worker.postMessage(message);
  }

  #abort(id: number): void {
    const entry = this.#inFlight.get(id);
    if (entry === undefined) return;
    const { reason } = entry.context.signal;
    if (withdraw(entry.claim)) return entry.reject(reason);
    // Its session and its turn are its own for as long as its code runs, so only the worker says when it is over.
    this.#send({ kind: "abort", id, reason: packError(reason) });
    if (!this.#watching) void this.#watch();
  }

  /** Stops the thread when an aborted operation holds it: nothing else ends code that never yields. */
  async #watch(): Promise<void> {
    this.#watching = true;
    // What an abort leaves in flight has begun; the rest it has withdrawn.
    while ([...this.#inFlight.values()].some(({ context }) => context.signal.aborted)) {
      // One after the other: a tool may answer now, and hold the thread later.
      // oxlint-disable-next-line no-await-in-loop
      const alive = await this.responds();
      const blocker = this.#inFlight.get(Atomics.load(this.#current, 0));
      if (alive) {
        // oxlint-disable-next-line no-await-in-loop
        await new Promise((resolve) => setTimeout(resolve, this.#options.graceMs).unref());
      } else if (!this.#ended && (blocker === undefined || blocker.context.signal.aborted)) {
        // Else somebody's work holds the thread by right, and the aborted one ends when its turn comes.
        this.#options.logger.warn({ operation: blocker && nameOf(blocker.operation) }, "a blocked thread is stopped");
        void this.stop();
      }
    }
    this.#watching = false;
  }

  #end(how: string): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#onEnd();
    for (const controller of this.#calls.values()) controller.abort();
    this.#calls.clear();
    for (const answer of [...this.#pings.values()]) answer(false);
    for (const entry of [...this.#inFlight.values()]) entry.reject(this.#toLoss(entry, how));
  }

  #toLoss({ operation, context, claim }: InFlight, how: string): unknown {
    // A thread that is being stopped may run on for a moment: what is tried again elsewhere must not begin here.
    const neverStarted = withdraw(claim);
    if (context.signal.aborted) return context.signal.reason;
    const text = `The worker thread of ${this.#options.start.resource} ${how}`;
    const inSession = operation.kind === "tool" && operation.session !== undefined;
    if (inSession) return new ToolyardError("session_lost", text);
    return neverStarted
      ? new NeverStartedError("backend_unavailable", text)
      : new ToolyardError("backend_unavailable", text);
  }

  #receive(message: ToHost): void {
    if (this.#ended) return;
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
