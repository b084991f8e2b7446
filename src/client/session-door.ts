import { expectData, expectEnvelope } from "./expect-answer.ts";
import type { FindSession } from "./session-files.ts";
import { LIFECYCLE_TIMEOUT_MS, QUICK_TIMEOUT_MS } from "./timeouts.ts";
import type { Exchange } from "./transport.ts";

/** How a request to a session's sandbox goes, beside its path. */
export type DoorRequest = Pick<Exchange, "method"> & Partial<Pick<Exchange, "body" | "repeatable" | "signal">>;

/** Asks something of a session's sandbox from outside, at `/api/v1/sandbox/{session_id}`. */
export async function askSandbox<T>(find: FindSession, rest: string, request: DoorRequest): Promise<T> {
  const { transport, sessionId } = await find();
  const path = `/api/v1/sandbox/${encodeURIComponent(sessionId)}${rest}`;
  const timeoutMs = request.method === "GET" ? QUICK_TIMEOUT_MS : LIFECYCLE_TIMEOUT_MS;
  const exchange = { timeoutMs, repeatable: request.method === "GET", ...request, path };
  return expectData<T>(expectEnvelope(await transport.exchange(exchange), request.method));
}
