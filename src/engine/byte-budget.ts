import { ToolyardError } from "../core/errors.ts";

const RETRY_AFTER_MS = 1_000;

/** Counts bytes that are held at once against a limit of the config's. */
export class ByteBudget {
  readonly #limit: string;
  readonly #maximum: number;
  readonly #holder: string;
  #held = 0;

  /** `limit` is the limit's name in the config, `holder` says in the refusal who holds what: "Jobs hold params". */
  constructor(limit: string, maximum: number, holder: string) {
    this.#limit = limit;
    this.#maximum = maximum;
    this.#holder = holder;
  }

  get held(): number {
    return this.#held;
  }

  /** Finds out whether another `bytes` fit. */
  fits(bytes: number): boolean {
    return this.#held + bytes <= this.#maximum;
  }

  /** Counts bytes, whether or not they fit; `give` must follow. */
  take(bytes: number): void {
    this.#held += bytes;
  }

  give(bytes: number): void {
    this.#held -= bytes;
  }

  /** What to answer when they do not fit. */
  refusal(): ToolyardError {
    return new ToolyardError("overloaded", `${this.#holder} of ${this.#held} bytes`, {
      details: { limit: this.#limit, maximum: this.#maximum, retry_after_ms: RETRY_AFTER_MS },
    });
  }
}
