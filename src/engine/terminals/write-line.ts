import { ToolyardError } from "../../core/errors.ts";
import type { SandboxProcess } from "../../core/sandbox-process.ts";

/** What may wait for a program to read it. */
const MAX_PENDING_BYTES = 262_144;

/** Writes to a process in the order in which it is asked to, whoever asks. */
export class WriteLine {
  readonly #process: SandboxProcess;
  #last: Promise<void> = Promise.resolve();
  #pendingBytes = 0;

  constructor(process: SandboxProcess) {
    this.#process = process;
  }

  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  /** @throws ToolyardError `overloaded` at once when too much waits; what the process throws, when it is written. */
  write(data: Uint8Array): Promise<void> {
    if (data.length === 0) return this.#last;
    if (this.#pendingBytes + data.length > MAX_PENDING_BYTES) {
      throw new ToolyardError("overloaded", "The terminal's program does not read what is typed", {
        details: { limit: "terminal_input_bytes", maximum: MAX_PENDING_BYTES },
      });
    }
    this.#pendingBytes += data.length;
    const done = this.#last
      .then(() => this.#process.write(data))
      .finally(() => {
        this.#pendingBytes -= data.length;
      });
    this.#last = done.catch(() => undefined);
    return done;
  }

  /** Writes what may as well be lost. */
  offer(data: Uint8Array): void {
    if (this.#pendingBytes + data.length > MAX_PENDING_BYTES / 2) return;
    this.write(data).catch(() => undefined);
  }
}
