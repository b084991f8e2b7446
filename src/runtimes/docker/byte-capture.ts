import type { CapturedOutput } from "../../core/sandbox-process.ts";
import { Capture } from "../kernel/capture.ts";

/** Captures one stream of bytes that may end, or be cut, within a character. */
export class ByteCapture {
  readonly #decoder = new TextDecoder();
  readonly #capture: Capture;
  readonly #onText: (text: string) => void;
  #head = "";
  #bytes = 0;

  constructor(limitBytes: number, onText: (text: string) => void) {
    this.#capture = new Capture(limitBytes);
    this.#onText = onText;
  }

  push(data: Buffer): void {
    this.#bytes += data.length;
    this.#feed(this.#decoder.decode(data, { stream: true }));
  }

  finish(): CapturedOutput {
    this.#feed(this.#decoder.decode());
    const { omitted, tail } = this.#capture.finish();
    const gap = omitted > 0 ? `\n… ${omitted} bytes left out …\n` : "";
    return { text: this.#head + gap + tail, bytes: this.#bytes, truncated: omitted > 0 };
  }

  #feed(text: string): void {
    const shown = this.#capture.feed(text);
    this.#head += shown;
    if (shown !== "") this.#onText(shown);
  }
}
