import type { Clock } from "../core/clock.ts";

/** Runs a sweep again and again, each one interval after the last. */
export class Sweeper {
  readonly #clock: Clock;
  readonly #intervalMs: number;
  readonly #sweep: () => void;
  #cancel: (() => void) | undefined;

  constructor(clock: Clock, intervalMs: number, sweep: () => void) {
    this.#clock = clock;
    this.#intervalMs = intervalMs;
    this.#sweep = sweep;
  }

  /** Whether it runs. */
  get running(): boolean {
    return this.#cancel !== undefined;
  }

  /** Does nothing when it runs already. */
  start(): void {
    if (this.#cancel === undefined) this.#schedule();
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #schedule(): void {
    this.#cancel = this.#clock.after(this.#intervalMs, () => {
      this.#sweep();
      // The sweep may have stopped it.
      if (this.#cancel !== undefined) this.#schedule();
    });
  }
}
