import { ToolyardError } from "../core/errors.ts";

const RETRY_AFTER_MS = 1_000;

/**
 * Bounds the bytes of all request bodies that are held at once, from their arrival until their answer.
 *
 * A full queue of calls with large params would fill the memory long before it is long.
 */
export class BodyBudget {
  readonly #maximum: number;
  #held = 0;

  constructor(maximum: number) {
    this.#maximum = maximum;
  }

  get held(): number {
    return this.#held;
  }

  /** Finds out whether another `bytes` fit. */
  fits(bytes: number): boolean {
    return this.#held + bytes <= this.#maximum;
  }

  /** Counts bytes that have arrived; `give` must follow. */
  take(bytes: number): void {
    this.#held += bytes;
  }

  give(bytes: number): void {
    this.#held -= bytes;
  }

  /** What to answer when they do not fit. */
  refusal(): ToolyardError {
    return new ToolyardError("overloaded", `The server holds request bodies of ${this.#held} bytes`, {
      details: { limit: "body_bytes_in_flight", maximum: this.#maximum, retry_after_ms: RETRY_AFTER_MS },
    });
  }
}

/** One request's share of a {@link BodyBudget}. */
export class BodyShare {
  readonly #budget: BodyBudget;
  #bytes = 0;

  constructor(budget: BodyBudget) {
    this.#budget = budget;
  }

  /** Returns what to answer when a body that says how long it is cannot be taken in, before it is read. */
  expect(bytes: number): ToolyardError | undefined {
    return this.#budget.fits(bytes) ? undefined : this.#budget.refusal();
  }

  /** Counts bytes that arrived; returns what to answer when they are too many. */
  add(bytes: number): ToolyardError | undefined {
    if (!this.#budget.fits(bytes)) return this.#budget.refusal();
    this.#budget.take(bytes);
    this.#bytes += bytes;
    return undefined;
  }

  /** Gives all of it back, once the request is answered. */
  end(): void {
    this.#budget.give(this.#bytes);
    this.#bytes = 0;
  }
}
