/** The largest payload of a frame; a longer one is a protocol violation, seen before anything is allocated for it. */
export const MAX_FRAME_BYTES = 8 * 1024 * 1024;

const HEADER_BYTES = 4;

/** The other side broke the protocol: there is no way back, it must be killed. */
export class ProtocolViolation extends Error {
  override readonly name = "ProtocolViolation";
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
  readonly #fatal = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

  /** Bytes that wait for the rest of their frame. */
  get pendingBytes(): number {
    return this.#buffered;
  }

  /**
   * Takes a chunk and returns the messages that it completes.
   *
   * @throws ProtocolViolation for a frame that is over the cap, not UTF-8 or not JSON.
   */
  push(chunk: Buffer): unknown[] {
    this.#chunks.push(chunk);
    this.#buffered += chunk.length;
    const messages: unknown[] = [];
    for (;;) {
      if (this.#length < 0) {
        if (this.#buffered < HEADER_BYTES) return messages;
        this.#length = this.#take(HEADER_BYTES).readUInt32BE(0);
        if (this.#length > MAX_FRAME_BYTES) throw new ProtocolViolation(`a frame claims ${this.#length} bytes`);
      }
      if (this.#buffered < this.#length) return messages;
      messages.push(this.#parse(this.#take(this.#length)));
      this.#length = -1;
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
