import { ToolyardError } from "../core/errors.ts";
import type { SandboxInstance } from "../core/runtime.ts";
import type { SessionRecord } from "./session-record.ts";

/**
 * Finds the sandbox behind a session whose initialize is over.
 *
 * @throws ToolyardError `invalid_input` when nothing of the kind stands behind the resource; `sandbox_dead`.
 */
export function sandboxOf({ mount, view, resource }: SessionRecord): SandboxInstance {
  const sandbox = mount?.backend.sandbox?.(view);
  if (sandbox !== undefined) return sandbox;
  throw new ToolyardError("invalid_input", `The sessions of ${resource} have no sandbox`, {
    details: { resource_type: resource },
    suggestion: "Use a session of a resource whose tools run in a sandbox, such as code.",
  });
}

/** Says that a sandbox cannot do something, as its runtime has no such ability. */
export function unable(record: SessionRecord, ability: string): ToolyardError {
  const { runtime } = sandboxOf(record);
  return new ToolyardError("runtime_unavailable", `A sandbox of the runtime ${runtime} has no ${ability}`, {
    details: { runtime },
    suggestion: "Ask for another runtime in the session's config: local and docker have it.",
  });
}
