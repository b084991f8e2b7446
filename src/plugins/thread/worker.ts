import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import type { AnyBackend } from "../../core/backend.ts";
import type { LifecycleContext } from "../../core/context.ts";
import { ToolyardError } from "../../core/errors.ts";
import type { ToolResult } from "../../core/result.ts";
import { loadBackendClass } from "../backend-class.ts";
import { BACKEND_PORTS } from "../backend-ports.ts";
import { packError, unpackError } from "../../core/crossed-error.ts";
import type { Operation, SessionFacts, ToHost, ToWorker, WorkerStart } from "./messages.ts";
import { begin } from "./operation-claim.ts";
import { type Channel, createRemoteLogger, createToolContext } from "./worker-context.ts";

/** Who waits for the host's answer to a call. */
interface Answer {
  readonly resolve: (result: ToolResult) => void;
  readonly reject: (error: Error) => void;
}

type Run = Extract<ToWorker, { kind: "run" }>;

/** Runs one backend in this thread: the other end of the host. */
class BackendWorker implements Channel {
  readonly #port: MessagePort;
  readonly #backend: AnyBackend;
  readonly #start: WorkerStart;
  readonly #running = new Map<number, AbortController>();
  readonly #sessionData = new Map<string, unknown>();
  readonly #calls = new Map<number, Answer>();
  #lastCallId = 0;

  constructor(port: MessagePort, backend: AnyBackend, start: WorkerStart) {
    this.#port = port;
    this.#backend = backend;
    this.#start = start;
  }

  receive(message: ToWorker): void {
    switch (message.kind) {
      case "run":
        return this.#run(message);
      case "abort":
        return this.#running.get(message.id)?.abort(unpackError(message.reason));
      case "ping":
        return this.send({ kind: "pong", id: message.id });
      case "answer":
        return this.#take(message.callId)?.resolve(message.result);
      case "refusal":
        return this.#take(message.callId)?.reject(unpackError(message.error));
    }
  }

  send(message: ToHost): void {
    this.#port.postMessage(message);
  }

  call: Channel["call"] = (id, action, params, { signal, ...options }) => {
    const callId = ++this.#lastCallId;
    const answer = new Promise<ToolResult>((resolve, reject) => this.#calls.set(callId, { resolve, reject }));
    this.send({ kind: "call", id, callId, action, params, options });
    const abort = (): void => this.send({ kind: "call-abort", callId, reason: packError(signal?.reason) });
    signal?.addEventListener("abort", abort, { once: true });
    return answer.finally(() => signal?.removeEventListener("abort", abort));
  };

  #take(callId: number): Answer | undefined {
    const answer = this.#calls.get(callId);
    this.#calls.delete(callId);
    return answer;
  }

  #run(message: Run): void {
    const controller = new AbortController();
    this.#running.set(message.id, controller);
    // What waits behind this message is read first: an abort of other work need not wait for code that blocks.
    setImmediate(() => void this.#settle(message, controller.signal));
  }

  async #settle({ id, claim, operation }: Run, signal: AbortSignal): Promise<void> {
    try {
      // What the host has withdrawn it has answered, and perhaps runs elsewhere.
      if (!begin(claim)) return;
      Atomics.store(this.#start.current, 0, id);
      const work = this.#perform(id, operation, signal);
      Atomics.store(this.#start.current, 0, 0);
      this.#finish(id, await work);
    } catch (error) {
      this.send({ kind: "failed", id, error: packError(error) });
    } finally {
      this.#running.delete(id);
    }
  }

  #finish(id: number, value: unknown): void {
    try {
      this.send({ kind: "done", id, value });
    } catch (error) {
      throw new ToolyardError("result_invalid", "The result cannot leave the worker thread: it is not plain data", {
        cause: error,
      });
    }
  }

  /** Starts the plugin's own code; what blocks in it blocks here. */
  #perform(id: number, operation: Operation, signal: AbortSignal): unknown {
    const backend = this.#backend;
    const context = { resource: this.#start.resource, logger: createRemoteLogger(this, id), signal };
    try {
      switch (operation.kind) {
        case "warmup":
          return backend.warmup?.(context);
        case "shutdown":
          return backend.shutdown?.(context);
        case "health":
          return backend.health?.(context);
        case "initialize": {
          const { sessionId } = operation.request;
          const made = Promise.resolve(backend.initialize?.(operation.request, context));
          return made.then((data) => void this.#sessionData.set(sessionId, data));
        }
        case "cleanup": {
          const cleaned = Promise.resolve(backend.cleanup?.(this.#sessionOf(operation.session), context));
          return cleaned.then(() => void this.#sessionData.delete(operation.session.id));
        }
        case "handle":
          return backend.handle?.(this.#sessionOf(operation.session));
        case "adopt":
          return this.#adopt(operation.session, operation.handle, context);
        case "reset":
          return backend.reset?.(this.#sessionOf(operation.session), context);
        case "tool": {
          const tool = backend.tools().get(operation.tool);
          if (tool === undefined) throw new ToolyardError("internal_error", `There is no tool ${operation.tool}`);
          const session = operation.session && this.#sessionOf(operation.session);
          const facts = createToolContext(this, id, operation.call, signal);
          // The catalogue holds tools of any session type; this backend's own `initialize` made the data.
          return tool.invoke(operation.params, { ...facts, session } as never);
        }
      }
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Answers whether there was anything to adopt. */
  async #adopt(session: SessionFacts, handle: unknown, context: LifecycleContext): Promise<boolean> {
    const data: unknown = await this.#backend.adopt?.({ ...session, data: handle }, context);
    if (data === null || data === undefined) return false;
    this.#sessionData.set(session.id, data);
    return true;
  }

  #sessionOf(facts: SessionFacts): SessionFacts & { readonly data: unknown } {
    return { ...facts, data: this.#sessionData.get(facts.id) };
  }
}

if (parentPort !== null) {
  const port = parentPort;
  // The host is the only one that starts this file, and always with these.
  const start = workerData as WorkerStart;
  try {
    const backendClass = await loadBackendClass(start.source);
    const { config, apis, dataDir } = start;
    const backend = new backendClass({ config, apis, ...BACKEND_PORTS, ...(dataDir !== undefined && { dataDir }) });
    const worker = new BackendWorker(port, backend, start);
    port.on("message", (message: ToWorker) => worker.receive(message));
  } catch (error) {
    const unloadable: ToHost = { kind: "unloadable", error: packError(error) };
    port.postMessage(unloadable);
  }
}
