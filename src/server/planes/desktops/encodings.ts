/** Of encodings and pseudo-encodings, those with which no message of a viewer has another shape or a further kind. */
const PASSING: ReadonlySet<number> = new Set([
  // Raw, CopyRect, RRE, CoRRE, Hextile, zlib, Tight, zlibhex, TRLE, ZRLE, JPEG, H.264.
  ...[0, 1, 2, 4, 5, 6, 7, 8, 15, 16, 21, 50],
  // Tight with PNG.
  -260,
  // The pointer: X's, the rich one, with alpha, VMware's, and where it is.
  ...[-240, -239, -314, 0x57_4d_56_64, 0x57_4d_56_66, -232],
  // The size of the desktop, plain and extended; its name; the last rectangle; the lamps of the keyboard.
  ...[-223, -308, -307, -224, -261, 0x57_4d_56_68],
  // Updates by themselves, and the fences that pace them.
  ...[-313, -312],
]);

/** Quality and compression levels, and Tight's fine ones. */
const PASSING_RANGES = [
  [-32, -23],
  [-256, -247],
  [-512, -412],
  [-768, -763],
] as const;

/** Keys by their place on the keyboard: the viewer's keys are then a message of QEMU's, which we know. */
const QEMU_KEYS = -258;
/** A clipboard for all of Unicode, which asks and answers in the shape of a cut text. */
const EXTENDED_CLIPBOARD = 0xc0_a1_e5_ce | 0;

/** Rewrites the list of what a viewer understands: what is left out, the display does not know that it could say. */
export function keepEncodings(message: Buffer, { input }: { readonly input: boolean }): Buffer {
  const kept: number[] = [];
  for (let offset = 4; offset + 4 <= message.length; offset += 4) {
    const encoding = message.readInt32BE(offset);
    const passes = encoding === QEMU_KEYS || encoding === EXTENDED_CLIPBOARD ? input : isPassing(encoding);
    if (passes) kept.push(encoding);
  }
  const rewritten = Buffer.alloc(4 + kept.length * 4);
  rewritten.writeUInt8(message.readUInt8(0), 0);
  rewritten.writeUInt16BE(kept.length, 2);
  for (const [index, encoding] of kept.entries()) rewritten.writeInt32BE(encoding, 4 + index * 4);
  return rewritten;
}

function isPassing(encoding: number): boolean {
  return PASSING.has(encoding) || PASSING_RANGES.some(([first, last]) => encoding >= first && encoding <= last);
}
