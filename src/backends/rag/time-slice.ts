/** Lets others have the thread now and then during work that would hold it. */
export class TimeSlice {
  readonly #sliceMs: number;
  #started = performance.now();

  constructor(sliceMs = 12) {
    this.#sliceMs = sliceMs;
  }

  /** Yields when the slice is used up. @throws the signal's reason once it is aborted */
  async pause(signal?: AbortSignal): Promise<void> {
    if (performance.now() - this.#started >= this.#sliceMs) {
      await new Promise((resolve) => setImmediate(resolve));
      this.#started = performance.now();
    }
    signal?.throwIfAborted();
  }
}
