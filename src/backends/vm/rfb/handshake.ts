import type { Writable } from "node:stream";
import type { ByteReader } from "./byte-reader.ts";
import { RfbViolation } from "./rfb-violation.ts";

const VERSION = "RFB 003.008\n";
const SECURITY_NONE = 1;
const MAX_TEXT_BYTES = 4_096;
/** What a hostile display may make us hold: 64 MiB, two screens of 4K side by side. */
const MAX_PIXELS = 16 * 1024 * 1024;

/** What a display tells of itself in its greeting. */
export interface Greeting {
  readonly width: number;
  readonly height: number;
  readonly name: string;
}

/**
 * Does the client's side of the handshake, shared and without a password.
 *
 * @throws RfbViolation when the other side is no VNC server of version 3.8, wants a password or refuses.
 */
export async function greet(channel: Writable, reader: ByteReader): Promise<Greeting> {
  const version = (await reader.bytes(VERSION.length)).toString("latin1");
  if (!/^RFB \d{3}\.\d{3}\n$/.test(version)) throw new RfbViolation("it is no VNC server");
  // A newer one speaks 3.8 with whoever answers 3.8.
  if (version < VERSION) throw new RfbViolation(`it speaks ${version.trim()}, and 003.008 is needed`);
  channel.write(VERSION);
  const offered = [...(await reader.bytes(await reader.u8()))];
  if (offered.length === 0) throw new RfbViolation(`it refuses: ${await readText(reader)}`);
  if (!offered.includes(SECURITY_NONE)) throw new RfbViolation("it wants a password");
  channel.write(Buffer.from([SECURITY_NONE]));
  if ((await reader.u32()) !== 0) throw new RfbViolation(`it refuses: ${await readText(reader)}`);
  // Shared: viewers stay.
  channel.write(Buffer.from([1]));
  const width = await reader.u16();
  const height = await reader.u16();
  assertScreenSize(width, height);
  // Its own pixel format, which ours replaces.
  await reader.bytes(16);
  return { width, height, name: await readText(reader) };
}

/** @throws RfbViolation for a screen without pixels or with too many. */
export function assertScreenSize(width: number, height: number): void {
  if (width < 1 || height < 1 || width * height > MAX_PIXELS) throw new RfbViolation(`a screen of ${width}x${height}`);
}

async function readText(reader: ByteReader): Promise<string> {
  const length = await reader.u32();
  if (length > MAX_TEXT_BYTES) throw new RfbViolation("a text is over the cap");
  return (await reader.bytes(length)).toString("utf8");
}
