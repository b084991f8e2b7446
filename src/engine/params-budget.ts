import { ByteBudget } from "./byte-budget.ts";
import type { HeldBytes } from "./held-bytes.ts";
import type { Caller } from "./session-table.ts";

/** About what a number, an object or the slot of an element takes beside the text. */
const VALUE_BYTES = 16;

/**
 * Bounds the params of calls that go on after their request was answered: jobs and streamed calls, which wait in the queue with
 * their params and are counted with no request.
 */
export class ParamsBudget {
  readonly #bytes: ByteBudget;
  readonly #ofCallers: HeldBytes;

  constructor(maximum: number, ofCallers: HeldBytes) {
    this.#ofCallers = ofCallers;
    this.#bytes = new ByteBudget("held_params_bytes", maximum, "Jobs and streamed calls hold params");
  }

  get held(): number {
    return this.#bytes.held;
  }

  /**
   * Counts a call's params; returns what gives them back, once. A call alone always fits, or one that is too large would be told
   * for ever to come again.
   *
   * @throws ToolyardError overloaded, and then nothing was counted.
   */
  hold(caller: Caller, params: Readonly<Record<string, unknown>>): () => void {
    let bytes = sizeOf(params);
    if (this.held > 0 && !this.#bytes.fits(bytes)) throw this.#bytes.refusal();
    const release = this.#ofCallers.hold(caller, bytes);
    this.#bytes.take(bytes);
    return () => {
      release?.();
      this.#bytes.give(bytes);
      bytes = 0;
    };
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
