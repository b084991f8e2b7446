import type { CancelSource } from "./deadline.ts";

/** Lets the calls of one session run one after another, first come first served. */
export class SerialQueue {
  #busy = false;
  readonly #waiting: (() => void)[] = [];
  /** Called once when the turn is free and nobody waits for it here. */
  onFree: (() => void) | undefined;

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

  /** Waits for the turn; `leave` must follow. Rejects with the wait's reason, and then there is nothing to leave. */
  enter(wait: CancelSource): Promise<void> {
    return new Promise((resolve, reject) => {
      if (wait.ended !== undefined) return reject(wait.ended);
      if (this.tryEnter()) return resolve();
      const start = () => {
        stopWaiting();
        resolve();
      };
      const stopWaiting = wait.onEnd(() => {
        this.#waiting.splice(this.#waiting.indexOf(start), 1);
        reject(wait.ended);
      });
      this.#waiting.push(start);
    });
  }

  /** Hands the turn to the next in line. */
  leave(): void {
    const next = this.#waiting.shift();
    if (next !== undefined) return next();
    this.#busy = false;
    const { onFree } = this;
    this.onFree = undefined;
    onFree?.();
  }
}
