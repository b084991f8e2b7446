import { ERRORS, type ErrorName } from "../core/errors.ts";
import type { Envelope } from "../core/protocol.ts";
import type { ResultMeta, ToolFailure, ToolResult } from "../core/result.ts";
import { isErrorName, ServerError } from "./errors/server-error.ts";

type JsonObject = Readonly<Record<string, unknown>>;

/** Whether a value is a JSON object. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether an answer is the protocol's envelope; only its code, message and meta are looked at. */
export function isEnvelope(value: unknown): value is Envelope {
  return isJsonObject(value) && typeof value["code"] === "number" && isJsonObject(value["meta"]);
}

/**
 * Turns an envelope into a result, filling in what an older server leaves out.
 *
 * @param status the HTTP status that it came under; by default its error's own, for an envelope inside another answer.
 */
export function toToolResult(envelope: Envelope, status?: number): ToolResult {
  if (envelope.code === 0) {
    return { ok: true, data: envelope.data, meta: { ...envelope.meta, outcome: envelope.meta.outcome ?? "ok" } };
  }
  const error = toFailure(envelope, status);
  return { ok: false, error, meta: { ...envelope.meta, outcome: error.outcome } };
}

/** Builds the typed error of an envelope that reports a failure; the status is as for {@link toToolResult}. */
export function toServerError(envelope: Envelope, status?: number): ServerError {
  return new ServerError(toFailure(envelope, status), envelope);
}

/** Wraps the `{message}` or `{detail}` of a path without envelope into one, so that it reads like every other error. */
export function envelopeOfPlainError(body: unknown, status: number): Envelope | undefined {
  if (!isJsonObject(body)) return undefined;
  const message = body["message"] ?? body["detail"];
  if (message === undefined) return undefined;
  const row = ERRORS[nameOfStatus(status)];
  const meta: ResultMeta = {
    tool: "",
    execution_time_ms: null,
    resource_type: null,
    session_id: null,
    trace_id: "",
    outcome: row.outcome,
    error: nameOfStatus(status),
  };
  return { code: row.code, message: typeof message === "string" ? message : JSON.stringify(message), data: null, meta };
}

function toFailure({ code, message, data, meta }: Envelope, status?: number): ToolFailure {
  const name = isErrorName(meta.error) ? meta.error : nameOfCode(code, status);
  const row = ERRORS[name];
  const outcome = meta.outcome === undefined || meta.outcome === "ok" ? row.outcome : meta.outcome;
  return {
    error: name,
    code,
    status: status ?? row.status,
    outcome,
    message,
    retryable: meta.retryable ?? row.retryable,
    suggestion: meta.suggestion ?? row.suggestion,
    ...(isJsonObject(data) ? { details: data } : {}),
  };
}

const NAMES = Object.keys(ERRORS).filter(isErrorName);

/** An older server sends a code alone: the name that has it, with the same status where there is one. */
function nameOfCode(code: number, status: number | undefined): ErrorName {
  const sameCode = NAMES.filter((name) => ERRORS[name].code === code);
  return sameCode.find((name) => ERRORS[name].status === status) ?? sameCode[0] ?? "unexpected_error";
}

function nameOfStatus(status: number): ErrorName {
  if (status === 404) return "unknown_name";
  return NAMES.find((name) => ERRORS[name].status === status) ?? "unexpected_error";
}
