import { ToolyardError } from "../core/errors.ts";
import type { Catalog } from "./catalog.ts";
import type { SessionRecord } from "./session-record.ts";

/** What every kind of sandbox can be asked for, and the tools that are it, on whichever backend: the first that is there. */
const TOOLS = {
  "terminal:start": ["terminal:start", "terminal_start"],
  "terminal:stop": ["terminal:stop", "terminal_stop"],
  "terminal:status": ["terminal:status", "terminal_status"],
  "terminal:recording": ["terminal:recording", "terminal_recording"],
  "desktop:start": ["desktop:start", "desktop_start", "start_desktop"],
  "desktop:stop": ["desktop:stop", "desktop_stop", "stop_desktop"],
  "desktop:status": ["desktop:status", "desktop_status", "get_desktop_status"],
  "desktop:stream_url": ["desktop:stream_url", "stream_url"],
  "command:execute": ["bash:run", "run_command", "bash_run"],
} as const satisfies Record<string, readonly string[]>;

export type SandboxAction = keyof typeof TOOLS;

/** What the desktop's tools are called on a backend whose sessions are desktops. */
const OF_DESKTOPS: Readonly<Partial<Record<SandboxAction, string>>> = {
  "desktop:start": "start",
  "desktop:stop": "stop",
  "desktop:status": "status",
};

/**
 * Finds the action that does this in a session's own backend.
 *
 * @throws ToolyardError tool_not_found when the session's kind of sandbox has nothing of the sort.
 */
export function actionIn(catalog: Catalog, { mount, resource }: SessionRecord, action: SandboxAction): string {
  const own = mount?.backend.desktop === undefined ? undefined : OF_DESKTOPS[action];
  for (const name of mount === undefined ? [] : [...TOOLS[action], ...(own === undefined ? [] : [own])]) {
    const entry = catalog.entryOf(resource, name);
    if (entry !== undefined) return entry.fullName;
  }
  const [what = "sandbox"] = action.split(":");
  throw new ToolyardError("tool_not_found", `The sessions of ${resource} have no ${what} for ${action}`, {
    details: { action, resource_type: resource },
    suggestion:
      what === "desktop"
        ? "Use a session of a resource with desktops, such as vm."
        : "Use a session of a resource whose tools run in a sandbox, such as code.",
  });
}
