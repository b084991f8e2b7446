import { ToolyardError } from "../core/errors.ts";
import { isSafeName, MAX_NAME_LENGTH } from "../core/protocol.ts";
import type { Caller } from "../engine/session-table.ts";
import type { Identity } from "./auth/identity.ts";

/**
 * Checks who calls.
 *
 * @throws ToolyardError invalid_input
 */
export function toCaller({ tenant, scopes, keyId }: Identity, workerId: string): Caller {
  return { tenant, workerId: checkName("worker_id", workerId), scopes, keyId };
}

/**
 * Checks a name that the caller chose.
 *
 * @throws ToolyardError invalid_input
 */
export function checkName(field: string, name: string): string {
  if (isSafeName(name)) return name;
  throw new ToolyardError(
    "invalid_input",
    `${field} takes 1 to ${MAX_NAME_LENGTH} printable ASCII characters, and no reserved word`,
  );
}
