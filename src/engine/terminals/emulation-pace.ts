import type { Clock } from "../../core/clock.ts";

/** What is shown at once, however much the server emulates: what people and most programs write. */
const SMALL_BYTES = 4_096;
/** For each millisecond of emulation, how many are left to everything else. */
const LEAVE = 3;

/**
 * Bounds the part of the event loop that terminals take together to a quarter: a program that floods its terminal is shown
 * more slowly, and what its sandbox cannot keep meanwhile is left out.
 */
export class EmulationPace {
  readonly #clock: Clock;
  #freeAt = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Waits until output of this size may be shown. */
  async turn(bytes: number): Promise<void> {
    const waitMs = this.#freeAt - this.#clock.now();
    if (bytes <= SMALL_BYTES || waitMs <= 0) return;
    await new Promise<void>((resolve) => this.#clock.after(waitMs, resolve));
  }

  /** Notes how long showing some took. */
  spent(ms: number): void {
    this.#freeAt = Math.max(this.#freeAt, this.#clock.now()) + ms * LEAVE;
  }
}
