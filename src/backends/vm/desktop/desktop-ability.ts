import { ToolyardError } from "../../../core/errors.ts";
import type { RunningDesktop } from "./provider.ts";

/** What a desktop may or may not be able to do, by its provider. */
export type DesktopAbility = "spawn" | "files" | "connect" | "box" | "snapshots";

const WHAT: Readonly<Record<DesktopAbility, string>> = {
  spawn: "start programs that last",
  files: "touch files",
  connect: "be connected to by port",
  box: "be used as a sandbox",
  snapshots: "keep snapshots",
};

/**
 * What a desktop has to do something with.
 *
 * @throws ToolyardError `runtime_unavailable` when its provider cannot.
 */
export function abilityOf<A extends DesktopAbility>(
  running: RunningDesktop,
  ability: A,
): NonNullable<RunningDesktop[A]> {
  // Narrowed by the line after it, which the index type alone does not say.
  const able = running[ability] as RunningDesktop[A] | undefined;
  if (able !== undefined && able !== null) return able;
  throw new ToolyardError("runtime_unavailable", `this desktop cannot ${WHAT[ability]}`, {
    details: { ability },
    suggestion: "Use a vm backend whose provider is docker or local.",
  });
}
