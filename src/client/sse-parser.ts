/** One server-sent event. */
export interface SseMessage {
  /** The last id that the stream has given, be it by an earlier event; empty when it has given none. */
  readonly id: string;
  /** `message` when the stream does not say. */
  readonly event: string;
  readonly data: string;
}

/** Reads server-sent events out of bytes that come in any pieces, as the HTML standard says. */
export class SseParser {
  readonly #decoder = new TextDecoder();
  #buffer = "";
  /** Up to here the buffer has no line end. */
  #scanned = 0;
  /** The last piece ended with a CR, so that a LF at the start of the next one belongs to it. */
  #skipLineFeed = false;
  #id = "";
  #lastEventId = "";
  #event = "";
  #data: string[] = [];

  /** Where to resume; also moved by a block that has an id alone. */
  get lastEventId(): string {
    return this.#lastEventId;
  }

  /** Takes the next bytes and returns the events that they complete. */
  push(bytes: Uint8Array): readonly SseMessage[] {
    this.#buffer += this.#decoder.decode(bytes, { stream: true });
    const messages: SseMessage[] = [];
    for (let line = this.#nextLine(); line !== undefined; line = this.#nextLine()) {
      if (line !== "") this.#takeField(line);
      else if (this.#data.length > 0) messages.push(this.#dispatch());
      else this.#endBlock();
    }
    return messages;
  }

  #nextLine(): string | undefined {
    if (this.#skipLineFeed && this.#buffer !== "") {
      this.#skipLineFeed = false;
      if (this.#buffer.startsWith("\n")) this.#buffer = this.#buffer.slice(1);
    }
    LINE_END.lastIndex = this.#scanned;
    const end = LINE_END.exec(this.#buffer)?.index;
    if (end === undefined) {
      this.#scanned = this.#buffer.length;
      return undefined;
    }
    const line = this.#buffer.slice(0, end);
    this.#skipLineFeed = this.#buffer[end] === "\r";
    this.#buffer = this.#buffer.slice(end + 1);
    this.#scanned = 0;
    return line;
  }

  #takeField(line: string): void {
    const colon = line.indexOf(":");
    // A line that starts with a colon is a comment.
    if (colon === 0) return;
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (field === "data") this.#data.push(value);
    else if (field === "event") this.#event = value;
    else if (field === "id" && !value.includes("\0")) this.#id = value;
  }

  #dispatch(): SseMessage {
    const message = { id: this.#id, event: this.#event || "message", data: this.#data.join("\n") };
    this.#endBlock();
    return message;
  }

  #endBlock(): void {
    this.#lastEventId = this.#id;
    this.#event = "";
    this.#data = [];
  }
}

const LINE_END = /[\r\n]/g;
