import type { Duplex } from "node:stream";
import type { CommandResult, CommandSpec } from "../../../core/sandbox-process.ts";
import type { SandboxFiles } from "../../../core/sandbox-files.ts";
import type { Size } from "../screen/view.ts";

/** What a desktop is to be. */
export interface DesktopSpec extends Size {
  readonly sessionId: string;
  readonly workerId: string;
}

/** A desktop that runs: its display and what programs are started and files touched with. */
export interface RunningDesktop {
  /** A new connection to the display's VNC server, which speaks first. */
  connect(signal: AbortSignal): Promise<Duplex>;
  /** Runs a command beside the display, which is in its environment. */
  exec(command: CommandSpec, signal: AbortSignal): Promise<CommandResult>;
  /** Absent where no files can be reached but by commands. */
  readonly files?: SandboxFiles;
  /** Settles when the desktop is over, by {@link stop} too. */
  readonly ended: Promise<string>;
  /** Idempotent. */
  stop(): Promise<void>;
}

/** Where desktops run. */
export interface DesktopProvider {
  readonly name: string;
  /** What is between a desktop's programs and the server's machine. */
  readonly isolation: "none" | "container" | "machine";
  /** Says why not and what to do, or nothing when it can start desktops. */
  check(signal: AbortSignal): Promise<string | undefined>;
  /**
   * Starts a desktop; its display may still be dark.
   *
   * @throws ToolyardError `dependency_failed` when it does not come up; the signal's reason. Nothing is left behind then.
   */
  start(spec: DesktopSpec, signal: AbortSignal): Promise<RunningDesktop>;
}
