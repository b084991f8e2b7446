/** Lets others have the thread now and then during work that would hold it. */
export class TimeSlice {
  readonly #sliceMs: number;
  readonly #signal: AbortSignal | undefined;
  #started = performance.now();

  /** @param signal ends all work that pauses here */
  constructor(signal?: AbortSignal, sliceMs = 12) {
    this.#signal = signal;
    this.#sliceMs = sliceMs;
  }

  /** Yields when the slice is used up. @throws a signal's reason once it is aborted */
  async pause(signal = this.#signal): Promise<void> {
    if (performance.now() - this.#started >= this.#sliceMs) {
      await new Promise((resolve) => setImmediate(resolve));
      this.#started = performance.now();
    }
    signal?.throwIfAborted();
  }
}
