import { existsSync } from "node:fs";
import { Agent } from "node:http";
import type Docker from "dockerode";
import { type Clock, systemClock } from "../../core/clock.ts";
import { CircuitBreaker } from "./circuit-breaker.ts";
import { type EngineAddress, findEngine } from "./engine-address.ts";
import { EngineFailure, toEngineFailure } from "./engine-failure.ts";

/** What bounds the calls of one kind, in milliseconds: a busy engine must not be taken for a dead one. */
export const DEADLINES_MS = {
  ping: 10_000,
  look: 15_000,
  create: 30_000,
  start: 30_000,
  remove: 20_000,
  pause: 10_000,
} as const;

/** What surrounds one call. */
export interface EngineCall {
  /** For the log. */
  readonly what: string;
  readonly deadlineMs: number;
  /** Ends the wait with its own reason. */
  readonly signal?: AbortSignal;
  /** It waits for something that may not come, so its deadline says nothing of the engine. */
  readonly mayWait?: true;
}

/** How a client is built. */
export interface EngineClientOptions {
  /** A unix socket; see {@link findEngine} for what holds without it. */
  readonly socket?: string;
  readonly clock?: Clock;
}

/**
 * The Docker Engine behind dockerode, such that no call waits for ever: each has a deadline, and while the engine does
 * not answer, calls fail at once but for a ping now and then.
 */
export class EngineClient {
  readonly #breaker: CircuitBreaker;
  readonly #agent = new Agent({ keepAlive: true });
  #docker: Promise<Docker> | undefined;
  #probe: Promise<string> | undefined;

  readonly #address: EngineAddress;

  constructor({ socket, clock = systemClock }: EngineClientOptions) {
    this.#address = findEngine(socket);
    this.#breaker = new CircuitBreaker({ clock });
  }

  /** Asks for the engine's version. */
  async version(signal?: AbortSignal): Promise<string> {
    if (this.#breaker.admit() === "refuse") throw this.#refusal();
    // Whoever gives up waiting must not end the ping that others wait for.
    this.#probe ??= this.#ping().finally(() => (this.#probe = undefined));
    return signal === undefined ? this.#probe : race(this.#probe, signal);
  }

  /**
   * Does one thing with the engine; `work` must hand the signal on.
   *
   * @throws EngineFailure, or the signal's reason when it fired.
   */
  async call<T>(call: EngineCall, work: (docker: Docker, signal: AbortSignal) => Promise<T>): Promise<T> {
    call.signal?.throwIfAborted();
    const admission = this.#breaker.admit();
    if (admission === "refuse") throw this.#refusal();
    if (admission === "probe") await this.version(call.signal);
    return this.#bounded(call, work);
  }

  /** The dockerode client itself, for what lives longer than a call. */
  docker(): Promise<Docker> {
    const address = this.#address;
    if ("unusable" in address) return Promise.reject(new EngineFailure("unusable", address.unusable));
    const { socketPath } = address;
    // Loading dockerode takes a quarter of a second of the event loop: not for an engine that is not there.
    if (this.#docker === undefined && !existsSync(socketPath)) {
      return Promise.reject(Object.assign(new Error("there is no socket"), { code: "ENOENT" }));
    }
    this.#docker ??= load(socketPath, this.#agent);
    return this.#docker;
  }

  close(): void {
    this.#agent.destroy();
  }

  async #ping(): Promise<string> {
    const call = { what: "asking for the engine's version", deadlineMs: DEADLINES_MS.ping };
    return this.#bounded(call, async (docker, signal) => {
      // Its types do not know of the signal that it takes.
      const ask: (options: object) => Promise<unknown> = docker.version.bind(docker) as never;
      const answer = await ask({ abortSignal: signal });
      return typeof answer === "object" && answer !== null && "Version" in answer ? String(answer.Version) : "unknown";
    });
  }

  async #bounded<T>(call: EngineCall, work: (docker: Docker, signal: AbortSignal) => Promise<T>): Promise<T> {
    const docker = await this.docker().catch((error: unknown) => {
      const failure = toEngineFailure(call.what, error);
      this.#breaker.failed(failure.message);
      throw failure;
    });
    const deadline = new AbortController();
    // After a loop that was held, timers come first: what the engine had answered meanwhile is read before it counts as silent.
    const timer = setTimeout(() => setImmediate(() => deadline.abort()), call.deadlineMs);
    const signal = call.signal === undefined ? deadline.signal : AbortSignal.any([deadline.signal, call.signal]);
    try {
      const result = await race(work(docker, signal), signal);
      this.#breaker.succeeded();
      return result;
    } catch (error) {
      if (call.signal?.aborted === true) throw call.signal.reason;
      const failure = deadline.signal.aborted
        ? new EngineFailure("timeout", `${call.what}: no answer in ${call.deadlineMs} ms`)
        : toEngineFailure(call.what, error);
      if (failure.kind === "answered") this.#breaker.succeeded();
      else if (call.mayWait !== true || failure.kind !== "timeout") this.#breaker.failed(failure.message);
      throw failure;
    } finally {
      clearTimeout(timer);
    }
  }

  #refusal(): EngineFailure {
    return new EngineFailure("timeout", `not asked, because of the last failures: ${this.#breaker.reason ?? ""}`);
  }
}

// dockerode brings gRPC with it, which takes a while to load: only whoever uses an engine waits for that.
async function load(socketPath: string, agent: Agent): Promise<Docker> {
  const { default: Client } = await import("dockerode");
  // Everything is given, so that nothing of the process's DOCKER_ variables counts.
  return new Client({ socketPath, protocol: "http", agent } as ConstructorParameters<typeof Docker>[0]);
}

// An engine that took the request and then fell silent must not hold us, whatever dockerode does with the signal.
function race<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
