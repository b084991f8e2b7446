import type { Clock } from "../core/clock.ts";

/**
 * Wall-clock milliseconds for what is stored: read once, then moved by the monotonic clock.
 *
 * So a jump of the wall clock while the server runs neither forgets nor ends anything.
 */
export class SteadyTime {
  readonly #clock: Clock;
  readonly #offsetMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#offsetMs = clock.date().getTime() - clock.now();
  }

  now(): number {
    return Math.round(this.#clock.now() + this.#offsetMs);
  }
}
