import type { CallOptions } from "../core/caller.ts";
import { defaultCallLimits } from "./timeouts.ts";

/** How one call over HTTP is to be run. */
export interface HttpCallOptions extends CallOptions {
  /** What becomes of the call when this client goes away. @default "cancel" */
  readonly onDisconnect?: "cancel" | "detach" | undefined;
  /** Names the call to the server, so that the same key never runs it twice. @default a new UUID per call */
  readonly idempotencyKey?: string | undefined;
  /** Shows that the human who has control of the session makes the call. */
  readonly controlLease?: string | undefined;
}

/** One call of a batch. */
export interface BatchCall {
  readonly action: string;
  readonly params?: object | undefined;
  readonly timeoutMs?: number | undefined;
  readonly sessionId?: string | undefined;
}

/** How a batch is to be run. */
export interface BatchOptions {
  /** Runs the calls together in place of one after another. @default false */
  readonly parallel?: boolean | undefined;
  /** Starts no further call after one failed. @default true */
  readonly stopOnError?: boolean | undefined;
  /** Calls in flight at once when parallel; the server's maximum applies. */
  readonly maxConcurrency?: number | undefined;
  readonly traceId?: string | undefined;
  readonly onDisconnect?: "cancel" | "detach" | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Builds the body of POST /execute; what is `undefined` stays out of the JSON. */
export function toExecuteBody(workerId: string, action: string, params: object, options: HttpCallOptions): object {
  return {
    worker_id: workerId,
    action,
    params,
    timeout_ms: options.timeoutMs,
    session_id: options.sessionId,
    trace_id: options.traceId,
    on_disconnect: options.onDisconnect,
    control_lease: options.controlLease,
  };
}

/** Builds the body of POST /execute/batch. */
export function toBatchBody(workerId: string, calls: readonly BatchCall[], options: BatchOptions): object {
  return {
    worker_id: workerId,
    actions: calls.map(({ action, params = {}, timeoutMs, sessionId }) => ({
      action,
      params,
      timeout_ms: timeoutMs,
      session_id: sessionId,
    })),
    parallel: options.parallel,
    stop_on_error: options.stopOnError,
    max_concurrency: options.maxConcurrency,
    trace_id: options.traceId,
    on_disconnect: options.onDisconnect,
  };
}

/** How long to wait for a call's answer: always longer than the server's own limit, so that the server says what happened. */
export function callWaitMs(timeoutMs: number | undefined): number {
  const limitMs = timeoutMs === undefined || timeoutMs === 0 ? defaultCallLimits.longestMs : timeoutMs;
  return limitMs + defaultCallLimits.marginMs;
}

/** How long to wait for a batch: as long as its calls take one after another, or without end when one has no limit. */
export function batchWaitMs(calls: readonly BatchCall[]): number | false {
  let totalMs = defaultCallLimits.marginMs;
  for (const { timeoutMs } of calls) {
    if (timeoutMs === undefined || timeoutMs === 0) return false;
    totalMs += timeoutMs;
  }
  return totalMs;
}
