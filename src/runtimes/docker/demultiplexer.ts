/** The streams that an engine carries over one connection. */
export type EngineStream = "stdout" | "stderr";

const HEADER_BYTES = 8;
const STREAMS: readonly (EngineStream | undefined)[] = ["stdout", "stdout", "stderr"];

/** What came is not what an engine sends. */
export class DemultiplexError extends Error {
  override readonly name = "DemultiplexError";
}

/**
 * Takes the engine's multiplexed output apart, however it was chunked: a header of eight bytes (the stream, three zeros, a
 * big-endian length), then that many bytes. Holds no payload: each piece is handed on as it comes.
 */
export class Demultiplexer {
  readonly #sink: (stream: EngineStream, data: Buffer) => void;
  #header = Buffer.alloc(0);
  #stream: EngineStream = "stdout";
  #left = 0;

  constructor(sink: (stream: EngineStream, data: Buffer) => void) {
    this.#sink = sink;
  }

  /** @throws DemultiplexError for a header that no engine sends. */
  push(chunk: Buffer): void {
    let rest = chunk;
    while (rest.length > 0) {
      if (this.#left > 0) {
        const data = rest.subarray(0, this.#left);
        rest = rest.subarray(data.length);
        this.#left -= data.length;
        this.#sink(this.#stream, data);
        continue;
      }
      const missing = HEADER_BYTES - this.#header.length;
      this.#header = Buffer.concat([this.#header, rest.subarray(0, missing)]);
      rest = rest.subarray(missing);
      if (this.#header.length < HEADER_BYTES) return;
      const stream = STREAMS[this.#header.readUInt8(0)];
      if (stream === undefined || this.#header.readUIntBE(1, 3) !== 0) throw new DemultiplexError("a bad header");
      this.#stream = stream;
      this.#left = this.#header.readUInt32BE(4);
      this.#header = Buffer.alloc(0);
    }
  }
}
