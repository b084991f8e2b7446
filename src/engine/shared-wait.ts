import type { Clock } from "../core/clock.ts";
import { Cancellation, type CancelSource } from "./deadline.ts";

/**
 * The wait of everyone who sent the same call: it ends once all of them have gone and none has come back within a grace.
 *
 * A client whose connection broke is back within moments under the same key, and must find its call running.
 */
export class SharedWait extends Cancellation {
  readonly #clock: Clock;
  readonly #graceMs: number;
  readonly #release: (() => void)[] = [];
  #waiting = 0;
  #cancelTimer: (() => void) | undefined;

  constructor(clock: Clock, graceMs: number) {
    super();
    this.#clock = clock;
    this.#graceMs = graceMs;
  }

  /** Adds one who waits; without a source it never goes away. */
  join(source: CancelSource | undefined): void {
    this.#waiting += 1;
    this.#cancelTimer?.();
    if (source === undefined) return;
    if (source.ended !== undefined) this.#leave(source);
    else this.#release.push(source.onEnd(() => this.#leave(source)));
  }

  /** Lets go of timers and sources once the call is over. */
  close(): void {
    this.#cancelTimer?.();
    for (const release of this.#release.splice(0)) release();
  }

  #leave(source: CancelSource): void {
    this.#waiting -= 1;
    if (this.#waiting > 0) return;
    this.#cancelTimer = this.#clock.after(this.#graceMs, () => {
      if (source.ended !== undefined) this.cancel(source.ended);
    });
  }
}
