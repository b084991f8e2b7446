import type { StreamUsage } from "./messages.ts";

const REPLACEMENT = new TextDecoder();

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;

/** Streams the start of an output, keeps its end for `end` and counts all of it: the supervisor's `Capture`, for hosts in JavaScript. */
export class Capture {
  #headLeft: number;
  readonly #tailSize: number;
  #tail: Buffer[] = [];
  #tailBytes = 0;
  #bytes = 0;
  #omitted = 0;

  constructor(limitBytes: number) {
    this.#headLeft = Math.floor(limitBytes / 2);
    this.#tailSize = limitBytes - this.#headLeft;
  }

  /** Takes text and returns the part to stream now. */
  feed(text: string): string {
    const data = Buffer.from(text);
    this.#bytes += data.length;
    let cut = Math.min(this.#headLeft, data.length);
    this.#headLeft -= cut;
    // A character that the cut would split goes to the tail whole.
    while (cut > 0 && isContinuation(data[cut])) cut -= 1;
    if (cut === data.length) return text;
    this.#headLeft = 0;
    this.#tail.push(data.subarray(cut));
    this.#tailBytes += data.length - cut;
    if (this.#tailBytes > 2 * this.#tailSize) this.#trim();
    return data.toString("utf8", 0, cut);
  }

  finish(): StreamUsage {
    const tail = this.#trim();
    return { bytes: this.#bytes, omitted: this.#omitted, tail: REPLACEMENT.decode(tail) };
  }

  #trim(): Buffer {
    let tail = Buffer.concat(this.#tail);
    if (tail.length > this.#tailSize) {
      let start = tail.length - this.#tailSize;
      while (isContinuation(tail[start])) start += 1;
      this.#omitted += start;
      // Copied, so that the large chunk it lies in can be freed.
      tail = Buffer.from(tail.subarray(start));
    }
    this.#tail = [tail];
    this.#tailBytes = tail.length;
    return tail;
  }
}
