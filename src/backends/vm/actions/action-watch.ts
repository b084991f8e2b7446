import type { Action } from "./action.ts";
import type { ActionDone } from "./operator.ts";

/** How an action ended: with what it came to, or with what was thrown. */
export type ActionEnding = { readonly done: ActionDone } | { readonly error: unknown };

/** Sees each action that is done, whichever tool or dialect asked for it: the one place to refuse, count and record them. */
export interface ActionWatch {
  /**
   * Called right before an action; what it throws refuses the action. What it answers is called once the action has ended, and
   * waited for.
   */
  begin(action: Action): (ending: ActionEnding) => void | Promise<void>;
}

const LOOKS: ReadonlySet<Action["action"]> = new Set<Action["action"]>([
  "screenshot",
  "zoom",
  "cursor_position",
  "display_info",
  "wait",
  "accessibility_tree",
  "find_element",
  "terminal_text",
  "clipboard_get",
  "list_windows",
  "active_window",
  "window_info",
]);

/** Whether an action only looks or waits: it is no input, and may be done while somebody else has control. */
export function onlyLooks(action: Action): boolean {
  return LOOKS.has(action.action) || (action.action === "wait_for" && action.command === undefined);
}
