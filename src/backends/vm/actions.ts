import type { ActionsOf } from "../../core/action.ts";
import type { TerminalTools } from "../../core/terminal-tools.ts";
import type { AgentTools } from "./agent-tools.ts";
import type { AliasTools } from "./alias-tools.ts";
import type { ProcessTools } from "./processes/process-tools.ts";
import type { RecordingTools } from "./recording/recording-tools.ts";
import type { EpisodeTools } from "./episode/episode-tools.ts";
import type { FileTools } from "./files/file-tools.ts";
import type { KnownTools } from "./known-tools.ts";
import type { PowerTools } from "./power-tools.ts";
import type { SnapshotTools } from "./snapshot-tools.ts";
import type { StreamTools } from "./stream-tools.ts";
import type { UnionTools } from "./union-tools.ts";
import type { WindowTools } from "./window-tools.ts";
import type { VmSession } from "./session.ts";

type Tools = AgentTools &
  AliasTools &
  ProcessTools &
  RecordingTools &
  EpisodeTools &
  FileTools &
  KnownTools &
  PowerTools &
  SnapshotTools &
  StreamTools &
  UnionTools &
  WindowTools;
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
export type VmActions = ActionsOf<Tools, "vm"> & OfTerminals;
