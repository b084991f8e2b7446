import type { CapturedOutput } from "../../core/sandbox-process.ts";
import { ProtocolViolation } from "./frame.ts";
import type { StreamUsage } from "./messages.ts";

// Characters that the host keeps of a stream beside the limit: U+FFFD makes three bytes of one.
const SLACK = 4;

/** What one stream wrote: its start as it came, its end as the sandbox tells it at last; bounded on this side, too. */
export class CapturedStream {
  readonly #limit: number;
  #head = "";

  constructor(limitBytes: number) {
    this.#limit = limitBytes + SLACK;
  }

  append(text: string): void {
    this.#head += text;
    if (this.#head.length > this.#limit) throw new ProtocolViolation("output is over its limit");
  }

  /** What came until now, where there will be no end. */
  partial(): CapturedOutput {
    return { text: this.#head, bytes: Buffer.byteLength(this.#head), truncated: false };
  }

  finish({ bytes, omitted, tail }: StreamUsage): CapturedOutput {
    if (tail.length > this.#limit) throw new ProtocolViolation("output is over its limit");
    const gap = omitted > 0 ? `\n… ${omitted} bytes left out …\n` : "";
    return { text: this.#head + gap + tail, bytes, truncated: omitted > 0 };
  }
}
