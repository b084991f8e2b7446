/** Where a viewer's messages go. */
export interface ViewerSink {
  /** Bytes that it was given and has not sent. */
  readonly bufferedAmount: number;
  /** Tells when the message is on its way. */
  send(data: Buffer, sent: () => void): void;
}

/**
 * What waits for one viewer: bounded. One that is slow, or asks for a pause, and misses more than the bound is given the screen
 * anew once it can take it, in place of what it missed.
 */
export class ViewerQueue {
  readonly #sink: ViewerSink;
  readonly #maxBytes: number;
  readonly #resync: () => Promise<void>;
  readonly #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #paused = false;
  /** It has missed something: only a snapshot helps. */
  #behind = false;
  #resyncing = false;
  bytesSent = 0;

  /** @param resync gives the queue a `snapshot`. */
  constructor(sink: ViewerSink, maxBytes: number, resync: () => Promise<void>) {
    this.#sink = sink;
    this.#maxBytes = maxBytes;
    this.#resync = resync;
  }

  push(data: Buffer): void {
    if (this.#behind) return;
    if (!this.#paused && this.#waiting.length === 0 && this.#hasRoom) {
      this.#send(data);
      return;
    }
    this.#waiting.push(data);
    this.#waitingBytes += data.length;
    if (this.#waitingBytes > this.#maxBytes) this.#fallBehind();
  }

  /** Takes what replaces everything before, also what still waits. */
  snapshot(data: Buffer): void {
    this.#clear();
    this.#behind = false;
    this.#send(data);
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    this.#flush();
  }

  get #hasRoom(): boolean {
    return this.#sink.bufferedAmount < this.#maxBytes;
  }

  #fallBehind(): void {
    this.#clear();
    this.#behind = true;
    this.#flush();
  }

  #flush(): void {
    if (this.#paused || !this.#hasRoom) return;
    if (this.#behind) {
      void this.#catchUp();
      return;
    }
    while (this.#hasRoom) {
      const data = this.#waiting.shift();
      if (data === undefined) return;
      this.#waitingBytes -= data.length;
      this.#send(data);
    }
  }

  async #catchUp(): Promise<void> {
    if (this.#resyncing) return;
    this.#resyncing = true;
    // One that cannot be shown any more has ended, which is told otherwise.
    await this.#resync().catch(() => undefined);
    this.#resyncing = false;
  }

  #clear(): void {
    this.#waiting.length = 0;
    this.#waitingBytes = 0;
  }

  #send(data: Buffer): void {
    this.bytesSent += data.length;
    this.#sink.send(data, () => this.#flush());
  }
}
