import type { ToolContext } from "../../core/context.ts";
import { Action, type ActionInput } from "./actions/action.ts";
import type { ActionDone } from "./actions/operator.ts";
import type { Desktop } from "./desktop/desktop.ts";

/** What a session of the vm backend is. */
export interface VmSession {
  readonly desktop: Desktop;
}

export type VmContext = ToolContext<VmSession>;

/** Does an action at the session's desktop. Throws as `Operator.perform` does. */
export function perform(action: ActionInput, { session, signal }: VmContext): Promise<ActionDone> {
  return session.data.desktop.operator.perform(Action.parse(action), signal);
}
