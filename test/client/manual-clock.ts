import type { Clock } from "../../src/core/clock.ts";

/** A clock that stands still until it is told to move. */
export class ManualClock implements Clock {
  #now = 0;
  readonly #timers = new Set<{ at: number; callback: () => void }>();

  now(): number {
    return this.#now;
  }

  date(): Date {
    return new Date(this.#now);
  }

  after(delayMs: number, callback: () => void): () => void {
    const timer = { at: this.#now + delayMs, callback };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  get waiting(): number {
    return this.#timers.size;
  }

  /** Moves on, fires what is due and lets what follows settle. */
  async advance(byMs: number): Promise<void> {
    this.#now += byMs;
    for (const timer of [...this.#timers]) {
      if (timer.at > this.#now) continue;
      this.#timers.delete(timer);
      timer.callback();
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
}
