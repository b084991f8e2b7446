import type { Duplex } from "node:stream";
import { ToolyardError } from "../../../core/errors.ts";
import type { Size } from "../screen/view.ts";
import { ByteReader } from "./byte-reader.ts";
import { framebufferUpdateRequest, setEncodings, setPixelFormat } from "./client-messages.ts";
import { greet } from "./handshake.ts";
import { RfbViolation } from "./rfb-violation.ts";

const RAW = 0;
const EXTENDED_DESKTOP_SIZE = -308;
const BYTES_PER_PIXEL = 4;
const SCREEN_BYTES = 16;
/** Who asked for a size, as its announcement says: this client. */
const BY_THIS_CLIENT = 1;
const REFUSALS: Readonly<Record<number, string>> = {
  1: "it forbids it",
  2: "it lacks the memory",
  3: "it has no such size",
};

/**
 * Gives a display another size, over a connection of its own, which is closed afterwards: only a client that reads the extended size
 * may ask for one, and would be told it at the price of a round trip with each picture.
 *
 * @throws ToolyardError `business_failure` when the display refuses; `dependency_failed` when it cannot be reached or does not know
 *   the message; the signal's reason.
 */
export async function setDesktopSize(channel: Duplex, size: Size, signal: AbortSignal): Promise<void> {
  const reader = new ByteReader(channel);
  const abort = () => channel.destroy();
  signal.addEventListener("abort", abort, { once: true });
  let status: number;
  try {
    signal.throwIfAborted();
    await greet(channel, reader);
    channel.write(setPixelFormat());
    channel.write(setEncodings([RAW, EXTENDED_DESKTOP_SIZE]));
    // The first answer tells which screens there are.
    channel.write(framebufferUpdateRequest({ x: 0, y: 0, width: 1, height: 1 }, false));
    const { screen } = await nextSize(reader, () => true);
    channel.write(toMessage(size, screen));
    channel.write(framebufferUpdateRequest({ x: 0, y: 0, width: 1, height: 1 }, true));
    ({ status } = await nextSize(reader, (reason) => reason === BY_THIS_CLIENT));
  } catch (cause) {
    signal.throwIfAborted();
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new ToolyardError("dependency_failed", `the display cannot be given another size: ${reason}`, { cause });
  } finally {
    signal.removeEventListener("abort", abort);
    channel.destroy();
  }
  if (status === 0) return;
  throw new ToolyardError(
    "business_failure",
    `the display refuses ${size.width}x${size.height}: ${REFUSALS[status] ?? status}`,
  );
}

interface Announced {
  readonly status: number;
  /** Of its first screen: who it is and its flags, as they came. */
  readonly screen: Buffer;
}

/** The next announcement of the display's size whose reason is wanted. */
async function nextSize(reader: ByteReader, isWanted: (reason: number) => boolean): Promise<Announced> {
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- one message after another
    const announced = await readMessage(reader, isWanted);
    if (announced !== undefined) return announced;
  }
}

async function readMessage(reader: ByteReader, isWanted: (reason: number) => boolean): Promise<Announced | undefined> {
  const type = await reader.u8();
  if (type === 2) return undefined;
  if (type === 3) {
    await reader.bytes(3);
    await reader.bytes(Math.min(await reader.u32(), 1 << 20));
    return undefined;
  }
  if (type !== 0) throw new RfbViolation(`a message of the type ${type}`);
  await reader.bytes(1);
  const count = await reader.u16();
  let found: Announced | undefined;
  for (let index = 0; index < count; index += 1) {
    // oxlint-disable-next-line no-await-in-loop -- one rectangle after another
    const announced = await readRectangle(reader);
    if (announced !== undefined && isWanted(announced.reason)) found = announced;
  }
  return found;
}

async function readRectangle(reader: ByteReader): Promise<(Announced & { readonly reason: number }) | undefined> {
  const header = await reader.bytes(12);
  const [reason, status, width, height] = [0, 2, 4, 6].map((offset) => header.readUInt16BE(offset));
  const encoding = header.readInt32BE(8);
  if (encoding === RAW) {
    await reader.bytes((width ?? 0) * (height ?? 0) * BYTES_PER_PIXEL);
    return undefined;
  }
  if (encoding !== EXTENDED_DESKTOP_SIZE) throw new RfbViolation(`the encoding ${encoding}, which was not asked for`);
  const screens = await reader.u8();
  await reader.bytes(3);
  const all = await reader.bytes(screens * SCREEN_BYTES);
  return { reason: reason ?? 0, status: status ?? 0, screen: Buffer.from(all.subarray(0, SCREEN_BYTES)) };
}

function toMessage({ width, height }: Size, screen: Buffer): Buffer {
  const message = Buffer.alloc(8 + SCREEN_BYTES);
  message.writeUInt8(251, 0);
  message.writeUInt16BE(width, 2);
  message.writeUInt16BE(height, 4);
  message.writeUInt8(1, 6);
  // The same screen, at the top left and as large as all.
  screen.copy(message, 8);
  for (const [index, value] of [0, 0, width, height].entries()) message.writeUInt16BE(value, 12 + index * 2);
  return message;
}
