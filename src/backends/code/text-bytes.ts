import { isUtf8 } from "node:buffer";

/** Whether bytes are text for a reader: UTF-8 without NUL. */
export function isText(bytes: Buffer): boolean {
  return isUtf8(bytes) && !bytes.includes(0);
}

/** Leaves out what a cut made of the characters at both ends: at most three bytes each. */
export function trimToCharacters(bytes: Buffer, cut: { readonly start: boolean; readonly end: boolean }): Buffer {
  let from = 0;
  while (cut.start && from < 3 && from < bytes.length && isContinuation(bytes[from])) from += 1;
  return bytes.subarray(from, cut.end ? wholeCharacters(bytes) : bytes.length);
}

/** Where the last character that is all there ends. */
function wholeCharacters(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(4, bytes.length); back += 1) {
    const lead = bytes[bytes.length - back] ?? 0;
    if (isContinuation(lead)) continue;
    const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    return length > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
