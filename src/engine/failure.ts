import { ERRORS, ToolyardError } from "../core/errors.ts";
import type { ToolFailure } from "../core/result.ts";
import { toPlainJson } from "./plain-json.ts";

const DETAIL_BOUNDS = { maxBytes: 4_194_304, maxDepth: 50 };

/** Turns the one error that crosses the wire into a value. */
export function toFailure(error: ToolyardError): ToolFailure {
  return {
    error: error.error,
    code: error.code,
    status: error.status,
    outcome: error.outcome,
    message: error.message,
    retryable: error.retryable,
    suggestion: error.suggestion,
    ...(error.details !== undefined && { details: toPlainDetails(error.details) }),
  };
}

/**
 * Answers a call that was ended: for the reason it was ended for, with the facts of the tool's own last word, which may say
 * what it had printed and what it had lost. A tool that met another failure on its way out is believed.
 */
export function toLastWord(ended: ToolyardError, error: unknown): ToolyardError {
  if (!ToolyardError.is(error)) return ended;
  if (error.error !== "cancelled" && error.error !== ended.error) return error;
  return new ToolyardError(ended.error, ended.message, {
    details: { ...error.details, ...ended.details },
    suggestion: ended.suggestion,
    cause: error,
  });
}

/** Masks an error whose text was not meant for the caller; the trace id finds it in the log. */
export function toUnexpectedError(what: string, traceId: string, cause: unknown): ToolyardError {
  return new ToolyardError("unexpected_error", `${what} failed unexpectedly`, {
    suggestion: `${ERRORS.unexpected_error.suggestion} It is ${traceId}.`,
    cause,
  });
}

/** Details that cannot be sent are replaced, so that a bad error still is one. */
function toPlainDetails(details: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  try {
    const { value } = toPlainJson(details, DETAIL_BOUNDS);
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch {
    return { omitted: "the details are not JSON, or too large" };
  }
}
