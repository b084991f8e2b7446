import { ToolyardError } from "../core/errors.ts";
import { outOfScope } from "../core/scopes.ts";
import type { Call } from "./call.ts";
import type { ResourceRouter } from "./router.ts";

/**
 * Makes a session for another worker of a call's tenant, on the resource of the call's tool, within the call's deadline.
 *
 * @throws ToolyardError `forbidden` when the caller may not make sessions; `conflict` when that worker has one.
 */
export async function createSibling(
  router: ResourceRouter,
  { request, entry, deadline }: Call,
  workerId: string,
  config: Readonly<Record<string, unknown>>,
): Promise<{ readonly id: string; readonly name: string }> {
  const { resource } = entry.mount;
  const { tenant, scopes } = request.caller;
  if (scopes !== undefined && !scopes.allows("session", resource)) throw outOfScope("session", resource);
  const caller = { tenant, workerId, scopes };
  const { record, how } = await router.create({ ...caller, resource, config }, deadline);
  if (how !== "created") {
    throw new ToolyardError("conflict", `the worker "${workerId}" has a session of ${resource} already`, {
      details: { worker_id: workerId, session_id: record.id },
      suggestion: "Destroy that session first, or name another worker.",
    });
  }
  return { id: record.id, name: record.name };
}
