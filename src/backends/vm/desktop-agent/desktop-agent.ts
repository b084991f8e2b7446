import type { Clock } from "../../../core/clock.ts";
import { type ErrorName, ToolyardError } from "../../../core/errors.ts";
import type { CommandSpec, SandboxProcess } from "../../../core/sandbox-process.ts";
import { AGENT_OPS, type AgentAnswer, type AgentFailure, type AgentMessage, type AgentOp } from "./agent-answers.ts";
import { AgentChannel, type AgentProcess } from "./agent-channel.ts";
import type { AgentPort, AskOptions } from "./agent-port.ts";
import { toAgentStart } from "./agent-sources.ts";

/** What may be asked at once; a session's calls run one after another, so that more is a mistake. */
const MAX_ASKED = 32;
/** What the agent may take over a request's own deadline before it is given up as hung. */
const GRACE_MS = 4_000;
const READY_MS = 30_000;
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 10_000;

/** What the agent needs of its desktop. */
export interface AgentHost {
  readonly spawn: (command: CommandSpec, signal: AbortSignal) => Promise<AgentProcess & Pick<SandboxProcess, "remove">>;
  readonly clock: Clock;
  /** Told when it died; the reason and what it complained of. */
  readonly onDeath?: (reason: string, complaint: string) => void;
}

interface Asked {
  readonly op: AgentOp;
  readonly resolve: (answer: never) => void;
  readonly reject: (error: Error) => void;
}

const ERROR_OF: Readonly<Record<AgentFailure["kind"], ErrorName>> = {
  invalid: "invalid_input",
  stale: "stale_ref",
  unavailable: "dependency_failed",
  failed: "business_failure",
  timeout: "timeout",
};

/** The Node side of a desktop's agent: one process for as long as the desktop runs, started again when it dies. */
export class DesktopAgent implements AgentPort {
  readonly #host: AgentHost;
  readonly #asked = new Map<number, Asked>();
  readonly #stop = new AbortController();
  #channel: AgentChannel | undefined;
  #ready = Promise.withResolvers<void>();
  #isReady = false;
  #lastId = 0;
  #nextRef = 1;
  #pauseMs = FIRST_PAUSE_MS;

  /** Starts it, without waiting for it. */
  constructor(host: AgentHost) {
    this.#host = host;
    this.#ready.promise.catch(() => {});
    void this.#keep();
  }

  async ask<O extends AgentOp>(
    op: O,
    args: Readonly<Record<string, unknown>>,
    { timeoutMs, signal }: AskOptions,
  ): Promise<AgentAnswer<O>> {
    signal.throwIfAborted();
    await this.#whenReady(signal);
    if (this.#asked.size >= MAX_ASKED)
      throw new ToolyardError("overloaded", "too much is asked of the desktop at once");
    const channel = this.#channel;
    if (channel === undefined) throw gone("it is being started again");
    this.#lastId += 1;
    const id = this.#lastId;
    const { promise, resolve, reject } = Promise.withResolvers<AgentAnswer<O>>();
    this.#asked.set(id, { op, resolve, reject });
    const abort = () => {
      channel.send({ cancel: id });
      reject(signal.reason instanceof Error ? signal.reason : new Error("aborted"));
    };
    signal.addEventListener("abort", abort, { once: true });
    const giveUp = this.#host.clock.after(timeoutMs + GRACE_MS, () => {
      reject(new ToolyardError("timeout", `the desktop's agent did not answer ${op} in its time`));
      // Something in it hangs that its own deadlines do not reach.
      void channel.close();
    });
    channel.send({ id, lane: AGENT_OPS[op].lane, op, args, deadline_ms: timeoutMs });
    try {
      return await promise;
    } finally {
      giveUp();
      signal.removeEventListener("abort", abort);
      this.#asked.delete(id);
    }
  }

  /** Ends it for good; idempotent. */
  async close(): Promise<void> {
    this.#stop.abort(new Error("the desktop was closed"));
    this.#ready.reject(gone("the desktop is closed"));
    this.#rejectAll("the desktop is closed");
    await this.#channel?.close();
  }

  async #whenReady(signal: AbortSignal): Promise<void> {
    const { promise, reject } = Promise.withResolvers<never>();
    const abort = () => reject(signal.reason instanceof Error ? signal.reason : new Error("aborted"));
    signal.addEventListener("abort", abort, { once: true });
    const giveUp = this.#host.clock.after(READY_MS, () => reject(gone("it does not come up")));
    try {
      await Promise.race([this.#ready.promise, promise]);
    } finally {
      giveUp();
      signal.removeEventListener("abort", abort);
    }
  }

  async #keep(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      // oxlint-disable-next-line no-await-in-loop -- one life after another
      const reason = await this.#live(signal);
      if (signal.aborted) return;
      if (this.#isReady) this.#awaitNext();
      this.#rejectAll(reason);
      // oxlint-disable-next-line no-await-in-loop -- ever longer while it does not come up
      await this.#pause(this.#pauseMs);
      this.#pauseMs = Math.min(this.#pauseMs * 2, LONGEST_PAUSE_MS);
    }
  }

  #awaitNext(): void {
    this.#isReady = false;
    this.#ready = Promise.withResolvers();
    this.#ready.promise.catch(() => {});
  }

  /** One life of the process; says how it ended. */
  async #live(signal: AbortSignal): Promise<string> {
    const { command, line } = toAgentStart(this.#nextRef);
    let process: Awaited<ReturnType<AgentHost["spawn"]>>;
    try {
      process = await this.#host.spawn({ command, keepInput: true }, signal);
    } catch (error) {
      return `it could not be started: ${error instanceof Error ? error.message : "for no known reason"}`;
    }
    const channel = new AgentChannel(process);
    this.#channel = channel;
    if (!signal.aborted) channel.sendLine(line);
    else await channel.close();
    const reason = await channel.listen((message) => this.#take(message));
    this.#channel = undefined;
    await channel.close();
    await process.remove().catch(() => {});
    if (!signal.aborted) this.#host.onDeath?.(reason, channel.complaint);
    return reason;
  }

  /** Throws what is no answer to anything that was asked: that ends the channel. */
  #take(message: AgentMessage): void {
    if ("ready" in message) {
      this.#pauseMs = FIRST_PAUSE_MS;
      this.#isReady = true;
      this.#ready.resolve();
      return;
    }
    if (message.id > this.#lastId) throw new Error("it answered what nobody asked");
    const asked = this.#asked.get(message.id);
    // Nobody waits for it any more.
    if (asked === undefined) return;
    this.#asked.delete(message.id);
    if ("error" in message) {
      asked.reject(new ToolyardError(ERROR_OF[message.error.kind], message.error.message));
      return;
    }
    const { success, data } = AGENT_OPS[asked.op].answer.safeParse(message.result);
    if (!success) {
      asked.reject(gone(`its answer to ${asked.op} has not the form of one`));
      throw new Error("an answer has not the form of one");
    }
    this.#noteRefs(data);
    // The schema is that of the operation that was asked for.
    asked.resolve(data as never);
  }

  /** The next life of it must not give a reference that this one has given to something else. */
  #noteRefs(data: object): void {
    if (!("nodes" in data)) return;
    for (const { ref } of data.nodes as readonly { readonly ref: string }[]) {
      this.#nextRef = Math.max(this.#nextRef, Number(ref.slice(1)) + 1);
    }
  }

  #rejectAll(reason: string): void {
    for (const { reject } of this.#asked.values()) reject(gone(reason));
    this.#asked.clear();
  }

  async #pause(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = this.#host.clock.after(ms, resolve);
    this.#stop.signal.addEventListener("abort", () => resolve(), { once: true });
    await promise;
    cancel();
  }
}

function gone(reason: string): ToolyardError {
  return new ToolyardError("dependency_failed", `the desktop's agent is gone: ${reason}`, {
    suggestion: "Try again: it is started again by itself. The desktop itself, its screen and its input, still works.",
  });
}
