import { randomUUID } from "node:crypto";
import { ERRORS } from "../core/errors.ts";
import type { ToolResult } from "../core/result.ts";
import { type HttpCallOptions, toExecuteBody } from "./call-request.ts";
import { isEnvelope, toToolResult } from "./envelope.ts";
import { expectEnvelope } from "./expect-answer.ts";
import { PlainAnswer, readResuming, type StreamPlan } from "./resuming-stream.ts";
import type { SseMessage } from "./sse-parser.ts";
import { QUICK_TIMEOUT_MS } from "./timeouts.ts";
import type { StreamRequest, Transport } from "./transport.ts";

/** One event of a streamed call. The last one is the `result`, and only that. */
export type CallEvent<R = unknown> =
  | {
      readonly type: "call.started";
      readonly id: string;
      readonly data: { readonly call_id: string; readonly trace_id: string; readonly action: string };
    }
  /** What the tool reported. */
  | { readonly type: "progress"; readonly id: string; readonly data: Readonly<Record<string, unknown>> }
  /** What the tool's work wrote, in pieces; `result` holds it as a whole. */
  | {
      readonly type: "output";
      readonly id: string;
      readonly data: { readonly stream: "stdout" | "stderr"; readonly text: string };
    }
  /** The tool ignores that it was cancelled and may still be working. */
  | { readonly type: "call.abandoned"; readonly id: string; readonly data: Readonly<Record<never, never>> }
  /** The server no longer had these events when the stream was taken up again. */
  | {
      readonly type: "gap";
      readonly id: string;
      readonly data: { readonly reason: "dropped"; readonly from: string; readonly to: string };
    }
  /** What the call came to; a failure is a value. The id is empty where the call was refused before it began. */
  | { readonly type: "result"; readonly id: string; readonly result: ToolResult<R> };

/**
 * Runs one call and yields what it tells until its result.
 *
 * A reader that leaves the loop, or aborts, cancels the call, unless `onDisconnect` is `detach`. A cut connection is taken
 * up again, unless `onDisconnect` is `cancel`.
 */
export async function* streamCall<R>(
  transport: Transport,
  workerId: string,
  call: { readonly action: string; readonly params: object },
  options: HttpCallOptions,
): AsyncGenerator<CallEvent<R>, void, undefined> {
  const signal = options.signal ?? new AbortController().signal;
  const plan = new CallPlan(transport, toExecuteBody(workerId, call.action, call.params, options), options);
  let over = false;
  try {
    for await (const message of readResuming(transport, plan, { ...retriesOf(transport), signal })) {
      const event = toCallEvent<R>(message);
      if (event === undefined) continue;
      over = event.type === "result";
      yield event;
    }
  } catch (error) {
    over = error instanceof PlainAnswer;
    if (!(error instanceof PlainAnswer)) throw error;
    const { envelope, status } = expectEnvelope(error.answer, "POST");
    const result = toToolResult(envelope, status);
    // A server that does not know the call which an earlier one had begun: it kept nothing, or forgot it.
    const forgotten = plan.callId !== undefined && status === 404;
    // The path says what the tool answers; the caller's type is the tool's.
    yield { type: "result", id: "", result: (forgotten ? toForgotten(result) : result) as ToolResult<R> };
  } finally {
    const { callId } = plan;
    if (!over && callId !== undefined && options.onDisconnect === undefined) await cancel(transport, callId);
  }
}

const retriesOf = ({ maxRetries, retryDelayMs }: Transport) => ({ maxRetries, retryDelayMs });

/** How a call's stream is opened and taken up again. */
class CallPlan implements StreamPlan {
  readonly first: StreamRequest;
  callId: string | undefined;
  readonly #resumable: boolean;
  readonly #transport: Transport;

  constructor(transport: Transport, body: object, { onDisconnect, idempotencyKey }: HttpCallOptions) {
    this.#transport = transport;
    this.#resumable = onDisconnect !== "cancel";
    this.first = {
      method: "POST",
      path: "/api/v1/execute",
      body: { ...body, stream: true, on_disconnect: onDisconnect ?? "detach" },
      headers: { "idempotency-key": idempotencyKey ?? randomUUID() },
    };
  }

  onOpen(headers: Headers): void {
    this.callId ??= headers.get("toolyard-call-id") ?? undefined;
  }

  async resume(lastEventId: string | undefined): Promise<StreamRequest | undefined> {
    if (!this.#resumable) return undefined;
    // Under a key that the server keeps, a second sending gets what the first one comes to.
    if (this.callId === undefined) return (await this.#transport.keepsKeys()) ? this.first : undefined;
    return {
      method: "GET",
      path: `/api/v1/calls/${encodeURIComponent(this.callId)}/stream`,
      ...(lastEventId === undefined ? {} : { headers: { "last-event-id": lastEventId } }),
    };
  }

  isLast({ event }: SseMessage): boolean {
    return event === "result";
  }
}

/** Takes an event of the wire; kinds that this version does not know are left out. */
function toCallEvent<R>({ id, event, data }: SseMessage): CallEvent<R> | undefined {
  const value: unknown = JSON.parse(data);
  switch (event) {
    case "result": {
      if (!isEnvelope(value)) return undefined;
      // As above: the tool's own type.
      return { type: "result", id, result: toToolResult(value) as ToolResult<R> };
    }
    case "call.started":
    case "progress":
    case "output":
    case "call.abandoned":
    case "gap":
      // The protocol says what each event holds; the server checks it in its own tests.
      return { type: event, id, data: value } as CallEvent<R>;
    default:
      return undefined;
  }
}

/** What became of the call is not known, which is no mistake of its caller. */
function toForgotten({ meta }: ToolResult): ToolResult {
  const { outcome, retryable, suggestion, code, status } = ERRORS.unknown_outcome;
  const facts = { error: "unknown_outcome", outcome, retryable, suggestion } as const;
  const message = "The server does not know the call any more, which had been begun";
  return { ok: false, error: { ...facts, code, status, message }, meta: { ...meta, ...facts } };
}

/** Best effort: a call that nobody waits for ends at its timeout at the latest. */
async function cancel(transport: Transport, callId: string): Promise<void> {
  const path = `/api/v1/calls/${encodeURIComponent(callId)}/cancel`;
  const exchange = { method: "POST", path, body: {}, timeoutMs: QUICK_TIMEOUT_MS, repeatable: true } as const;
  await transport.exchange(exchange).catch(() => undefined);
}
