import type { Duplex } from "node:stream";
import { ToolyardError } from "../../../core/errors.ts";
import { type Asked, type DisplayOptions, inside, type Settle, toMark } from "./asked-picture.ts";
import { ByteReader } from "./byte-reader.ts";
import {
  emptyCutText,
  ENCODINGS,
  framebufferUpdateRequest,
  keyEvent,
  pointerEvent,
  type Rectangle,
  setEncodings,
  setPixelFormat,
} from "./client-messages.ts";
import { type Cursor, Framebuffer } from "./framebuffer.ts";
import { type Greeting, greet } from "./handshake.ts";
import { PixelRegion } from "./pixel-region.ts";
import { readServerMessage, type ScreenNews } from "./server-messages.ts";

/** The pixels of a part of the screen at one moment: red, green, blue and a byte that means nothing. */
export interface Picture {
  readonly width: number;
  readonly height: number;
  readonly pixels: Buffer;
}

/**
 * A client of a display's own VNC server (RFC 6143), without a password: whoever reaches its socket is let in.
 *
 * It keeps a copy of the screen. Input goes out at once. The first picture is asked for whole; later ones as what has changed, and
 * a single pixel, a mark, that has to be sent in any case: with it comes all that the server knows to have changed, so that a screen
 * that stands still costs nothing. A server answers several requests with one update when they come close together, so that only one
 * picture is asked for at a time, and an answer is told by what it covers.
 */
export class DisplayConnection {
  readonly name: string;
  /** Settles when the connection is over, with the reason. */
  readonly closed: Promise<Error>;
  readonly #screen: Framebuffer;
  readonly #channel: Duplex;
  readonly #drowsy: boolean;
  #asked: Asked | undefined;
  #queue: Promise<unknown> = Promise.resolve();
  readonly #watching = new Set<Settle>();
  #askedForChange = false;
  /** Every pixel of the screen has been sent since it has its size. */
  #isKnown = false;
  /** Something was asked for that has not been answered yet. */
  #isOwed = false;
  #marks = 0;
  #pointer: { readonly x: number; readonly y: number };
  #over: Error | undefined;
  #becameClosed: (reason: Error) => void = () => {};

  private constructor(channel: Duplex, { width, height, name }: Greeting, { drowsy = false }: DisplayOptions) {
    this.#channel = channel;
    this.#drowsy = drowsy;
    this.#screen = new Framebuffer(width, height);
    // Where an X server puts it first.
    this.#pointer = { x: Math.floor(width / 2), y: Math.floor(height / 2) };
    this.name = name;
    this.closed = new Promise((resolve) => (this.#becameClosed = resolve));
  }

  /**
   * Greets the display.
   *
   * @throws ToolyardError `dependency_failed` when it is no VNC server, wants a password or ends the connection; the signal's
   *   reason.
   */
  static async open(channel: Duplex, signal: AbortSignal, options: DisplayOptions = {}): Promise<DisplayConnection> {
    const reader = new ByteReader(channel);
    const abort = () => channel.destroy();
    signal.addEventListener("abort", abort, { once: true });
    try {
      signal.throwIfAborted();
      const connection = new DisplayConnection(channel, await greet(channel, reader), options);
      channel.write(setPixelFormat());
      channel.write(setEncodings(Object.values(ENCODINGS)));
      void connection.#listen(reader);
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

  get isOpen(): boolean {
    return this.#over === undefined;
  }

  get width(): number {
    return this.#screen.width;
  }

  get height(): number {
    return this.#screen.height;
  }

  /** The mouse pointer's look, which is in no picture; absent while the display shows none. */
  get cursor(): Cursor | undefined {
    return this.#screen.cursor;
  }

  /** Where the pointer is: where it was put last, by this connection or by a program that the display told of. */
  get position(): { readonly x: number; readonly y: number } {
    return this.#pointer;
  }

  /**
   * The screen, or the part of it that is asked for, as it is after all input that was sent before. What lies outside a
   * screen that has become smaller is left out.
   *
   * @throws ToolyardError `sandbox_dead` when the connection is over; the signal's reason.
   */
  async capture(signal: AbortSignal, part?: Rectangle): Promise<Picture> {
    signal.throwIfAborted();
    const turn = this.#queue.then(() => this.#askFor(part, signal));
    this.#queue = turn.catch(() => {});
    // Those before it in the queue have signals of their own.
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    const abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    try {
      return await Promise.race([turn, aborted]);
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  /**
   * Waits until something on the screen has changed since it was last captured or watched; a capture meanwhile counts as
   * one. Throws as `capture` does.
   */
  async nextChange(signal: AbortSignal): Promise<void> {
    await this.#wait(signal, (settle) => {
      this.#watching.add(settle);
      if (!this.#askedForChange) this.#request(framebufferUpdateRequest(this.#whole(), true));
      this.#askedForChange = true;
      return () => this.#watching.delete(settle);
    });
  }

  /** Moves the pointer with these buttons down; see {@link pointerEvent}. Throws as `capture` does. */
  pointer(x: number, y: number, buttons: number): void {
    this.#assertOpen();
    this.#pointer = { x, y };
    this.#channel.write(pointerEvent(x, y, buttons));
  }

  /** Presses or releases a key by its keysym. Throws as `capture` does. */
  key(keysym: number, down: boolean): void {
    this.#assertOpen();
    this.#channel.write(keyEvent(keysym, down));
  }

  close(): void {
    this.#end(new Error("it was closed"));
  }

  async #askFor(part: Rectangle | undefined, signal: AbortSignal): Promise<Picture> {
    const wanted = () => (part === undefined ? this.#whole() : inside(part, this.#whole()));
    let picture: Picture | undefined;
    await this.#wait(signal, (settle) => {
      const asked: Asked = {
        missing: new PixelRegion(wanted()),
        isWhole: false,
        isAnsweredTwice: false,
        send: () => {},
        settle: (over) => {
          // Taken in this very turn: the next update is already being read when the caller runs.
          const { width, height } = wanted();
          if (over === undefined) picture = { width, height, pixels: this.#screen.crop(wanted()) };
          settle(over);
        },
      };
      this.#asked = asked;
      if (asked.missing.isEmpty) asked.settle();
      else if (this.#isKnown) this.#askForChanges(asked, wanted());
      else this.#askForAll(asked, wanted());
      return () => {
        if (this.#asked === asked) this.#asked = undefined;
      };
    });
    return picture ?? { width: 0, height: 0, pixels: Buffer.alloc(0) };
  }

  /** Asks for every pixel of a part. */
  #askForAll(asked: Asked, part: Rectangle): void {
    asked.missing = new PixelRegion(part);
    asked.isWhole = part.width === this.width && part.height === this.height;
    asked.isAnsweredTwice = false;
    asked.send = () => this.#request(framebufferUpdateRequest(part, false));
    asked.send();
  }

  /** Asks for what has changed of a part, with a mark at another place each time, lest an older answer be taken for this one's. */
  #askForChanges(asked: Asked, part: Rectangle): void {
    this.#marks += 1;
    const mark = toMark(this.#marks, this.#whole());
    asked.missing = new PixelRegion(mark);
    asked.isAnsweredTwice = this.#isOwed;
    // In one piece, so that the server sees both before it answers.
    const requests = Buffer.concat([framebufferUpdateRequest(part, true), framebufferUpdateRequest(mark, false)]);
    asked.send = () => this.#request(requests);
    asked.send();
  }

  #request(message: Buffer): void {
    this.#isOwed = true;
    if (this.#drowsy) this.#channel.write(emptyCutText());
    this.#channel.write(message);
  }

  /** Runs `start`, which may settle it, and undoes it when that has happened or the signal fires. */
  async #wait(signal: AbortSignal, start: (settle: Settle) => () => void): Promise<void> {
    signal.throwIfAborted();
    this.#assertOpen();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    const undo = start((over) => (over === undefined ? resolve() : reject(over)));
    try {
      await promise;
    } finally {
      signal.removeEventListener("abort", abort);
      undo();
    }
  }

  /** After news that the server takes for an answer, or that make the answers so far worthless. */
  #askAgain(resized: boolean): void {
    this.#isOwed = false;
    if (resized) this.#isKnown = false;
    const asked = this.#asked;
    // What was asked for may not be there any more: all of the new screen answers it.
    if (asked !== undefined && resized) this.#askForAll(asked, this.#whole());
    else asked?.send();
    if (this.#watching.size > 0) this.#request(framebufferUpdateRequest(this.#whole(), !resized));
    else this.#askedForChange = false;
  }

  #whole(): Rectangle {
    return { x: 0, y: 0, width: this.#screen.width, height: this.#screen.height };
  }

  #assertOpen(): void {
    if (this.#over !== undefined) throw toDead(this.#over);
  }

  #end(reason: Error): void {
    if (this.#over !== undefined) return;
    this.#over = reason;
    this.#channel.destroy();
    const waiting = [...this.#watching, ...(this.#asked === undefined ? [] : [this.#asked.settle])];
    for (const settle of waiting) settle(toDead(reason));
    this.#becameClosed(reason);
  }

  async #listen(reader: ByteReader): Promise<void> {
    try {
      for (;;) {
        // oxlint-disable-next-line no-await-in-loop -- one message after another
        this.#take(await readServerMessage(reader, this.#screen));
      }
    } catch (error) {
      this.#end(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #take({ parts, resized, pointer }: ScreenNews): void {
    if (pointer !== undefined) this.#pointer = pointer;
    if (resized || parts.length === 0) {
      // TigerVNC takes what it tells of the pointer for the answer to all requests, and forgets them, though not what is
      // still to be sent.
      this.#askAgain(resized);
      return;
    }
    this.#askedForChange = false;
    this.#isOwed = false;
    for (const settle of this.#watching) settle();
    this.#watching.clear();
    const asked = this.#asked;
    if (asked === undefined) return;
    for (const part of parts) asked.missing.subtract(part);
    if (!asked.missing.isEmpty) return;
    if (asked.isAnsweredTwice) return this.#askForChanges(asked, this.#whole());
    if (asked.isWhole) this.#isKnown = true;
    this.#asked = undefined;
    asked.settle();
  }
}

function toDead(reason: Error): ToolyardError {
  return new ToolyardError("sandbox_dead", `the display is gone: ${reason.message}`);
}
