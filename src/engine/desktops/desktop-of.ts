import type { SessionDesktop } from "../../core/desktop.ts";
import { ToolyardError } from "../../core/errors.ts";
import type { SessionRecord } from "../session-record.ts";

/**
 * Finds the desktop behind a session whose initialize is over.
 *
 * @throws ToolyardError `invalid_input` when nothing of the kind stands behind the resource; `conflict` while it is stopped.
 */
export function desktopOf({ mount, view, resource }: SessionRecord): SessionDesktop {
  const desktop = mount?.backend.desktop?.(view);
  if (desktop !== undefined) return desktop;
  throw new ToolyardError("invalid_input", `The sessions of ${resource} have no desktop`, {
    details: { resource_type: resource },
    suggestion: "Use a session of a resource with desktops, such as vm.",
  });
}
