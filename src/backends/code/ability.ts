import { ToolyardError } from "../../core/errors.ts";
import type { RuntimeSelector, SandboxInstance } from "../../core/runtime.ts";
import type { SandboxAbility } from "../../core/sandbox-ability.ts";

/** A sandbox that surely has some abilities. */
export type Able<A extends SandboxAbility> = SandboxInstance & Required<Pick<SandboxInstance, A>>;

const WHAT: Readonly<Record<SandboxAbility, string>> = {
  exec: "run commands",
  spawn: "run commands in the background",
  processes: "list background commands",
  files: "hold files",
  connect: "be connected to by port",
  stats: "say what they use",
  reset: "be brought back to fresh",
  pause: "be paused",
  resume: "be paused",
  ping: "be asked for a sign of life",
};

/**
 * Narrows a sandbox to one that has an ability.
 *
 * @throws ToolyardError `runtime_unavailable` that names the ability, as `details.ability`, and the runtimes that have it.
 */
export function requireAbility<A extends SandboxAbility>(
  sandbox: SandboxInstance,
  ability: A,
  selector: RuntimeSelector,
): Able<A> {
  if (hasAbility(sandbox, ability)) return sandbox;
  const able = selector.names.filter((name) => selector.get?.(name)?.abilities?.includes(ability) === true);
  throw new ToolyardError(
    "runtime_unavailable",
    `sandboxes of the runtime "${sandbox.runtime}" cannot ${WHAT[ability]}`,
    {
      details: { ability, runtime: sandbox.runtime, runtimes: able },
      suggestion:
        able.length === 0
          ? "No runtime that is configured here can."
          : `Create the session in one that can: session_config {"runtime": "${able[0]}"} (${able.join(", ")}).`,
    },
  );
}

function hasAbility<A extends SandboxAbility>(sandbox: SandboxInstance, ability: A): sandbox is Able<A> {
  return sandbox[ability] !== undefined;
}
