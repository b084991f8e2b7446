import { availableParallelism } from "node:os";

/** Lets a few sandboxes start at a time: more at once start no sooner, and keep the machine from everything else meanwhile. */
export class StartGate {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(width = availableParallelism() * 2) {
    this.#free = width;
  }

  /** Runs `start` once there is room; the signal ends the wait, with its reason. */
  async run<T>(signal: AbortSignal, start: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await this.#wait(signal);
    try {
      return await start();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }

  #wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const enter = () => {
        signal.removeEventListener("abort", leave);
        resolve();
      };
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(enter), 1);
        reject(signal.reason);
      };
      signal.addEventListener("abort", leave, { once: true });
      this.#waiting.push(enter);
    });
  }
}
