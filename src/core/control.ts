import type { Actor } from "./events.ts";

/** Who has control of a session's desktop and terminals, before all others. */
export interface ControlHolder {
  /** What the human calls themselves. */
  readonly holder: string;
  readonly since: Date;
  /** When it runs out; input of the holder's moves it. */
  readonly expiresAt: Date;
}

/** Control of a session at its birth: the only time that the lease's id, which stands for the holder, is told. */
export interface ControlLease extends ControlHolder {
  readonly id: string;
}

/**
 * What a tool that passes input on to a desktop or a terminal asks first: while a human has control, an agent's input is
 * refused and not queued.
 */
export interface SessionControl {
  /**
   * Says who makes the input of this call; to be asked once for each input, not once for a batch of them.
   *
   * @throws ToolyardError `control_taken` when somebody else has control.
   */
  demand(): Actor;
  /** `null` while nobody has. */
  readonly holder: ControlHolder | null;
}
