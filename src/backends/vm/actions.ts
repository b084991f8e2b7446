import type { ActionsOf } from "../../core/action.ts";
import type { AliasTools } from "./alias-tools.ts";
import type { EpisodeTools } from "./episode/episode-tools.ts";
import type { KnownTools } from "./known-tools.ts";
import type { TerminalTools } from "../../core/terminal-tools.ts";
import type { PowerTools } from "./power-tools.ts";
import type { VmSession } from "./session.ts";
import type { StreamTools } from "./stream-tools.ts";
import type { UnionTools } from "./union-tools.ts";

type OfTerminals = ActionsOf<
  TerminalTools<VmSession>,
  "vm",
  {
    start: "vm:terminal_start";
    stop: "vm:terminal_stop";
    status: "vm:terminal_status";
    write: "vm:terminal_write";
    read: "vm:terminal_read";
    resize: "vm:terminal_resize";
    recording: "vm:terminal_recording";
  }
>;

/** The actions of the vm backend, for the typed client. */
export type VmActions = ActionsOf<
  KnownTools & UnionTools & AliasTools & EpisodeTools & StreamTools & PowerTools,
  "vm"
> &
  OfTerminals;
