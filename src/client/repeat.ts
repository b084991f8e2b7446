import { isHTTPError, isTimeoutError } from "ky";
import { isEnvelope } from "./envelope.ts";

const CONNECT_CODES = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"]);
const CONNECT_CALLS = new Set(["connect", "getaddrinfo"]);

/**
 * Decides whether a failed request may be sent again without a chance of running twice.
 *
 * @param repeatable whether running twice would do no harm (a read; a call under an idempotency key that the server keeps).
 */
export function mayRepeat(error: unknown, repeatable: boolean): boolean {
  if (isHTTPError(error)) return wasTurnedAway(error.response, error.data, repeatable);
  // A server that did not answer in time is not helped by more requests.
  if (isTimeoutError(error)) return false;
  return repeatable || findConnectFailure(error) !== undefined;
}

/** Names the failure to connect behind an error, and so proves that nothing was sent; `undefined` when there was none. */
export function findConnectFailure(error: unknown): string | undefined {
  for (let link = error; link instanceof Error; link = link.cause) {
    const code = "code" in link && typeof link.code === "string" ? link.code : undefined;
    const call = "syscall" in link && typeof link.syscall === "string" ? link.syscall : undefined;
    if (code !== undefined && (CONNECT_CODES.has(code) || (call !== undefined && CONNECT_CALLS.has(call)))) return code;
  }
  return undefined;
}

/** 429 is by definition an answer to a request that was not run; a 503 is only if the server says so itself. */
function wasTurnedAway(response: Response, body: unknown, repeatable: boolean): boolean {
  const retryable = isEnvelope(body) ? body.meta.retryable : undefined;
  if (retryable === false) return false;
  if (response.status === 429 || repeatable) return retryable === true || response.headers.has("retry-after");
  return retryable === true;
}
