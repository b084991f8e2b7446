import type { Duplex } from "node:stream";
import { ToolyardError } from "../../../core/errors.ts";
import { ByteReader } from "./byte-reader.ts";
import {
  ENCODINGS,
  framebufferUpdateRequest,
  keyEvent,
  pointerEvent,
  type Rectangle,
  setEncodings,
  setPixelFormat,
} from "./client-messages.ts";
import { BYTES_PER_PIXEL, type Cursor, Framebuffer } from "./framebuffer.ts";

const VERSION = "RFB 003.008\n";
const SECURITY_NONE = 1;
/** What a hostile display may make us hold: a screen of this size is 256 MiB. */
const MAX_SIDE = 8_192;
const MAX_TEXT_BYTES = 1024 * 1024;
const MAX_CURSOR_SIDE = 512;

/** The other side does not speak RFB as RFC 6143 has it. */
class RfbViolation extends Error {
  override readonly name = "RfbViolation";
}

/**
 * A client of a display's own VNC server (RFC 6143), without a password: whoever reaches its socket is let in.
 *
 * It keeps a copy of the screen. Input goes out at once; a picture is asked for whole, so that it shows what is there now.
 */
export class DisplayConnection {
  readonly framebuffer: Framebuffer;
  readonly name: string;
  /** Settles when the connection is over, with the reason. */
  readonly closed: Promise<Error>;
  readonly #channel: Duplex;
  readonly #reader: ByteReader;
  #waiting: (() => void)[] = [];
  #over: Error | undefined;
  #becameClosed: (reason: Error) => void = () => {};

  private constructor(channel: Duplex, reader: ByteReader, screen: { width: number; height: number; name: string }) {
    this.#channel = channel;
    this.#reader = reader;
    this.framebuffer = new Framebuffer(screen.width, screen.height);
    this.name = screen.name;
    this.closed = new Promise((resolve) => (this.#becameClosed = resolve));
  }

  /**
   * Greets the display.
   *
   * @throws ToolyardError `dependency_failed` when it is no VNC server, wants a password or ends the connection; the signal's
   *   reason.
   */
  static async open(channel: Duplex, signal: AbortSignal): Promise<DisplayConnection> {
    const reader = new ByteReader(channel);
    const abort = () => channel.destroy();
    signal.addEventListener("abort", abort, { once: true });
    try {
      signal.throwIfAborted();
      const screen = await greet(channel, reader);
      const connection = new DisplayConnection(channel, reader, screen);
      channel.write(setPixelFormat());
      channel.write(setEncodings(Object.values(ENCODINGS)));
      void connection.#listen();
      return connection;
    } catch (cause) {
      channel.destroy();
      signal.throwIfAborted();
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new ToolyardError("dependency_failed", `the display cannot be reached: ${reason}`, { cause });
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  /**
   * Brings a part of the copy, the whole screen by default, up to now.
   *
   * @throws ToolyardError `sandbox_dead` when the connection is over; the signal's reason.
   */
  async refresh(signal: AbortSignal, part?: Rectangle): Promise<void> {
    const { width, height } = this.framebuffer;
    await this.#update(framebufferUpdateRequest(part ?? { x: 0, y: 0, width, height }, false), signal);
  }

  /** Waits until something on the screen changes, and brings the copy up to it. Throws as `refresh` does. */
  async nextChange(signal: AbortSignal): Promise<void> {
    const { width, height } = this.framebuffer;
    await this.#update(framebufferUpdateRequest({ x: 0, y: 0, width, height }, true), signal);
  }

  /** Moves the pointer with these buttons down; see {@link pointerEvent}. Throws as `refresh` does. */
  pointer(x: number, y: number, buttons: number): void {
    this.#assertOpen();
    this.#channel.write(pointerEvent(x, y, buttons));
  }

  /** Presses or releases a key by its keysym. Throws as `refresh` does. */
  key(keysym: number, down: boolean): void {
    this.#assertOpen();
    this.#channel.write(keyEvent(keysym, down));
  }

  close(): void {
    this.#end(new Error("it was closed"));
  }

  #update(request: Buffer, signal: AbortSignal): Promise<void> {
    this.#assertOpen();
    return new Promise((resolve, reject) => {
      const settle = () => {
        signal.removeEventListener("abort", abort);
        if (this.#over === undefined) resolve();
        else reject(this.#toDead());
      };
      const abort = () => {
        // Its answer still comes, and is then nobody's.
        const index = this.#waiting.indexOf(settle);
        if (index >= 0) this.#waiting[index] = () => {};
        reject(signal.reason);
      };
      if (signal.aborted) return reject(signal.reason);
      signal.addEventListener("abort", abort, { once: true });
      this.#waiting.push(settle);
      this.#channel.write(request);
    });
  }

  #assertOpen(): void {
    if (this.#over !== undefined) throw this.#toDead();
  }

  #toDead(): ToolyardError {
    return new ToolyardError("sandbox_dead", `the display is gone: ${this.#over?.message ?? ""}`);
  }

  #end(reason: Error): void {
    if (this.#over !== undefined) return;
    this.#over = reason;
    this.#channel.destroy();
    for (const settle of this.#waiting.splice(0)) settle();
    this.#becameClosed(reason);
  }

  async #listen(): Promise<void> {
    try {
      for (;;) {
        // oxlint-disable-next-line no-await-in-loop -- one message after another
        await this.#readMessage();
      }
    } catch (error) {
      this.#end(error instanceof Error ? error : new Error(String(error)));
    }
  }

  async #readMessage(): Promise<void> {
    const type = await this.#reader.u8();
    switch (type) {
      case 0:
        return this.#readUpdate();
      case 1: {
        // Colours of a palette, which our pixel format has no use for.
        await this.#reader.bytes(3);
        await this.#reader.bytes((await this.#reader.u16()) * 6);
        return;
      }
      case 2:
        // A bell.
        return;
      case 3: {
        await this.#reader.bytes(3);
        const length = await this.#reader.u32();
        if (length > MAX_TEXT_BYTES) throw new RfbViolation("a clipboard text is over the cap");
        await this.#reader.bytes(length);
        return;
      }
      default:
        throw new RfbViolation(`a message of the unknown type ${type}`);
    }
  }

  async #readUpdate(): Promise<void> {
    await this.#reader.bytes(1);
    const count = await this.#reader.u16();
    const { width, height } = this.framebuffer;
    let hasPixels = false;
    for (let index = 0; index < count; index += 1) {
      // oxlint-disable-next-line no-await-in-loop -- one rectangle after another
      if (await this.#readRectangle()) hasPixels = true;
    }
    // A pointer that changed its look comes by itself, and answers no request.
    if (hasPixels) this.#waiting.shift()?.();
    else if (this.#waiting.length > 0 && (width !== this.framebuffer.width || height !== this.framebuffer.height)) {
      // What was asked for is not there any more: all of the new screen answers it.
      const whole = { x: 0, y: 0, width: this.framebuffer.width, height: this.framebuffer.height };
      this.#channel.write(framebufferUpdateRequest(whole, false));
    }
  }

  async #readRectangle(): Promise<boolean> {
    const header = await this.#reader.bytes(12);
    const part: Rectangle = {
      x: header.readUInt16BE(0),
      y: header.readUInt16BE(2),
      width: header.readUInt16BE(4),
      height: header.readUInt16BE(6),
    };
    const encoding = header.readInt32BE(8);
    switch (encoding) {
      case ENCODINGS.raw: {
        this.#assertInside(part);
        this.framebuffer.put(part, await this.#reader.bytes(part.width * part.height * BYTES_PER_PIXEL));
        return true;
      }
      case ENCODINGS.copyRect: {
        const from = { x: await this.#reader.u16(), y: await this.#reader.u16() };
        this.#assertInside(part);
        this.#assertInside({ ...part, ...from });
        this.framebuffer.copy(from, part);
        return true;
      }
      case ENCODINGS.cursor: {
        this.framebuffer.cursor = await this.#readCursor(part);
        return false;
      }
      case ENCODINGS.extendedDesktopSize: {
        const screens = await this.#reader.u8();
        await this.#reader.bytes(3 + screens * 16);
        this.#resize(part);
        return false;
      }
      case ENCODINGS.desktopSize: {
        this.#resize(part);
        return false;
      }
      default:
        throw new RfbViolation(`the encoding ${encoding}, which was not asked for`);
    }
  }

  async #readCursor({ x, y, width, height }: Rectangle): Promise<Cursor | undefined> {
    if (width > MAX_CURSOR_SIDE || height > MAX_CURSOR_SIDE) throw new RfbViolation("a pointer is over the cap");
    const pixels = Buffer.from(await this.#reader.bytes(width * height * BYTES_PER_PIXEL));
    const rowBytes = Math.ceil(width / 8);
    const mask = await this.#reader.bytes(rowBytes * height);
    if (width === 0 || height === 0) return undefined;
    for (let row = 0; row < height; row += 1) {
      for (let column = 0; column < width; column += 1) {
        const bit = (mask[row * rowBytes + (column >> 3)] ?? 0) & (0x80 >> (column & 7));
        pixels[(row * width + column) * BYTES_PER_PIXEL + 3] = bit === 0 ? 0 : 255;
      }
    }
    return { width, height, hotspot: { x, y }, pixels };
  }

  #resize({ width, height }: Rectangle): void {
    assertSize(width, height);
    this.framebuffer.resize(width, height);
  }

  #assertInside(part: Rectangle): void {
    if (!this.framebuffer.holds(part)) throw new RfbViolation("a rectangle outside the screen");
  }
}

async function greet(channel: Duplex, reader: ByteReader): Promise<{ width: number; height: number; name: string }> {
  const version = (await reader.bytes(VERSION.length)).toString("latin1");
  if (!/^RFB 003\.00[378]\n$/.test(version)) throw new RfbViolation("it is no VNC server");
  if (version !== VERSION) throw new RfbViolation(`it speaks ${version.trim()}, and 003.008 is needed`);
  channel.write(VERSION);
  const offered = [...(await reader.bytes(await reader.u8()))];
  if (offered.length === 0) throw new RfbViolation(await readReason(reader));
  if (!offered.includes(SECURITY_NONE)) throw new RfbViolation("it wants a password");
  channel.write(Buffer.from([SECURITY_NONE]));
  if ((await reader.u32()) !== 0) throw new RfbViolation(await readReason(reader));
  // Shared: viewers stay.
  channel.write(Buffer.from([1]));
  const width = await reader.u16();
  const height = await reader.u16();
  assertSize(width, height);
  await reader.bytes(16);
  return { width, height, name: await readText(reader) };
}

async function readReason(reader: ByteReader): Promise<string> {
  return `it refuses: ${await readText(reader)}`;
}

async function readText(reader: ByteReader): Promise<string> {
  const length = await reader.u32();
  if (length > 4_096) throw new RfbViolation("a text is over the cap");
  return (await reader.bytes(length)).toString("utf8");
}

function assertSize(width: number, height: number): void {
  if (width < 1 || height < 1 || width > MAX_SIDE || height > MAX_SIDE)
    throw new RfbViolation(`a screen of ${width}x${height}`);
}
