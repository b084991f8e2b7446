import type { Clock } from "../../src/core/clock.ts";

interface Timer {
  readonly at: number;
  readonly callback: () => void;
}

/** A clock that moves only when a test says so. */
export class ManualClock implements Clock {
  #now = 0;
  #wall = Date.UTC(2026, 0, 1);
  readonly #timers = new Set<Timer>();

  now(): number {
    return this.#now;
  }

  date(): Date {
    return new Date(this.#wall);
  }

  after(delayMs: number, callback: () => void): () => void {
    const timer = { at: this.#now + delayMs, callback };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** How many timers wait. */
  get pending(): number {
    return this.#timers.size;
  }

  /** Moves both clocks on and fires what is due, in order; lets promises settle between timers. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    for (;;) {
      await settle();
      const [next] = [...this.#timers].filter((timer) => timer.at <= end).toSorted((left, right) => left.at - right.at);
      if (next === undefined) break;
      this.#timers.delete(next);
      this.#wall += next.at - this.#now;
      this.#now = next.at;
      next.callback();
    }
    this.#wall += end - this.#now;
    this.#now = end;
    await settle();
  }

  /** Moves both clocks on and fires nothing, as if the timers were late. */
  skip(ms: number): void {
    this.#now += ms;
    this.#wall += ms;
  }

  /** Moves the wall clock alone, as an operator or NTP would. */
  jumpWall(ms: number): void {
    this.#wall += ms;
  }
}

/** Lets everything that waits for no timer and no I/O run. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
