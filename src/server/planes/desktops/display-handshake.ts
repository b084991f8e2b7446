import { once } from "node:events";
import type { Duplex } from "node:stream";
import { ToolyardError } from "../../../core/errors.ts";
import { ByteQueue } from "./byte-queue.ts";
import { RfbViolation } from "./rfb-violation.ts";

const VERSION = "RFB 003.008\n";
const SECURITY_NONE = 1;
/** Width, height and the pixel format, before the length of the name. */
const INIT_BYTES = 20;
const MAX_NAME_BYTES = 4_096;

/** What the display says of itself, for the viewer: its size, its pixel format and its name. */
export interface DisplayInit {
  readonly init: Buffer;
  /** What it said behind that. */
  readonly rest: Buffer;
}

/**
 * Does the viewer's side of the handshake with a display, shared and without a password. The stream is paused afterwards.
 *
 * @throws ToolyardError `dependency_failed` when it is no display of version 3.8, wants a password or goes away; the signal's
 *   reason.
 */
export async function greetDisplay(display: Duplex, signal: AbortSignal): Promise<DisplayInit> {
  const queue = new ByteQueue();
  const read = async (count: number): Promise<Buffer> => {
    while (queue.length < count) {
      const chunk: unknown = display.read();
      if (Buffer.isBuffer(chunk)) queue.push(chunk);
      else if (display.readableEnded || display.destroyed) throw new RfbViolation("it went away");
      // oxlint-disable-next-line no-await-in-loop -- each turn waits for more
      else await readableOrOver(display, signal);
    }
    return queue.take(count);
  };
  try {
    const init = await greet(display, read);
    return { init, rest: queue.take(queue.length) };
  } catch (cause) {
    display.destroy();
    signal.throwIfAborted();
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new ToolyardError("dependency_failed", `The display cannot be watched: ${reason}`, { cause });
  }
}

async function greet(display: Duplex, read: (count: number) => Promise<Buffer>): Promise<Buffer> {
  const version = (await read(VERSION.length)).toString("latin1");
  if (!/^RFB \d{3}\.\d{3}\n$/.test(version) || version < VERSION) throw new RfbViolation("it speaks no RFB 3.8");
  display.write(VERSION);
  const offered = [...(await read((await read(1)).readUInt8(0)))];
  if (!offered.includes(SECURITY_NONE)) throw new RfbViolation("it wants a password");
  display.write(Buffer.of(SECURITY_NONE));
  if ((await read(4)).readUInt32BE(0) !== 0) throw new RfbViolation("it refuses");
  // Shared: the agent and other viewers stay.
  display.write(Buffer.of(1));
  const head = await read(INIT_BYTES + 4);
  const nameBytes = head.readUInt32BE(INIT_BYTES);
  if (nameBytes > MAX_NAME_BYTES) throw new RfbViolation("its name is over the cap");
  return Buffer.concat([head, await read(nameBytes)]);
}

async function readableOrOver(display: Duplex, signal: AbortSignal): Promise<void> {
  const done = new AbortController();
  const until = { signal: AbortSignal.any([signal, done.signal]) };
  try {
    await Promise.race([once(display, "readable", until), once(display, "close", until)]);
  } finally {
    done.abort();
  }
}
