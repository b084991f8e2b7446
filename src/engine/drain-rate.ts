/** How far back the measure looks, in time during which somebody waited. */
const WINDOW_MS = 5_000;

const MIN_RETRY_MS = 1_000;
const MAX_RETRY_MS = 60_000;

/**
 * Measures how fast a queue drains: an exponentially weighted rate of completions.
 *
 * Only the time during which somebody waits counts. An idle hour says nothing about how fast a full queue would empty.
 */
export class DrainRate {
  #completions = 0;
  #weightMs = 0;
  #last = 0;

  /** The queue was empty until now. */
  begin(now: number): void {
    this.#last = now;
  }

  /** A call ended while others waited. */
  add(now: number): void {
    this.#age(now);
    this.#completions += 1;
  }

  /** What was measured last; 0 before the first completion under load. */
  perSecond(): number {
    return this.#weightMs === 0 ? 0 : (this.#completions / this.#weightMs) * 1000;
  }

  /** Guesses how long `count` calls take to drain, between 1 and 60 s. */
  retryAfterMs(count: number, now: number): number {
    this.#age(now);
    // Before the first completion nothing is known but how long it has not come.
    const ms = this.#completions === 0 ? this.#weightMs : (count * this.#weightMs) / this.#completions;
    return Math.round(Math.min(Math.max(ms, MIN_RETRY_MS), MAX_RETRY_MS));
  }

  #age(now: number): void {
    const kept = Math.exp((this.#last - now) / WINDOW_MS);
    this.#completions *= kept;
    this.#weightMs = this.#weightMs * kept + WINDOW_MS * (1 - kept);
    this.#last = now;
  }
}
