import { type FileHandle, open } from "node:fs/promises";
import type { RecordingFile } from "../../core/terminal-recordings.ts";

/** How long a line waits for others to be written with it. */
const FLUSH_MS = 500;
const FLUSH_CHARACTERS = 65_536;

/** Appends lines to a file in batches, in their order. */
export class AppendedFile implements RecordingFile {
  readonly #path: string;
  readonly #prepare: () => Promise<unknown>;
  readonly #onFailure: (error: unknown) => void;
  readonly #onEnd: () => void;
  #handle: FileHandle | undefined;
  #waiting: string[] = [];
  #waitingCharacters = 0;
  #timer: NodeJS.Timeout | undefined;
  #written: Promise<void> = Promise.resolve();
  #over = false;
  #failed = false;
  /** Settles when it has been written to its end and closed; `undefined` until that is asked for. */
  ended: Promise<void> | undefined;

  /**
   * @param prepare makes the folder, before the first line.
   * @param onEnd told once, when all of it is written.
   */
  constructor(path: string, prepare: () => Promise<unknown>, onFailure: (error: unknown) => void, onEnd: () => void) {
    this.#path = path;
    this.#prepare = prepare;
    this.#onFailure = onFailure;
    this.#onEnd = onEnd;
  }

  append(line: string): void {
    if (this.#over) return;
    this.#waiting.push(line, "\n");
    this.#waitingCharacters += line.length;
    if (this.#waitingCharacters >= FLUSH_CHARACTERS) void this.flush();
    else this.#timer ??= setTimeout(() => void this.flush(), FLUSH_MS).unref();
  }

  end(): void {
    this.#over = true;
    this.ended ??= this.flush()
      .then(() => this.#handle?.close())
      .catch(this.#onFailure)
      .finally(this.#onEnd);
  }

  /** Resolves once all that came is written; never rejects. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const text = this.#waiting.join("");
    this.#waiting = [];
    this.#waitingCharacters = 0;
    if (text !== "") {
      this.#written = this.#written
        .then(() => this.#write(text))
        .catch((error: unknown) => {
          this.#over = this.#failed = true;
          this.#onFailure(error);
        });
    }
    return this.#written;
  }

  async #write(text: string): Promise<void> {
    if (this.#failed) return;
    if (this.#handle === undefined) {
      await this.#prepare();
      // Only the server's own user may read what people saw.
      this.#handle = await open(this.#path, "ax", 0o600);
    }
    await this.#handle.appendFile(text, "utf8");
  }
}
