import { type ClientOptions, WebSocket } from "ws";

export interface RfbViewerOptions extends ClientOptions {
  readonly protocols?: readonly string[];
  /** What it says in the handshake; noVNC's words by default, nothing for `null`. */
  readonly hello?: readonly Uint8Array[] | null;
}

const HELLO = [Buffer.from("RFB 003.008\n"), Buffer.of(1), Buffer.of(0)];

/** A viewer that speaks RFB over a WebSocket, in the test's own bytes. */
export class RfbViewer {
  readonly socket: WebSocket;
  readonly #chunks: Buffer[] = [];
  receivedBytes = 0;
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;

  private constructor(socket: WebSocket) {
    this.socket = socket;
    const { promise, resolve } = Promise.withResolvers<{ code: number; reason: string }>();
    this.closed = promise;
    socket.on("message", (data: Buffer) => {
      this.#chunks.push(data);
      this.receivedBytes += data.length;
    });
    socket.on("close", (code, reason) => resolve({ code, reason: reason.toString("utf8") }));
    socket.on("error", () => undefined);
  }

  get received(): Buffer {
    return Buffer.concat(this.#chunks);
  }

  /** Connects, and does the handshake as fast as it may; rejects with the status when it is refused. */
  static async open(url: string, { hello = HELLO, protocols = [], ...options }: RfbViewerOptions = {}) {
    const socket = new WebSocket(url.replace(/^http/, "ws"), [...protocols], options);
    const viewer = new RfbViewer(socket);
    await new Promise<void>((resolve, reject) => {
      socket.once("open", resolve);
      socket.once("unexpected-response", (_, answer) => reject(new Error(`refused with ${answer.statusCode}`)));
      socket.once("error", reject);
    });
    for (const word of hello ?? []) socket.send(word);
    return viewer;
  }

  send(...messages: readonly Uint8Array[]): void {
    this.socket.send(Buffer.concat(messages));
  }
}

export function key(keysym: number, down: boolean): Buffer {
  const message = Buffer.alloc(8);
  message.writeUInt8(4, 0);
  message.writeUInt8(down ? 1 : 0, 1);
  message.writeUInt32BE(keysym, 4);
  return message;
}

export function qemuKey(keysym: number, keycode: number, down: boolean): Buffer {
  const message = Buffer.alloc(12);
  message.writeUInt8(255, 0);
  message.writeUInt16BE(down ? 1 : 0, 2);
  message.writeUInt32BE(keysym, 4);
  message.writeUInt32BE(keycode, 8);
  return message;
}

export function pointer(x: number, y: number, buttons: number): Buffer {
  const message = Buffer.alloc(6);
  message.writeUInt8(5, 0);
  message.writeUInt8(buttons, 1);
  message.writeUInt16BE(x, 2);
  message.writeUInt16BE(y, 4);
  return message;
}

export function cutText(text: Uint8Array, length = text.length): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt8(6, 0);
  head.writeInt32BE(length, 4);
  return Buffer.concat([head, text]);
}

export function encodings(...list: readonly number[]): Buffer {
  const message = Buffer.alloc(4 + 4 * list.length);
  message.writeUInt8(2, 0);
  message.writeUInt16BE(list.length, 2);
  for (const [index, encoding] of list.entries()) message.writeInt32BE(encoding | 0, 4 + 4 * index);
  return message;
}

export function updateRequest(incremental = false): Buffer {
  const message = Buffer.alloc(10);
  message.writeUInt8(3, 0);
  message.writeUInt8(incremental ? 1 : 0, 1);
  message.writeUInt16BE(640, 6);
  message.writeUInt16BE(480, 8);
  return message;
}

export function desktopSize(width: number, height: number): Buffer {
  const message = Buffer.alloc(24);
  message.writeUInt8(251, 0);
  message.writeUInt16BE(width, 2);
  message.writeUInt16BE(height, 4);
  message.writeUInt8(1, 6);
  return message;
}

export function fence(payload: Uint8Array): Buffer {
  const head = Buffer.alloc(9);
  head.writeUInt8(248, 0);
  head.writeUInt8(payload.length, 8);
  return Buffer.concat([head, payload]);
}

export const pixelFormat = (): Buffer => Buffer.alloc(20);
export const continuousUpdates = (): Buffer => Buffer.concat([Buffer.of(150, 1), Buffer.alloc(8)]);
export const power = (): Buffer => Buffer.of(250, 0, 1, 2);
