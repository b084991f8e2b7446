/** Holds whoever waits until a test opens it, and tells the test who has come. */
export class Gate {
  readonly passed: Promise<void>;
  #pass: () => void = () => undefined;
  #arrivals = 0;
  readonly #waiting: { readonly count: number; readonly resolve: () => void }[] = [];

  constructor() {
    this.passed = new Promise((resolve) => (this.#pass = resolve));
  }

  static open(): Gate {
    const gate = new Gate();
    gate.open();
    return gate;
  }

  open(): void {
    this.#pass();
  }

  arrive(): void {
    this.#arrivals += 1;
    for (const { count, resolve } of this.#waiting) if (this.#arrivals >= count) resolve();
  }

  /** Resolves once `count` have arrived. */
  arrived(count = 1): Promise<void> {
    if (this.#arrivals >= count) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push({ count, resolve }));
  }

  passedOr(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      void this.passed.then(resolve);
    });
  }
}
