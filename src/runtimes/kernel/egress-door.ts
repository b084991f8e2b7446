import type { Egress, EgressDoor } from "../../core/egress.ts";
import { ToolyardError } from "../../core/errors.ts";
import type { SandboxSpec } from "../../core/runtime.ts";

/**
 * Opens the way out that a sandbox's policy asks for; `undefined` when it asks for none.
 *
 * @throws ToolyardError `runtime_unavailable` when there is no egress to hold a list of hosts with, `invalid_input` for a list that
 *   is none.
 */
export function openDoor(
  egress: Egress | undefined,
  { network = "none", sessionId }: Pick<SandboxSpec, "network" | "sessionId">,
): EgressDoor | undefined {
  if (network === "none" || network.allow.length === 0) return undefined;
  if (egress === undefined) {
    throw new ToolyardError("runtime_unavailable", "sandboxes here cannot hold a list of hosts that may be reached", {
      suggestion: 'Ask for the network "none".',
    });
  }
  return egress.open({ allow: network.allow, ...(sessionId !== undefined && { sessionId }) });
}
