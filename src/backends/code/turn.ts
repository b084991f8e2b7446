import { ToolyardError } from "../../core/errors.ts";

/** Lets work on one thing run one after another, first come first served. */
export class Turn {
  #last: Promise<void> = Promise.resolve();
  #held = 0;

  /** Whether work runs or waits. */
  get busy(): boolean {
    return this.#held > 0;
  }

  /**
   * Runs work when all that came before it is over.
   *
   * @throws the signal's reason when it fires while the work waits, which then never starts.
   */
  async run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const before = this.#last;
    const mine = Promise.withResolvers<void>();
    this.#last = before.then(() => mine.promise);
    this.#held += 1;
    try {
      if (this.#held > 1) await unlessAborted(before, signal);
      return await work();
    } finally {
      this.#held -= 1;
      mine.resolve();
    }
  }
}

async function unlessAborted(wait: Promise<void>, signal: AbortSignal): Promise<void> {
  const aborted = Promise.withResolvers<never>();
  const abort = () =>
    aborted.reject(
      ToolyardError.is(signal.reason) ? signal.reason : new ToolyardError("cancelled", "the call was cancelled"),
    );
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort, { once: true });
  try {
    await Promise.race([wait, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
