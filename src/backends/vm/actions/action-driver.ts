import type { CommandResult, CommandSpec, SandboxProcess } from "../../../core/sandbox-process.ts";
import type { AgentPort } from "../desktop-agent/agent-port.ts";
import type { Picture } from "../rfb/display-connection.ts";
import type { Rectangle } from "../rfb/client-messages.ts";
import type { Cursor } from "../rfb/framebuffer.ts";
import type { Point, Size } from "../screen/view.ts";

/** What actions are made of: the hands and eyes at one display, in pixels of its screen. */
export interface ActionDriver {
  /** Of the screen; changes with it. */
  readonly size: Size;
  readonly position: Point;
  /** The pointer's look, which is in no picture. */
  readonly cursor: Cursor | undefined;
  /** @param buttons as RFB has them: 1 left, 2 middle, 4 right; 8 to 64 the wheel up, down, left, right. */
  pointer(x: number, y: number, buttons: number): void;
  /** @param keysym X11's number of the key. */
  key(keysym: number, down: boolean): void;
  /** The screen, or a part of it, as it is after all input before. */
  capture(signal: AbortSignal, part?: Rectangle): Promise<Picture>;
  nextChange(signal: AbortSignal): Promise<void>;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** Monotonic milliseconds. */
  now(): number;
  /** How many characters outside the keyboard's layout can be given keys at once; 18 by default. */
  readonly spareKeys?: number;
  /** Takes back the keys that were given to characters outside the keyboard's layout; absent where nothing can. */
  freeKeys?(signal: AbortSignal): Promise<void>;
  /** What RFB cannot do; absent where the desktop has none. */
  readonly agent?: AgentPort | undefined;
  /** Runs a command beside the display; absent where there is no way to. */
  run?(command: CommandSpec, signal: AbortSignal): Promise<CommandResult>;
  /** Starts a program that lasts; absent where there is no way to. */
  launch?(command: CommandSpec, signal: AbortSignal): Promise<SandboxProcess>;
}
