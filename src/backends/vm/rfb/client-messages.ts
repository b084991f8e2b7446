// What a client sends, as RFC 6143 section 7.5 has it; all numbers are big-endian.

/**
 * The encodings that we read, the ones of the picture first. Not the extended size of the desktop: TigerVNC would answer each
 * request for a whole picture with it first, at the price of a round trip.
 */
export const ENCODINGS = {
  raw: 0,
  copyRect: 1,
  cursor: -239,
  desktopSize: -223,
  cursorPosition: 0x57_4d_56_66,
} as const;

/** 32 bits a pixel whose bytes are red, green, blue and one that means nothing. */
export function setPixelFormat(): Buffer {
  const message = Buffer.alloc(20);
  message.writeUInt8(0, 0);
  const format = message.subarray(4);
  format.writeUInt8(32, 0);
  format.writeUInt8(24, 1);
  format.writeUInt8(0, 2);
  format.writeUInt8(1, 3);
  for (const offset of [4, 6, 8]) format.writeUInt16BE(255, offset);
  for (const [index, shift] of [0, 8, 16].entries()) format.writeUInt8(shift, 10 + index);
  return message;
}

export function setEncodings(encodings: readonly number[]): Buffer {
  const message = Buffer.alloc(4 + encodings.length * 4);
  message.writeUInt8(2, 0);
  message.writeUInt16BE(encodings.length, 2);
  for (const [index, encoding] of encodings.entries()) message.writeInt32BE(encoding, 4 + index * 4);
  return message;
}

/** A part of the screen, in its pixels. */
export interface Rectangle {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** Asks for a part of the screen: what has changed of it since the last answer, or all of it as it is now. */
export function framebufferUpdateRequest({ x, y, width, height }: Rectangle, incremental: boolean): Buffer {
  const message = Buffer.alloc(10);
  message.writeUInt8(3, 0);
  message.writeUInt8(incremental ? 1 : 0, 1);
  for (const [index, value] of [x, y, width, height].entries()) message.writeUInt16BE(value, 2 + index * 2);
  return message;
}

/** @param keysym X11's number of the key. */
export function keyEvent(keysym: number, down: boolean): Buffer {
  const message = Buffer.alloc(8);
  message.writeUInt8(4, 0);
  message.writeUInt8(down ? 1 : 0, 1);
  message.writeUInt32BE(keysym, 4);
  return message;
}

/** @param buttons a bit for each that is down, from the left button on; 8 to 64 are the wheel's four directions. */
export function pointerEvent(x: number, y: number, buttons: number): Buffer {
  const message = Buffer.alloc(6);
  message.writeUInt8(5, 0);
  message.writeUInt8(buttons, 1);
  message.writeUInt16BE(x, 2);
  message.writeUInt16BE(y, 4);
  return message;
}

/** A clipboard without text: a message that changes nothing, to be heard all the same. */
export function emptyCutText(): Buffer {
  return Buffer.from([6, 0, 0, 0, 0, 0, 0, 0]);
}
