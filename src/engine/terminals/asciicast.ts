/** What a recording's head says. */
export interface AsciicastHead {
  readonly columns: number;
  readonly rows: number;
  readonly startedAt: Date;
  readonly title: string;
  /** What else is said of it, under a name of ours that players pass over. */
  readonly toolyard?: Readonly<Record<string, unknown>> | undefined;
}

/** One thing that happened: output, a resize, or a marker. */
type Code = "o" | "r" | "m";

/**
 * Records a terminal as an asciicast of version 2, up to a bound: then it says so and keeps what it has.
 *
 * Input is not recorded: what is typed but not shown is a password more often than not.
 */
export class Asciicast {
  readonly #head: AsciicastHead;
  readonly #maxBytes: number;
  readonly #keep: (line: string) => void;
  readonly #lines: string[] = [];
  #bytes = 0;
  #complete = true;
  #full = false;

  /** @param keep given each line as it comes, the head first. */
  constructor(head: AsciicastHead, maxBytes: number, keep: (line: string) => void = () => undefined) {
    this.#head = head;
    this.#maxBytes = maxBytes;
    this.#keep = keep;
    keep(this.#headLine(head.toolyard));
  }

  /** Whether all that was shown is in it. */
  get complete(): boolean {
    return this.#complete;
  }

  output(timeMs: number, text: string): void {
    if (text !== "") this.#add(timeMs, "o", text);
  }

  resize(timeMs: number, columns: number, rows: number): void {
    this.#add(timeMs, "r", `${columns}x${rows}`);
  }

  /** Notes that output is missing from here on, or was left out here. */
  gap(timeMs: number, why: string): void {
    this.#add(timeMs, "m", why);
    this.#complete = false;
  }

  /** The whole file. */
  toString(): string {
    return `${[this.#headLine(), ...this.#lines].join("\n")}\n`;
  }

  #headLine(toolyard?: Readonly<Record<string, unknown>>): string {
    const { columns, rows, startedAt, title } = this.#head;
    return JSON.stringify({
      version: 2,
      width: columns,
      height: rows,
      timestamp: Math.floor(startedAt.getTime() / 1000),
      ...(title !== "" && { title }),
      env: { TERM: "xterm-256color" },
      ...(toolyard !== undefined && { toolyard }),
    });
  }

  #add(timeMs: number, code: Code, data: string): void {
    if (this.#full) return;
    const second = Math.max(0, Math.round(timeMs)) / 1000;
    const line = JSON.stringify([second, code, data]);
    this.#bytes += line.length;
    if (this.#bytes > this.#maxBytes) {
      this.#full = true;
      this.#complete = false;
      this.#push(JSON.stringify([second, "m", "the recording is full"]));
    } else this.#push(line);
  }

  #push(line: string): void {
    this.#lines.push(line);
    this.#keep(line);
  }
}
