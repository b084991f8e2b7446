/** The largest payload of a frame; a longer one is a protocol violation, seen before anything is allocated for it. */
export const MAX_FRAME_BYTES = 8 * 1024 * 1024;

const HEADER_BYTES = 4;
const STREAM_BYTES = 4;
const SMALL_BYTES = 64 * 1024;
// In a header's length: the frame holds a stream's number and bytes, and no JSON.
const BINARY = 0x8000_0000;

/** The other side broke the protocol: there is no way back, it must be killed. */
export class ProtocolViolation extends Error {
  override readonly name = "ProtocolViolation";
}

/** A frame of bytes, which belong to the operation of that number. */
export class BinaryFrame {
  readonly stream: number;
  readonly data: Buffer;

  constructor(stream: number, data: Buffer) {
    this.stream = stream;
    this.data = data;
  }
}

/** Encodes the header of a frame of bytes, which follow it. */
export function encodeBinaryHeader(stream: number, length: number): Buffer {
  const header = Buffer.allocUnsafe(HEADER_BYTES + STREAM_BYTES);
  header.writeUInt32BE(BINARY + STREAM_BYTES + length, 0);
  header.writeUInt32BE(stream, HEADER_BYTES);
  return header;
}

/**
 * Encodes one message of "ptc-frame/1": a big-endian u32 length and that many bytes of UTF-8 JSON.
 *
 * @throws RangeError when the message is over {@link MAX_FRAME_BYTES}.
 */
export function encodeFrame(message: unknown): Buffer {
  const json = JSON.stringify(message);
  const length = Buffer.byteLength(json);
  if (length > MAX_FRAME_BYTES) throw new RangeError(`a frame of ${length} bytes is over ${MAX_FRAME_BYTES}`);
  const frame = Buffer.allocUnsafe(HEADER_BYTES + length);
  frame.writeUInt32BE(length, 0);
  frame.write(json, HEADER_BYTES, "utf8");
  return frame;
}

/** Cuts a byte stream into messages, however it was chunked. */
export class FrameDecoder {
  #chunks: Buffer[] = [];
  #buffered = 0;
  // Of the frame that is being collected; -1 while its header is incomplete.
  #length = -1;
  #binary = false;
  readonly #fatal = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

  /** Bytes that wait for the rest of their frame. */
  get pendingBytes(): number {
    return this.#buffered;
  }

  /**
   * Takes a chunk and returns the messages that it completes, a {@link BinaryFrame} for each frame of bytes.
   *
   * @throws ProtocolViolation for a frame that is over the cap, not UTF-8 or not JSON.
   */
  push(chunk: Buffer): unknown[] {
    this.#chunks.push(chunk);
    this.#joinSmall();
    this.#buffered += chunk.length;
    const messages: unknown[] = [];
    for (;;) {
      if (this.#length < 0) {
        if (this.#buffered < HEADER_BYTES) return messages;
        const header = this.#take(HEADER_BYTES).readUInt32BE(0);
        this.#binary = header >= BINARY;
        this.#length = this.#binary ? header - BINARY : header;
        if (this.#length > MAX_FRAME_BYTES) throw new ProtocolViolation(`a frame claims ${this.#length} bytes`);
        if (this.#binary && this.#length < STREAM_BYTES) throw new ProtocolViolation("a frame of bytes has no stream");
      }
      if (this.#buffered < this.#length) return messages;
      const payload = this.#take(this.#length);
      messages.push(
        this.#binary ? new BinaryFrame(payload.readUInt32BE(0), payload.subarray(STREAM_BYTES)) : this.#parse(payload),
      );
      this.#length = -1;
    }
  }

  /** Joins what came in small pieces as it grows, for a piece costs more than the bytes in it. */
  #joinSmall(): void {
    const chunks = this.#chunks;
    for (let end = chunks.length; end >= 2; end -= 1) {
      const before = chunks[end - 2];
      const last = chunks[end - 1];
      if (before === undefined || last === undefined || last.length >= SMALL_BYTES || before.length > last.length)
        return;
      chunks.splice(end - 2, 2, Buffer.concat([before, last]));
    }
  }

  #parse(payload: Buffer): unknown {
    try {
      return JSON.parse(this.#fatal.decode(payload));
    } catch (cause) {
      throw new ProtocolViolation("a frame is not UTF-8 JSON", { cause });
    }
  }

  #take(count: number): Buffer {
    this.#buffered -= count;
    const first = this.#chunks[0];
    if (first !== undefined && first.length >= count) {
      // The common case: the whole frame lies in one chunk, so nothing is copied.
      if (first.length === count) this.#chunks.shift();
      else this.#chunks[0] = first.subarray(count);
      return first.subarray(0, count);
    }
    const joined = Buffer.concat(this.#chunks);
    this.#chunks = joined.length > count ? [joined.subarray(count)] : [];
    return joined.subarray(0, count);
  }
}
