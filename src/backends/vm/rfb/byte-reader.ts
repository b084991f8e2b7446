import type { Readable } from "node:stream";

/** Reads a stream in the pieces that a protocol asks for; what is not asked for yet stays in the stream. */
export class ByteReader {
  readonly #stream: Readable;
  #chunks: Buffer[] = [];
  #held = 0;
  #wanted = 0;
  #wake: (() => void) | undefined;
  #ended: Error | undefined;

  constructor(stream: Readable) {
    this.#stream = stream;
    stream.on("data", (chunk: Buffer) => {
      this.#chunks.push(chunk);
      this.#held += chunk.length;
      if (this.#held >= this.#wanted) {
        stream.pause();
        this.#wake?.();
      }
    });
    const end = (error?: Error | null) => {
      this.#ended ??= error ?? new Error("the display closed its connection");
      this.#wake?.();
    };
    stream.on("error", end);
    stream.on("end", () => end());
    stream.on("close", () => end());
    stream.pause();
  }

  /** @throws Error when the stream ends before. */
  async bytes(count: number): Promise<Buffer> {
    while (this.#held < count) {
      if (this.#ended !== undefined) throw this.#ended;
      this.#wanted = count;
      // oxlint-disable-next-line no-await-in-loop -- each turn waits for more
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        this.#stream.resume();
      });
      this.#wake = undefined;
    }
    return this.#take(count);
  }

  async u8(): Promise<number> {
    return (await this.bytes(1)).readUInt8();
  }

  async u16(): Promise<number> {
    return (await this.bytes(2)).readUInt16BE();
  }

  async u32(): Promise<number> {
    return (await this.bytes(4)).readUInt32BE();
  }

  #take(count: number): Buffer {
    const [first] = this.#chunks;
    this.#held -= count;
    if (first !== undefined && first.length >= count) {
      if (first.length === count) this.#chunks.shift();
      else this.#chunks[0] = first.subarray(count);
      return first.subarray(0, count);
    }
    const whole = Buffer.concat(this.#chunks);
    const rest = whole.subarray(count);
    this.#chunks = rest.length > 0 ? [rest] : [];
    return whole.subarray(0, count);
  }
}
