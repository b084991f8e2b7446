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

  start(): void {
    this.#cancel = this.#clock.after(this.#intervalMs, () => {
      this.#sweep();
      this.start();
    });
  }

  stop(): void {
    this.#cancel?.();
  }
}
