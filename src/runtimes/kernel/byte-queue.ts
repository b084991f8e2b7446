/** Bytes that come by themselves, for a reader who takes them when it likes and says so. */
export class ByteQueue {
  readonly #chunks: Buffer[] = [];
  readonly #onTaken: (count: number) => void;
  #wake: (() => void) | undefined;
  #ended = false;
  #error: unknown;

  /** `onTaken` learns how many bytes the reader has taken. */
  constructor(onTaken: (count: number) => void) {
    this.#onTaken = onTaken;
  }

  push(data: Buffer): void {
    this.#chunks.push(data);
    this.#wake?.();
  }

  end(error?: unknown): void {
    this.#ended = true;
    this.#error = error;
    this.#wake?.();
  }

  /** Yields what comes until the end, and throws what it ended with. */
  async *read(): AsyncGenerator<Buffer> {
    for (;;) {
      const chunk = this.#chunks.shift();
      if (chunk !== undefined) {
        yield chunk;
        this.#onTaken(chunk.length);
      } else if (this.#ended) {
        if (this.#error !== undefined) throw this.#error;
        return;
      } else {
        // One after another on purpose: this is how a reader waits.
        // oxlint-disable-next-line no-await-in-loop
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        this.#wake = undefined;
      }
    }
  }
}
