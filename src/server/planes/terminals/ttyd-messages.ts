import { z } from "zod";
import { MAX_TERMINAL_SIDE } from "../../../core/terminal-schemas.ts";

// The wire of ttyd (https://github.com/tsl0922/ttyd, protocol "tty"): a message's first byte is its kind, ASCII.

/** The WebSocket subprotocol. */
export const TTYD_PROTOCOL = "tty";

const INPUT = 0x30;
const RESIZE = 0x31;
const PAUSE = 0x32;
const RESUME = 0x33;
const JSON_DATA = 0x7b;

/** What a viewer says. */
export type ClientMessage =
  | { readonly kind: "input"; readonly data: Buffer }
  | { readonly kind: "resize"; readonly columns: number; readonly rows: number }
  | { readonly kind: "pause" }
  | { readonly kind: "resume" }
  /** The first word: who it is, and how large. */
  | { readonly kind: "hello"; readonly columns: number | undefined; readonly rows: number | undefined };

const Side = z.int().min(1).max(MAX_TERMINAL_SIDE);
const Size = z.object({ columns: Side, rows: Side });
/** ttyd's `AuthToken` is not looked at: who connects was let in by a ticket or a key. */
const Hello = z.object({ columns: Side.optional().catch(undefined), rows: Side.optional().catch(undefined) });

/** Reads a message; `undefined` for one that has no meaning, which is passed over as ttyd does. */
export function parseClientMessage(message: Buffer): ClientMessage | undefined {
  switch (message[0]) {
    case INPUT:
      return { kind: "input", data: message.subarray(1) };
    case RESIZE: {
      const size = Size.safeParse(parseJson(message.subarray(1))).data;
      return size && { kind: "resize", ...size };
    }
    case PAUSE:
      return { kind: "pause" };
    case RESUME:
      return { kind: "resume" };
    case JSON_DATA: {
      const hello = Hello.safeParse(parseJson(message)).data;
      return hello && { kind: "hello", columns: hello.columns, rows: hello.rows };
    }
    default:
      return undefined;
  }
}

function parseJson(data: Buffer): unknown {
  try {
    return JSON.parse(data.toString("utf8"));
  } catch {
    return undefined;
  }
}

/** What the server says: output, the window's title, and settings for the viewer's terminal. */
export function toOutput(data: Buffer): Buffer {
  return Buffer.concat([Buffer.of(0x30), data]);
}

export function toTitle(title: string): Buffer {
  return Buffer.from(`1${title}`, "utf8");
}

export function toPreferences(preferences: Readonly<Record<string, unknown>>): Buffer {
  return Buffer.from(`2${JSON.stringify(preferences)}`, "utf8");
}
