/** Cuts a stream of bytes into lines, none of them longer than its maximum. */
export class LineSplitter {
  readonly #maxBytes: number;
  #held: Buffer[] = [];
  #heldBytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /**
   * The lines that are whole by now, without their ends.
   *
   * @throws RangeError for one that is too long.
   */
  push(data: Uint8Array): string[] {
    const lines: string[] = [];
    let start = 0;
    for (let end = data.indexOf(10); end !== -1; end = data.indexOf(10, start)) {
      this.#hold(data.subarray(start, end));
      lines.push(Buffer.concat(this.#held).toString("utf8"));
      this.#held = [];
      this.#heldBytes = 0;
      start = end + 1;
    }
    this.#hold(data.subarray(start));
    return lines;
  }

  #hold(part: Uint8Array): void {
    if (part.length === 0) return;
    this.#heldBytes += part.length;
    if (this.#heldBytes > this.#maxBytes) throw new RangeError(`a line of more than ${this.#maxBytes} bytes`);
    this.#held.push(Buffer.from(part));
  }
}
