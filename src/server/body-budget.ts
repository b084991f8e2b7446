import type { ToolyardError } from "../core/errors.ts";
import { ByteBudget } from "../engine/byte-budget.ts";

/**
 * Bounds the bytes of all request bodies that are held at once, from their arrival until their answer: a full queue of calls with
 * large params would fill the memory long before it is long.
 */
export function createBodyBudget(maximum: number): ByteBudget {
  return new ByteBudget("body_bytes_in_flight", maximum, "The server holds request bodies");
}

/** One request's share of a {@link createBodyBudget}. */
export class BodyShare {
  readonly #budget: ByteBudget;
  #bytes = 0;

  constructor(budget: ByteBudget) {
    this.#budget = budget;
  }

  /** What has arrived of the body. */
  get bytes(): number {
    return this.#bytes;
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
