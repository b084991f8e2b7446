import { duplexPair, type Duplex } from "node:stream";
import { onTestFinished } from "vitest";
import type { ActionDriver } from "../../../src/backends/vm/actions/action-driver.ts";
import { ByteReader } from "../../../src/backends/vm/rfb/byte-reader.ts";
import type { Rectangle } from "../../../src/backends/vm/rfb/client-messages.ts";
import { DisplayConnection } from "../../../src/backends/vm/rfb/display-connection.ts";

export type InputEvent =
  | readonly ["pointer", x: number, y: number, buttons: number]
  | readonly ["key", keysym: number, down: boolean];

/** The server's side of RFB, played by a test: it records input and answers requests when and as the test says. */
export class ScriptedDisplay {
  readonly events: InputEvent[] = [];
  readonly requests: { readonly part: Rectangle; readonly incremental: boolean }[] = [];
  width: number;
  height: number;
  /** Called for each request; answers it whole by default. */
  onRequest: (part: Rectangle, incremental: boolean) => void = (part, incremental) => {
    if (!incremental) this.send([this.raw(part)]);
  };
  readonly #channel: Duplex;

  constructor(channel: Duplex, { width, height }: { width: number; height: number }) {
    this.#channel = channel;
    this.width = width;
    this.height = height;
  }

  /** The pixel at a place, which tells its place. */
  static pixel(x: number, y: number): number[] {
    return [x & 255, y & 255, ((x >> 8) << 4) | (y >> 8), 0];
  }

  raw(part: Rectangle): Buffer {
    const pixels: number[] = [];
    for (let y = part.y; y < part.y + part.height; y += 1) {
      for (let x = part.x; x < part.x + part.width; x += 1) pixels.push(...ScriptedDisplay.pixel(x, y));
    }
    return rectangle(part, 0, Buffer.from(pixels));
  }

  send(rectangles: readonly Buffer[]): void {
    const header = Buffer.alloc(4);
    header.writeUInt16BE(rectangles.length, 2);
    this.write(Buffer.concat([header, ...rectangles]));
  }

  write(bytes: Uint8Array): void {
    this.#channel.write(bytes);
  }

  end(): void {
    this.#channel.end();
  }

  async serve(): Promise<void> {
    const reader = new ByteReader(this.#channel);
    this.write(Buffer.from("RFB 003.008\n"));
    await reader.bytes(12);
    this.write(Buffer.from([1, 1]));
    await reader.bytes(1);
    this.write(Buffer.alloc(4));
    await reader.bytes(1);
    const init = Buffer.alloc(24);
    init.writeUInt16BE(this.width, 0);
    init.writeUInt16BE(this.height, 2);
    this.write(init);
    for (;;) await this.#readMessage(reader);
  }

  async #readMessage(reader: ByteReader): Promise<void> {
    const type = await reader.u8();
    if (type === 0) await reader.bytes(19);
    else if (type === 2) {
      await reader.bytes(1);
      await reader.bytes((await reader.u16()) * 4);
    } else if (type === 3) {
      const incremental = (await reader.u8()) === 1;
      const [x, y, width, height] = [await reader.u16(), await reader.u16(), await reader.u16(), await reader.u16()];
      const part = { x, y, width, height };
      this.requests.push({ part, incremental });
      this.onRequest(part, incremental);
    } else if (type === 4) {
      const down = (await reader.u8()) === 1;
      await reader.bytes(2);
      this.events.push(["key", await reader.u32(), down]);
    } else if (type === 5) {
      const buttons = await reader.u8();
      this.events.push(["pointer", await reader.u16(), await reader.u16(), buttons]);
    } else throw new Error(`a message of type ${type}`);
  }
}

export function rectangle({ x, y, width, height }: Rectangle, encoding: number, body: Buffer): Buffer {
  const header = Buffer.alloc(12);
  for (const [index, value] of [x, y, width, height].entries()) header.writeUInt16BE(value, index * 2);
  header.writeInt32BE(encoding, 8);
  return Buffer.concat([header, body]);
}

/** A display and a connection to it, which ends with the test. */
export async function openScripted(size = { width: 64, height: 48 }) {
  const [ours, theirs] = duplexPair();
  const display = new ScriptedDisplay(theirs, size);
  display.serve().catch(() => {});
  const { signal } = new AbortController();
  const connection = await DisplayConnection.open(ours, signal);
  onTestFinished(() => connection.close());
  return { display, connection, signal };
}

/** A driver on a scripted display whose sleeps are recorded and over at once. */
export function toDriver(connection: DisplayConnection, slept: number[] = []): ActionDriver {
  return {
    get size() {
      return { width: connection.width, height: connection.height };
    },
    get position() {
      return connection.position;
    },
    get cursor() {
      return connection.cursor;
    },
    pointer: (x, y, buttons) => connection.pointer(x, y, buttons),
    key: (keysym, down) => connection.key(keysym, down),
    capture: (signal, part) => connection.capture(signal, part),
    nextChange: (signal) => connection.nextChange(signal),
    sleep: async (ms) => void slept.push(ms),
    now: () => 0,
  };
}
