import { Duplex } from "node:stream";

/** The thread's end of a connection that the server's own thread holds. */
export interface RelayedSocketOptions {
  /** Sends bytes to the other end. */
  readonly send: (chunk: Buffer) => void;
  /** Told how many bytes were read, so that no more come than are. */
  readonly onRead: (count: number) => void;
  readonly onClose: () => void;
}

/** A connection whose bytes come and go as messages. */
export class RelayedSocket extends Duplex {
  readonly #options: RelayedSocketOptions;
  #unread = 0;

  constructor(options: RelayedSocketOptions) {
    super();
    this.#options = options;
  }

  /** Takes what came. */
  receive(bytes: Uint8Array): void {
    this.#unread += bytes.length;
    if (this.push(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length))) this.#tell();
  }

  override _read(): void {
    this.#tell();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#options.send(chunk);
    done();
  }

  override _destroy(_error: Error | null, done: (error?: Error | null) => void): void {
    this.#options.onClose();
    // Whoever listens is told by the close.
    done(null);
  }

  #tell(): void {
    if (this.#unread === 0) return;
    this.#options.onRead(this.#unread);
    this.#unread = 0;
  }
}
