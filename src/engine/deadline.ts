import type { Clock } from "../core/clock.ts";
import { ToolyardError } from "../core/errors.ts";

/** Writes a span as people read it: `250 ms`, `1.5 s`. */
export function formatDuration(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${Number((ms / 1000).toFixed(3))} s`;
}

/**
 * One signal that ends a piece of work: on its own timeout, with its parent, or when it is cancelled.
 *
 * The signal's reason is always a {@link ToolyardError}, ready to be answered.
 */
export class Deadline {
  readonly #controller = new AbortController();
  readonly #release: (() => void)[] = [];
  /** The clock's time at which it ends. */
  readonly endsAt: number;

  constructor(clock: Clock, timeoutMs: number, what: string, parent?: AbortSignal) {
    this.endsAt = clock.now() + timeoutMs;
    this.#release.push(
      clock.after(timeoutMs, () => {
        this.cancel(
          new ToolyardError("timeout", `${what} timed out after ${formatDuration(timeoutMs)}`, {
            details: { limit: "timeout", timeout: timeoutMs / 1000 },
          }),
        );
      }),
    );
    if (parent !== undefined) this.follow(parent);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Ends the work when `parent` does. */
  follow(parent: AbortSignal): void {
    const end = () => this.cancel(toAbortError(parent.reason));
    if (parent.aborted) return end();
    parent.addEventListener("abort", end, { once: true });
    this.#release.push(() => parent.removeEventListener("abort", end));
  }

  /** Ends the work now; the first reason stays. */
  cancel(reason: ToolyardError): void {
    this.#controller.abort(reason);
    this.close();
  }

  /** Lets go of the timer and the parent once the work is over. */
  close(): void {
    for (const release of this.#release.splice(0)) release();
  }
}

/** Turns any abort reason into one that can be answered. */
export function toAbortError(reason: unknown): ToolyardError {
  return ToolyardError.is(reason)
    ? reason
    : new ToolyardError("cancelled", "The call was cancelled", { cause: reason });
}

/** Waits for `work`, but no longer than until `signal` aborts. */
export function untilAborted<T>(work: PromiseLike<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
    work.then(
      (value) => {
        signal.removeEventListener("abort", abort);
        resolve(value);
      },
      (error: unknown) => {
        signal.removeEventListener("abort", abort);
        reject(error);
      },
    );
  });
}

/** Waits for `work` to settle, whatever to, at most `ms`; tells whether it did. */
export function settlesWithin(clock: Clock, work: PromiseLike<unknown>, ms: number): Promise<boolean> {
  return new Promise((resolve) => {
    const cancel = clock.after(ms, () => resolve(false));
    const settled = () => {
      cancel();
      resolve(true);
    };
    work.then(settled, settled);
  });
}
