import { ToolyardError } from "../../core/errors.ts";

/**
 * Follows a call's signal, save when the call's time is over: the kernel has the same deadline, and at its own it interrupts
 * the code and keeps the state, where an abort from outside may cost it.
 */
export class StopSignal implements Disposable {
  readonly #controller = new AbortController();
  readonly #source: AbortSignal;

  constructor(source: AbortSignal) {
    this.#source = source;
    if (source.aborted) this.#follow();
    else source.addEventListener("abort", this.#follow);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  [Symbol.dispose](): void {
    this.#source.removeEventListener("abort", this.#follow);
  }

  readonly #follow = (): void => {
    const { reason } = this.#source;
    if (!ToolyardError.is(reason) || reason.error !== "timeout") this.#controller.abort(reason);
  };
}
