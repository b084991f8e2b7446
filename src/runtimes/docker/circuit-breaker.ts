import type { Clock } from "../../core/clock.ts";

/** How a circuit breaker is built. */
export interface CircuitOptions {
  readonly clock: Clock;
  /** Failures in a row that open it. */
  readonly failures?: number;
  /** Milliseconds until the first probe after it opened; doubled by each probe that fails. */
  readonly openMs?: number;
  readonly maxOpenMs?: number;
}

/** Whether a call may go through: `probe` asks the caller to look first whether the other side answers again. */
export type Admission = "go" | "probe" | "refuse";

/** Keeps calls from a side that does not answer, so that each costs nothing rather than its whole deadline. */
export class CircuitBreaker {
  readonly #clock: Clock;
  readonly #failuresAllowed: number;
  readonly #openMs: number;
  readonly #maxOpenMs: number;
  #failures = 0;
  #probeAt = 0;
  #delayMs: number;
  #reason: string | undefined;

  constructor({ clock, failures = 3, openMs = 1_000, maxOpenMs = 15_000 }: CircuitOptions) {
    this.#clock = clock;
    this.#failuresAllowed = failures;
    this.#openMs = openMs;
    this.#maxOpenMs = maxOpenMs;
    this.#delayMs = openMs;
  }

  /** Why it is open; `undefined` while it is closed. */
  get reason(): string | undefined {
    return this.#failures >= this.#failuresAllowed ? this.#reason : undefined;
  }

  admit(): Admission {
    if (this.#failures < this.#failuresAllowed) return "go";
    return this.#clock.now() >= this.#probeAt ? "probe" : "refuse";
  }

  succeeded(): void {
    this.#failures = 0;
    this.#delayMs = this.#openMs;
    this.#reason = undefined;
  }

  /** Counts a call that got no answer; one that was answered with an error is a success here. */
  failed(reason: string): void {
    const wasOpen = this.#failures >= this.#failuresAllowed;
    this.#failures += 1;
    this.#reason = reason;
    if (this.#failures < this.#failuresAllowed) return;
    // Calls that were under way when it opened say nothing new.
    if (wasOpen && this.#clock.now() < this.#probeAt) return;
    this.#probeAt = this.#clock.now() + this.#delayMs;
    this.#delayMs = Math.min(this.#delayMs * 2, this.#maxOpenMs);
  }
}
