const TAIL_LINES = 20;
const SIGN_OF_LIFE_MS = 10_000;

export interface ReporterOptions {
  /** Goes before every line. */
  readonly name: string;
  readonly write: (line: string) => void;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
  /** Shows everything that is printed in a build, instead of a line now and then. */
  readonly verbose?: boolean | undefined;
}

/** Tells how far a build is, line by line, so that it reads the same in a terminal and in a log. */
export class BuildReporter {
  readonly #options: ReporterOptions;
  readonly #started: number;
  #written: number;
  #tail: string[] = [];

  constructor(options: ReporterOptions) {
    this.#options = options;
    this.#started = options.now();
    this.#written = this.#started;
  }

  /** Says what begins. */
  step(text: string): void {
    this.#tail = [];
    this.#write(shorten(text));
  }

  /** Takes what the work prints; shows a line of it when nothing was shown for a while. */
  output(text: string): void {
    for (const line of text.split("\n")) {
      this.#tail = [...this.#tail, line].slice(-TAIL_LINES);
      if (this.#options.verbose === true) this.#write(`  ${line}`);
      else if (this.#options.now() - this.#written >= SIGN_OF_LIFE_MS) {
        this.#write(`  ${formatSeconds(this.elapsedMs)} so far: ${shorten(line)}`);
      }
    }
  }

  /** Shows the end of what the step printed, unless it was shown as it came. */
  showTail(): void {
    if (this.#options.verbose !== true) for (const line of this.#tail) this.#write(`  ${line}`);
  }

  get elapsedMs(): number {
    return this.#options.now() - this.#started;
  }

  #write(text: string): void {
    this.#written = this.#options.now();
    this.#options.write(`${this.#options.name}  ${text}`);
  }
}

function shorten(text: string): string {
  return text.length > 110 ? `${text.slice(0, 109)}…` : text;
}

/** `24 s`, `1 min 17 s`. */
export function formatSeconds(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** `260 MB`, as `docker images` counts. */
export function formatMegabytes(bytes: number): string {
  return `${Math.round(bytes / 1e6)} MB`;
}
