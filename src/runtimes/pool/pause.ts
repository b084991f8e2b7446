import type { Clock } from "../../core/clock.ts";

const FIRST_MS = 1_000;
const LONGEST_MS = 60_000;

/** Holds work back after failures, twice as long after each. */
export class FailurePause {
  readonly #clock: Clock;
  readonly #onOver: () => void;
  #failures = 0;
  #until = Number.NEGATIVE_INFINITY;
  #cancel: () => void = () => undefined;

  /** `onOver` is called each time a pause is over. */
  constructor(clock: Clock, onOver: () => void) {
    this.#clock = clock;
    this.#onOver = onOver;
  }

  get failures(): number {
    return this.#failures;
  }

  get holds(): boolean {
    return this.#clock.now() < this.#until;
  }

  fail(): void {
    // What fails at once, started before the first failure was known, is one failure.
    if (this.holds) return;
    const delayMs = Math.min(FIRST_MS * 2 ** this.#failures, LONGEST_MS);
    this.#failures += 1;
    this.#until = this.#clock.now() + delayMs;
    this.#cancel = this.#clock.after(delayMs, this.#onOver);
  }

  /** Forgets failures that are long ago. */
  forget(): void {
    if (this.#clock.now() - this.#until > LONGEST_MS) this.lift();
  }

  /** Forgets the failures: it works again. */
  lift(): void {
    this.#failures = 0;
    this.#until = Number.NEGATIVE_INFINITY;
    this.#cancel();
  }
}
