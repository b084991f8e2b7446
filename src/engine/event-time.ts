import type { Clock } from "../core/clock.ts";

/** Writes the time of events; most of a call's events fall into one millisecond, which is written once. */
export class EventTime {
  readonly #clock: Clock;
  #ms = Number.NaN;
  #ts = "";

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** ISO 8601, UTC. */
  now(): string {
    const date = this.#clock.date();
    const ms = date.getTime();
    if (ms !== this.#ms) {
      this.#ms = ms;
      this.#ts = date.toISOString();
    }
    return this.#ts;
  }
}
