/** Lets the calls of one session run one after another, first come first served. */
export class SerialQueue {
  #busy = false;
  readonly #waiting: { readonly start: () => void; readonly drop: (reason: unknown) => void }[] = [];

  /** How many wait for their turn. */
  get length(): number {
    return this.#waiting.length;
  }

  /** Takes the turn at once if it is free. */
  tryEnter(): boolean {
    if (this.#busy) return false;
    this.#busy = true;
    return true;
  }

  /** Waits for the turn; `leave` must follow. Rejects with the signal's reason, and then there is nothing to leave. */
  enter(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      if (this.tryEnter()) return resolve();
      const waiter = {
        start: () => {
          signal.removeEventListener("abort", drop);
          resolve();
        },
        drop: reject,
      };
      const drop = () => {
        this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
        reject(signal.reason);
      };
      signal.addEventListener("abort", drop, { once: true });
      this.#waiting.push(waiter);
    });
  }

  /** Hands the turn to the next in line. */
  leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#busy = false;
    else next.start();
  }
}
