import type { InputCounts } from "../../../core/desktop.ts";
import { keepEncodings } from "./encodings.ts";
import { MESSAGE } from "./viewer-messages.ts";

/** What an input is counted as. */
type InputKind = keyof InputCounts;

export interface ViewerInputOptions {
  /** Its input goes nowhere, whoever has control. */
  readonly viewOnly: boolean;
  /** Whether it may give the display another size, where it may do anything. */
  readonly mayResize: boolean;
  /** Asked for each input: whether it may go in now. Notes it, when it may. */
  readonly admit: (kind: InputKind) => boolean;
}

const NOTHING = Buffer.alloc(0);
/** More than any hands hold down; those beyond go nowhere. */
const MAX_KEYS_DOWN = 64;
/** The wheel's four directions among the buttons. */
const WHEEL = 0b111_1000;

/**
 * Decides of each message of a viewer's what of it the display is sent.
 *
 * What it holds down when it may do no more is let go, so that no key is stuck under somebody else's hands.
 */
export class ViewerInput {
  readonly #options: ViewerInputOptions;
  /** How each key that is down is let go, by its keysym. */
  readonly #keysDown = new Map<number, Buffer>();
  #buttons = 0;
  #place: Buffer = Buffer.alloc(4);

  constructor(options: ViewerInputOptions) {
    this.#options = options;
  }

  /** @param message whole, as `ViewerMessages` cuts them. */
  pass(message: Buffer): Buffer {
    switch (message[0]) {
      case MESSAGE.pixelFormat:
      case MESSAGE.updateRequest:
      case MESSAGE.continuousUpdates:
      case MESSAGE.fence:
        return message;
      case MESSAGE.encodings:
        return keepEncodings(message, { input: !this.#options.viewOnly });
      case MESSAGE.key:
        return this.#key(message, message.readUInt8(1) !== 0, message.readUInt32BE(4));
      case MESSAGE.qemu:
        return this.#key(message, message.readUInt16BE(2) !== 0, message.readUInt32BE(4));
      case MESSAGE.pointer:
        return this.#pointer(message);
      case MESSAGE.cutText:
        return this.#other(message, "clipboard");
      case MESSAGE.desktopSize:
        return this.#options.mayResize ? this.#other(message, "resizes") : NOTHING;
      default:
        // Switching the machine off and on, which is no viewer's to do.
        return NOTHING;
    }
  }

  /** Lets go of everything that it holds down. */
  release(): Buffer {
    const releases = [...this.#keysDown.values()];
    if (this.#buttons !== 0) releases.push(Buffer.concat([Buffer.of(MESSAGE.pointer, 0), this.#place]));
    this.#keysDown.clear();
    this.#buttons = 0;
    return Buffer.concat(releases);
  }

  #key(message: Buffer, down: boolean, keysym: number): Buffer {
    const held = this.#keysDown.has(keysym);
    if (!down && held) {
      this.#keysDown.delete(keysym);
      return message;
    }
    if (down && !held && this.#keysDown.size >= MAX_KEYS_DOWN) return NOTHING;
    if (!this.#admits("keys")) return this.release();
    if (down) this.#keysDown.set(keysym, toRelease(message));
    return message;
  }

  #pointer(message: Buffer): Buffer {
    const buttons = message.readUInt8(1);
    const pressed = buttons & ~this.#buttons;
    const kind = pressed === 0 ? "moves" : (pressed & ~WHEEL) === 0 ? "scrolls" : "clicks";
    if (!this.#admits(kind)) return this.release();
    this.#buttons = buttons;
    this.#place = Buffer.from(message.subarray(2, 6));
    return message;
  }

  #other(message: Buffer, kind: InputKind): Buffer {
    return this.#admits(kind) ? message : this.release();
  }

  #admits(kind: InputKind): boolean {
    return !this.#options.viewOnly && this.#options.admit(kind);
  }
}

/** The same key's message, up. */
function toRelease(message: Buffer): Buffer {
  const release = Buffer.from(message);
  if (message[0] === MESSAGE.key) release.writeUInt8(0, 1);
  else release.writeUInt16BE(0, 2);
  return release;
}
