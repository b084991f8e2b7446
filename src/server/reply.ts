import { randomUUID } from "node:crypto";
import type { ToolyardError } from "../core/errors.ts";
import type { Envelope } from "../core/protocol.ts";
import type { ResultMeta, ToolFailure, ToolResult } from "../core/result.ts";
import { toFailure } from "../engine/failure.ts";
import { retryAfterOf } from "./retry-after.ts";

/** An answer before it is written: a status and what becomes JSON. */
export interface Reply {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent in place of the body, as it comes. */
  readonly stream?: ReadableStream<Uint8Array>;
  /** HTML, sent in place of the body. */
  readonly page?: string;
}

/** What an operation that is not a tool's call knows of itself. */
export interface OperationMeta {
  /** `session:create` and the like. */
  readonly operation: string;
  readonly traceId?: string | undefined;
  readonly resourceType?: string | null | undefined;
  readonly sessionId?: string | null | undefined;
}

/** Puts a call's result into the wire's envelope. */
export function toEnvelope(result: ToolResult): Envelope {
  if (result.ok) return { code: 0, message: "success", data: result.data, meta: result.meta };
  const { code, message, details } = result.error;
  return { code, message, data: details ?? null, meta: result.meta };
}

export function toReply(result: ToolResult): Reply {
  if (result.ok) return { status: 200, body: toEnvelope(result) };
  return refuse(result.error, toEnvelope(result));
}

/** Answers an operation that went well. */
export function succeed(meta: OperationMeta, data: unknown): Reply {
  return { status: 200, body: { code: 0, message: "success", data, meta: toMeta(meta) } };
}

/** Answers an operation that failed; `data` replaces the error's own details where the wire has a shape for them. */
export function fail(meta: OperationMeta, error: ToolyardError, data?: unknown): Reply {
  const failure = toFailure(error);
  const body: Envelope = {
    code: failure.code,
    message: failure.message,
    data: data ?? failure.details ?? null,
    meta: {
      ...toMeta(meta),
      outcome: failure.outcome,
      error: failure.error,
      retryable: failure.retryable,
      suggestion: failure.suggestion,
    },
  };
  return refuse(failure, body);
}

function refuse(failure: ToolFailure, body: unknown): Reply {
  const headers = retryAfterOf(failure);
  return { status: failure.status, body, ...(headers !== undefined && { headers }) };
}

function toMeta({ operation, traceId, resourceType, sessionId }: OperationMeta): ResultMeta {
  return {
    tool: operation,
    execution_time_ms: null,
    resource_type: resourceType ?? null,
    session_id: sessionId ?? null,
    trace_id: traceId ?? randomUUID(),
    outcome: "ok",
  };
}

const JSON_TYPE = { "content-type": "application/json" } as const;

/** What is written of an answer that is neither a stream nor a page. */
export function toJson({ body, headers }: Reply): { readonly text: string; readonly headers: Record<string, string> } {
  return { text: JSON.stringify(body), headers: headers === undefined ? JSON_TYPE : { ...JSON_TYPE, ...headers } };
}

export function toResponse(reply: Reply): Response {
  const { status, headers, stream, page } = reply;
  if (page !== undefined)
    return new Response(page, { status, headers: { ...headers, "content-type": "text/html; charset=utf-8" } });
  if (stream !== undefined) return new Response(stream, { status, ...(headers !== undefined && { headers }) });
  const { text, headers: known } = toJson(reply);
  return new Response(text, { status, headers: known });
}

/** Puts FastAPI's own `detail` beside the envelope. */
export function withDetail(reply: Reply, detail: unknown): Reply {
  return { ...reply, body: { ...Object(reply.body), detail } };
}
