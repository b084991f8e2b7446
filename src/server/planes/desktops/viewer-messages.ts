import { ByteQueue } from "./byte-queue.ts";
import { RfbViolation } from "./rfb-violation.ts";

// What a viewer sends once it is let in: RFC 6143 section 7.5, and the extensions that displays understand without a word
// before. Numbers are big-endian.

/** The first byte of a message. */
export const MESSAGE = {
  pixelFormat: 0,
  encodings: 2,
  updateRequest: 3,
  key: 4,
  pointer: 5,
  cutText: 6,
  continuousUpdates: 150,
  fence: 248,
  power: 250,
  desktopSize: 251,
  qemu: 255,
} as const;

/** The longest text that a viewer puts into a clipboard. */
export const MAX_CUT_TEXT_BYTES = 1_048_576;
/** What viewers name is a hundred at most; this only bounds what is held. */
const MAX_ENCODINGS = 1_024;
/** The protocol's own bound. */
const MAX_FENCE_BYTES = 64;

const FIXED_BYTES: Readonly<Record<number, number>> = {
  [MESSAGE.pixelFormat]: 20,
  [MESSAGE.updateRequest]: 10,
  [MESSAGE.key]: 8,
  // Always: the encoding that adds a byte for more buttons is never asked for, see `keepEncodings`.
  [MESSAGE.pointer]: 6,
  [MESSAGE.continuousUpdates]: 10,
  [MESSAGE.power]: 4,
};

/**
 * Cuts a viewer's stream into whole messages, however it is split into frames. What it cannot cut is refused: nobody may say a
 * thing that the display reads otherwise than we do.
 */
export class ViewerMessages {
  readonly #queue = new ByteQueue();
  /** The length of the message that has begun, once that is known. */
  #wanted: number | undefined;

  /** What has come of a message that is not whole. */
  get heldBytes(): number {
    return this.#queue.length;
  }

  push(chunk: Uint8Array): void {
    this.#queue.push(chunk);
  }

  /**
   * The next whole message, if it is there.
   *
   * @throws RfbViolation for one of an unknown kind, or over its bound.
   */
  next(): Buffer | undefined {
    this.#wanted ??= sizeOf(this.#queue);
    if (this.#wanted === undefined || this.#queue.length < this.#wanted) return undefined;
    const message = this.#queue.take(this.#wanted);
    this.#wanted = undefined;
    return message;
  }
}

/** `undefined` until enough of it is there to tell. */
function sizeOf(queue: ByteQueue): number | undefined {
  // The longest head of those whose length is in them.
  const head = queue.peek(12);
  const [kind] = head;
  if (kind === undefined) return undefined;
  const fixed = FIXED_BYTES[kind];
  if (fixed !== undefined) return fixed;
  switch (kind) {
    case MESSAGE.encodings:
      return head.length < 4 ? undefined : 4 + 4 * bounded(head.readUInt16BE(2), MAX_ENCODINGS, "encodings");
    case MESSAGE.cutText:
      // Negative for the extended clipboard, whose length it is all the same.
      return head.length < 8
        ? undefined
        : 8 + bounded(Math.abs(head.readInt32BE(4)), MAX_CUT_TEXT_BYTES, "bytes of text");
    case MESSAGE.fence:
      return head.length < 9 ? undefined : 9 + bounded(head.readUInt8(8), MAX_FENCE_BYTES, "bytes in a fence");
    case MESSAGE.desktopSize:
      return head.length < 8 ? undefined : 8 + 16 * head.readUInt8(6);
    case MESSAGE.qemu:
      return sizeOfQemu(head);
    default:
      throw new RfbViolation(`messages of the kind ${kind} do not pass`);
  }
}

function sizeOfQemu(head: Buffer): number | undefined {
  if (head.length < 2) return undefined;
  if (head.readUInt8(1) === 0) return 12;
  throw new RfbViolation("of QEMU's messages only keys pass");
}

function bounded(count: number, maximum: number, what: string): number {
  if (count > maximum) throw new RfbViolation(`more than ${maximum} ${what}`);
  return count;
}
