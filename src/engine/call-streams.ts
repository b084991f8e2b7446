import { randomUUID } from "node:crypto";
import type { Clock } from "../core/clock.ts";
import type { ToolResult } from "../core/result.ts";
import type { EventBus } from "./bus.ts";
import type { CallRequest } from "./call.ts";
import { CallStream } from "./call-stream.ts";
import { Cancellation } from "./deadline.ts";
import type { KeptStreams, RecalledStream, RunStreamed } from "./kept-streams.ts";
import type { EngineLimits } from "./limits.ts";

export interface CallStreamsDeps {
  readonly bus: EventBus;
  readonly clock: Clock;
  readonly limits: EngineLimits;
  readonly kept: KeptStreams;
}

/** A streamed call under way. */
export interface RunningStream {
  readonly stream: CallStream;
  readonly result: Promise<ToolResult>;
}

/** How a result is written into the stream. */
export type WriteResult = (result: ToolResult) => string;

/** The streams of calls that run or are over since a short while; beyond that, and the server, only what they came to is kept. */
export class CallStreams {
  readonly #deps: CallStreamsDeps;
  readonly #streams = new Map<string, CallStream>();
  /** In the order of their ends, each with what takes its timer back: a timer holds its stream with all that it told. */
  readonly #ended = new Map<CallStream, () => void>();
  #running = 0;
  #endedBytes = 0;
  #unsubscribe: (() => void) | undefined;

  constructor(deps: CallStreamsDeps) {
    this.#deps = deps;
  }

  /** Streams that are held, running or over. */
  get size(): number {
    return this.#streams.size;
  }

  /** Runs a call and keeps what it tells. The returned promise never rejects if `run` does not. */
  run(request: CallRequest, run: RunStreamed, write: WriteResult): RunningStream {
    const cancellation = new Cancellation();
    const { parent } = request;
    const follow = () => {
      if (parent?.ended !== undefined) cancellation.cancel(parent.ended);
    };
    const unfollow = parent?.onEnd(follow);
    follow();
    const stream = new CallStream({
      callId: randomUUID(),
      tenant: request.caller.tenant,
      cancellation,
      maxBytes: this.#deps.limits.streamBytes,
    });
    this.#open(stream);
    const { promise: result, resolve, reject } = Promise.withResolvers<ToolResult>();
    const finish = (value: ToolResult) => {
      const number = stream.finish(write(value));
      // Nobody waits for the record.
      unfollow?.();
      this.#close(stream);
      resolve(value);
      return number;
    };
    const streamed = { ...request, callId: stream.callId, parent: cancellation };
    this.#deps.kept.run(stream.callId, streamed, run, finish).catch(reject);
    return { stream, result };
  }

  /** Whose a held stream is; for the audit, never for an answer. */
  tenantOf(callId: string): string | undefined {
    return this.#streams.get(callId)?.tenant;
  }

  /** Finds a tenant's stream. */
  find(tenant: string, callId: string): CallStream | undefined {
    const stream = this.#streams.get(callId);
    return stream?.tenant === tenant ? stream : undefined;
  }

  /**
   * Finds a tenant's stream that is not in memory any more: what is left of it is what the call came to.
   *
   * @throws ToolyardError dependency_failed when the store cannot be read.
   */
  recall(tenant: string, callId: string): Promise<RecalledStream | undefined> {
    return this.#deps.kept.recall(tenant, callId);
  }

  /** Forgets a call that was refused, as it was answered otherwise. */
  forget(stream: CallStream): void {
    if (!this.#streams.delete(stream.callId)) return;
    const cancelTimer = this.#ended.get(stream);
    if (cancelTimer === undefined) return;
    cancelTimer();
    this.#ended.delete(stream);
    this.#endedBytes -= stream.bytes;
  }

  #open(stream: CallStream): void {
    this.#streams.set(stream.callId, stream);
    this.#running += 1;
    this.#unsubscribe ??= this.#deps.bus.subscribe((event) => {
      if (event.call_id !== undefined) this.#streams.get(event.call_id)?.accept(event);
    });
  }

  #close(stream: CallStream): void {
    this.#running -= 1;
    if (this.#running === 0) {
      this.#unsubscribe?.();
      this.#unsubscribe = undefined;
    }
    if (!this.#streams.has(stream.callId)) return;
    const { clock, limits } = this.#deps;
    const cancelTimer = clock.after(limits.endedStreamMs, () => this.forget(stream));
    this.#ended.set(stream, cancelTimer);
    this.#endedBytes += stream.bytes;
    for (const oldest of this.#ended.keys()) {
      if (this.#endedBytes <= limits.endedStreamBytes || oldest === stream) break;
      this.forget(oldest);
    }
  }
}
