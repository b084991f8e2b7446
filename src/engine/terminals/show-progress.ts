import type { Clock } from "../../core/clock.ts";

/** How long who asks for the screen waits for it to catch up. */
const PATIENCE_MS = 1_000;

/** How far a terminal's output is shown, and who waits for it. */
export class ShowProgress {
  readonly #clock: Clock;
  readonly #waiting = new Map<() => void, number>();
  #cursor = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  advance(cursor: number): void {
    this.#cursor = cursor;
    for (const [tell, wanted] of this.#waiting) if (wanted <= cursor) tell();
  }

  /** Resolves when it is shown up to there, or after a while all the same. */
  async reached(cursor: number): Promise<void> {
    if (this.#cursor >= cursor) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.set(resolve, cursor);
    const cancelTimer = this.#clock.after(PATIENCE_MS, resolve);
    await promise;
    cancelTimer();
    this.#waiting.delete(resolve);
  }
}
