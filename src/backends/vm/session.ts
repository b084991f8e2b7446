import type { ToolContext } from "../../core/context.ts";
import type { ActionInput } from "./actions/action.ts";
import type { ActionWatch } from "./actions/action-watch.ts";
import type { ActionDone } from "./actions/operator.ts";
import { toAction } from "./adapters/adapter.ts";
import type { DesktopNews } from "./desktop-news.ts";
import type { Desktop } from "./desktop/desktop.ts";
import type { Episode } from "./episode/episode.ts";
import type { KeptPictures } from "./screen/kept-pictures.ts";
import type { SessionRecordings } from "./recording/session-recordings.ts";

/** What a session of the vm backend is. */
export interface VmSession {
  readonly desktop: Desktop;
  readonly episode: Episode;
  /** What its config gives the agent to do. */
  readonly instruction: string | null;
  readonly news: DesktopNews;
  readonly recordings: SessionRecordings;
  readonly pictures: KeptPictures;
}

export type VmContext = ToolContext<VmSession>;

/** Does an action at the session's desktop. Throws as `Operator.perform` does. */
export function perform(action: ActionInput, context: VmContext): Promise<ActionDone> {
  return context.session.data.desktop.operator.perform(toAction(action), context.signal, watchOf(context));
}

/** What sees the actions of a call; to be given with each action that a tool does at the operator itself. */
export function watchOf(context: VmContext): ActionWatch {
  const { desktop, episode } = context.session.data;
  return episode.watch(desktop.operator, context);
}
