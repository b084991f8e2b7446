import type { ToolyardError } from "../../../core/errors.ts";
import type { Rectangle } from "./client-messages.ts";
import type { PixelRegion } from "./pixel-region.ts";

/** Someone who waits; told once, with the reason when the connection is over. */
export type Settle = (over?: ToolyardError) => void;

/** What a display's server is like. */
export interface DisplayOptions {
  /** It looks at its screen the less often the less its clients say, as QEMU's does, after a while every 3 s. */
  readonly drowsy?: boolean;
}

/** A picture that was asked for and is on its way. */
export interface Asked {
  /** What it takes to answer it. */
  missing: PixelRegion;
  /** That is all of the screen, so that afterwards every pixel of it is known. */
  isWhole: boolean;
  /** What comes next may still be the answer to an older request: it has to be answered once more. */
  isAnsweredTwice: boolean;
  /** Sends the request. */
  send: () => void;
  readonly settle: Settle;
}

/** The pixel that answers the request of a number: another one for each, all over the screen. */
export function toMark(number: number, { width, height }: Rectangle): Rectangle {
  return { x: (number * 97) % width, y: (number * 61) % height, width: 1, height: 1 };
}

/** What of a part lies on the screen. */
export function inside(part: Rectangle, whole: Rectangle): Rectangle {
  const x = Math.min(part.x, whole.width);
  const y = Math.min(part.y, whole.height);
  return { x, y, width: Math.min(part.width, whole.width - x), height: Math.min(part.height, whole.height - y) };
}
