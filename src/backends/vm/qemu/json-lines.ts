const NEW_LINE = 0x0a;
/** No byte of UTF-8; the guest agent puts it before an answer that is to be found after rubbish. */
const MARK = 0xff;

/** What one message of QMP or the guest agent is, before anyone has looked into it. */
export type JsonMessage = Readonly<Record<string, unknown>>;

/** The other side does not speak the protocol, or says too much. */
export class JsonLinesViolation extends Error {}

/** Cuts a stream into the JSON objects that it holds, one a line, as QEMU's protocols have them. */
export class JsonLines {
  readonly #maxBytes: number;
  readonly #skipsRubbish: () => boolean;
  #pending: Buffer[] = [];
  #bytes = 0;

  /**
   * @param maxBytes of one line.
   * @param skipsRubbish whether what is no message is left out now, where it would be a violation.
   */
  constructor(maxBytes: number, skipsRubbish: () => boolean = () => false) {
    this.#maxBytes = maxBytes;
    this.#skipsRubbish = skipsRubbish;
  }

  /**
   * Takes what came, and returns the messages that are whole with it.
   *
   * @throws JsonLinesViolation for a line that is too long or no JSON object; the stream is of no use after it.
   */
  push(chunk: Buffer): JsonMessage[] {
    const messages: JsonMessage[] = [];
    let start = 0;
    for (let end = chunk.indexOf(NEW_LINE); end >= 0; end = chunk.indexOf(NEW_LINE, start)) {
      this.#keep(chunk.subarray(start, end));
      start = end + 1;
      const message = this.#parse(this.#takeLine());
      if (message !== undefined) messages.push(message);
    }
    this.#keep(chunk.subarray(start));
    return messages;
  }

  #parse(line: Buffer): JsonMessage | undefined {
    try {
      return parseLine(line);
    } catch (error) {
      if (this.#skipsRubbish()) return undefined;
      throw error;
    }
  }

  #keep(part: Buffer): void {
    if (part.length === 0) return;
    this.#bytes += part.length;
    if (this.#bytes > this.#maxBytes) throw new JsonLinesViolation(`a line of over ${this.#maxBytes} bytes`);
    this.#pending.push(part);
  }

  #takeLine(): Buffer {
    const line = Buffer.concat(this.#pending);
    this.#pending = [];
    this.#bytes = 0;
    return line.subarray(line.lastIndexOf(MARK) + 1);
  }
}

export function toLine(message: JsonMessage): Buffer {
  return Buffer.from(`${JSON.stringify(message)}\n`);
}

function parseLine(line: Buffer): JsonMessage | undefined {
  const text = line.toString("utf8").trim();
  if (text === "") return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new JsonLinesViolation("a line that is no JSON");
  }
  if (!isObject(value)) throw new JsonLinesViolation("a line that is no JSON object");
  return value;
}

function isObject(value: unknown): value is JsonMessage {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
