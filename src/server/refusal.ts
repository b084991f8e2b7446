import type { ToolyardError } from "../core/errors.ts";
import { fail, type Reply } from "./reply.ts";

/** Answers who is not let in, with the headers that HTTP has for it. */
export function refusal(operation: string, error: ToolyardError): Reply {
  const reply = fail({ operation }, error);
  if (error.status !== 401) return reply;
  return { ...reply, headers: { ...reply.headers, "www-authenticate": 'Bearer realm="toolyard"' } };
}
