import type { Clock } from "../../../core/clock.ts";
import { ToolyardError } from "../../../core/errors.ts";
import { pause } from "./pause.ts";

/** How often and how much at once something may be asked. */
export interface PaceOptions {
  readonly requests_per_second?: number | undefined;
  readonly burst: number;
  readonly concurrency: number;
}

interface Waiting {
  readonly enter: () => void;
}

/** Lets requests through one provider's limits, in the order in which they came. */
export class Pace {
  readonly #name: string;
  readonly #options: PaceOptions;
  readonly #maxWaitMs: number;
  readonly #clock: Clock;
  readonly #waiting = new Set<Waiting>();
  #running = 0;
  /** When a request would be due if all had come evenly. */
  #dueAt = Number.NEGATIVE_INFINITY;

  constructor(name: string, options: PaceOptions, maxWaitMs: number, clock: Clock) {
    this.#name = name;
    this.#options = options;
    this.#maxWaitMs = maxWaitMs;
    this.#clock = clock;
  }

  /** Runs work when its turn has come. @throws ToolyardError `rate_limited` when that would take too long. */
  async run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    await this.#enter(signal);
    try {
      await this.#keepPace(signal);
      return await work();
    } finally {
      this.#running -= 1;
      const [next] = this.#waiting;
      next?.enter();
    }
  }

  async #enter(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#running < this.#options.concurrency) {
      this.#running += 1;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const leave = () => {
        this.#waiting.delete(waiting);
        cancel();
        signal.removeEventListener("abort", abort);
      };
      const waiting = {
        enter: () => {
          leave();
          this.#running += 1;
          resolve();
        },
      };
      const abort = () => {
        leave();
        reject(signal.reason);
      };
      const cancel = this.#clock.after(this.#maxWaitMs, () => {
        leave();
        reject(this.#tooSlow(this.#maxWaitMs));
      });
      this.#waiting.add(waiting);
      signal.addEventListener("abort", abort, { once: true });
    });
  }

  async #keepPace(signal: AbortSignal): Promise<void> {
    const { requests_per_second: rate, burst } = this.#options;
    if (rate === undefined) return;
    const intervalMs = 1000 / rate;
    const now = this.#clock.now();
    const dueAt = Math.max(this.#dueAt, now);
    const waitMs = dueAt - (burst - 1) * intervalMs - now;
    if (waitMs > this.#maxWaitMs) throw this.#tooSlow(waitMs);
    this.#dueAt = dueAt + intervalMs;
    if (waitMs > 0) await pause(this.#clock, waitMs, signal);
  }

  #tooSlow(waitMs: number): ToolyardError {
    return new ToolyardError("rate_limited", `${this.#name} is asked as often as the config allows`, {
      details: { provider: this.#name, retry_after_ms: Math.ceil(waitMs) },
    });
  }
}
