import type { Duplex } from "node:stream";
import type { SandboxFiles } from "../../../core/sandbox-files.ts";
import type { SandboxInstance, SandboxSpec } from "../../../core/runtime.ts";
import type { CommandResult, CommandSpec, SandboxProcess } from "../../../core/sandbox-process.ts";
import type { Size } from "../screen/view.ts";

/** How large a desktop's screen is, in pixels, and how large what it shows, in dots per inch (96 is usual). */
export interface DesktopSize extends Size {
  readonly dpi: number;
}

/** What a desktop is to be. */
export interface DesktopSpec extends DesktopSize {
  /** What its sandbox is made from, owner included. */
  readonly sandbox: SandboxSpec;
}

/**
 * A desktop that runs: its display, and what programs are started and files touched with. Its display and its message bus are in
 * the environment of everything that is started in it.
 *
 * Abilities that a provider may lack are optional; `abilityOf` of `desktop-ability.ts` tells callers so.
 */
export interface RunningDesktop {
  /** What programs find it by: `:1`. */
  readonly display?: string;
  /** A new connection to the display's VNC server, which speaks first; several at once are served. */
  connectDisplay(signal: AbortSignal): Promise<Duplex>;
  /** Runs a command beside the display. */
  exec(
    command: CommandSpec,
    signal: AbortSignal,
    onOutput?: (stream: "stdout" | "stderr", text: string) => void,
  ): Promise<CommandResult>;
  /** Starts a program that lasts. */
  spawn?(command: CommandSpec, signal: AbortSignal): Promise<SandboxProcess>;
  readonly files?: SandboxFiles;
  /** Connects to a port at the desktop's own loopback. */
  connect?(port: number, signal: AbortSignal): Promise<Duplex>;
  /** The sandbox that it runs in, for what the server does with any: terminals, ports, files over HTTP. */
  readonly box?: SandboxInstance;
  /**
   * The screen of a machine has the keys of a `us` keyboard and no others, so that text beyond it cannot be typed; an X display's
   * keymap takes any. `x11` by default.
   */
  readonly screen?: "x11" | "machine";
  /** Moments that it can be brought back to; absent where they cannot be kept. */
  readonly snapshots?: DesktopSnapshots;
  /** Settles when the desktop is over, by {@link stop} too. */
  readonly ended: Promise<string>;
  /** Starts its display again after {@link halt} or {@link wipe}; does nothing while it runs. */
  start(size: DesktopSize, signal: AbortSignal): Promise<void>;
  /** Ends its display and what shows in it; files and everything else stay. */
  halt(): Promise<void>;
  /** Ends everything in it and brings its files back to what a fresh one has; its display is then to be started again. */
  wipe(signal: AbortSignal): Promise<void>;
  /** JSON by which the provider finds it again after this process died; absent where that is impossible. */
  readonly handle?: unknown;
  /** Idempotent. */
  stop(): Promise<void>;
}

/** Moments of a desktop that it can be brought back to. Both throw ToolyardError; `restore` `unknown_name`. */
export interface DesktopSnapshots {
  readonly names: readonly string[];
  /** Whether programs go on as they were, too, and not files alone. */
  readonly keeps: "files" | "everything";
  /** Keeps the present moment, in place of an earlier one of that name. */
  save(name: string, signal: AbortSignal): Promise<void>;
  /** The display may have to be started afterwards. */
  restore(name: string, signal: AbortSignal): Promise<void>;
}

/** Where desktops run. */
export interface DesktopProvider {
  readonly name: string;
  /** Says why not and what to do, or nothing when it can start desktops. */
  check(signal: AbortSignal): Promise<string | undefined>;
  /** What there is to know of how its desktops run, for the health of the backend. */
  details?(): Promise<Readonly<Record<string, unknown>>>;
  /**
   * Starts a desktop; its display may still be dark.
   *
   * @throws ToolyardError `dependency_failed` when it does not come up; the signal's reason. Nothing is left behind then.
   */
  start(spec: DesktopSpec, signal: AbortSignal): Promise<RunningDesktop>;
  /** Takes up a desktop that an earlier process of this server left; `null` when it is gone. */
  adopt?(handle: unknown, signal: AbortSignal): Promise<RunningDesktop | null>;
}
