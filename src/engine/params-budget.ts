import { ToolyardError } from "../core/errors.ts";

const RETRY_AFTER_MS = 1_000;
/** About what a number, an object or the slot of an element takes beside the text. */
const VALUE_BYTES = 16;

/**
 * Bounds the params of calls that go on after their request was answered: jobs and streamed calls, which wait in the queue with
 * their params and are counted with no request.
 */
export class ParamsBudget {
  readonly #maximum: number;
  #held = 0;

  constructor(maximum: number) {
    this.#maximum = maximum;
  }

  get held(): number {
    return this.#held;
  }

  /**
   * Counts a call's params; returns what gives them back, once. A call alone always fits, or one that is too large would be told
   * for ever to come again.
   *
   * @throws ToolyardError overloaded, and then nothing was counted.
   */
  hold(params: Readonly<Record<string, unknown>>): () => void {
    let bytes = sizeOf(params);
    if (this.#held > 0 && this.#held + bytes > this.#maximum) throw this.#refusal();
    this.#held += bytes;
    return () => {
      this.#held -= bytes;
      bytes = 0;
    };
  }

  #refusal(): ToolyardError {
    return new ToolyardError("overloaded", `Jobs and streamed calls hold params of ${this.#held} bytes`, {
      details: { limit: "held_params_bytes", maximum: this.#maximum, retry_after_ms: RETRY_AFTER_MS },
    });
  }
}

/** About what JSON takes in memory. Written out it would be counted exactly, at the price of another copy of it. */
function sizeOf(value: unknown): number {
  if (typeof value === "string") return VALUE_BYTES + value.length;
  if (typeof value !== "object" || value === null) return VALUE_BYTES;
  let bytes = VALUE_BYTES;
  if (Array.isArray(value)) for (const inner of value) bytes += sizeOf(inner);
  else for (const [key, inner] of Object.entries(value)) bytes += key.length + sizeOf(inner);
  return bytes;
}
