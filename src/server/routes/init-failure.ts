import { ToolyardError } from "../../core/errors.ts";
import { fail, type OperationMeta, type Reply } from "../reply.ts";

/** What the wire shows in the place of a session that could not be made. */
export function toFailedSession(message: string) {
  return { session_id: null, session_status: "error", error: message } as const;
}

/**
 * Answers a session whose initialize failed: with status 500, and `more` beside what stands in its place.
 *
 * @throws the error itself when it is another one.
 */
export function toInitFailure(
  meta: OperationMeta,
  error: unknown,
  toMore: (error: ToolyardError) => Readonly<Record<string, unknown>>,
): Reply {
  if (!ToolyardError.is(error) || error.error !== "session_init_failed") throw error;
  return { ...fail(meta, error, { ...toMore(error), ...toFailedSession(error.message) }), status: 500 };
}
