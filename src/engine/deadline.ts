import type { Clock } from "../core/clock.ts";
import { ToolyardError } from "../core/errors.ts";

/** Writes a span as people read it: `250 ms`, `1.5 s`. */
export function formatDuration(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${Number((ms / 1000).toFixed(3))} s`;
}

/** Something that may end before the work that depends on it: a client's connection, a parent call. */
export interface CancelSource {
  /** Why it ended; `undefined` while it lasts. */
  readonly ended: ToolyardError | undefined;
  /** Runs `callback` when it ends, and returns a function that takes that back. */
  onEnd(callback: () => void): () => void;
}

/** Sees an abort signal as a {@link CancelSource}. */
export function fromSignal(signal: AbortSignal): CancelSource {
  return {
    get ended() {
      return signal.aborted ? toAbortError(signal.reason) : undefined;
    },
    onEnd(callback) {
      signal.addEventListener("abort", callback, { once: true });
      return () => signal.removeEventListener("abort", callback);
    },
  };
}

/** A {@link CancelSource} that ends on its owner's word alone; the first reason stays. */
export class Cancellation implements CancelSource {
  #ended: ToolyardError | undefined;
  // Nearly always one waits at a time, and a set for each call would cost more than all else here.
  #callback: (() => void) | undefined;
  #further: Set<() => void> | undefined;

  get ended(): ToolyardError | undefined {
    return this.#ended;
  }

  onEnd(callback: () => void): () => void {
    if (this.#callback === undefined) {
      this.#callback = callback;
      return () => {
        if (this.#callback === callback) this.#callback = undefined;
      };
    }
    this.#further ??= new Set();
    this.#further.add(callback);
    return () => this.#further?.delete(callback);
  }

  cancel(reason: ToolyardError): void {
    if (this.#ended !== undefined) return;
    this.#ended = reason;
    this.#callback?.();
    for (const callback of this.#further ?? []) callback();
  }
}

/**
 * Ends a piece of work: on its own timeout, with its parent, or when it is cancelled.
 *
 * Most calls end before anyone waits for their end or asks for a signal, so timer and signal are made only then.
 */
export class Deadline extends Cancellation {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #what: string;
  readonly #endsAt: number;
  #cancelTimer: (() => void) | undefined;
  #leaveParent: (() => void) | undefined;
  #closed = false;
  #controller: AbortController | undefined;

  constructor(clock: Clock, timeoutMs: number, what: string, parent?: CancelSource) {
    super();
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
    this.#what = what;
    this.#endsAt = clock.now() + timeoutMs;
    if (parent !== undefined) this.#follow(parent);
  }

  /** Milliseconds until the timeout; 0 once it is over. */
  get timeLeftMs(): number {
    return this.ended === undefined ? Math.max(0, this.#endsAt - this.#clock.now()) : 0;
  }

  /** Aborted when the work must end, with the same reason as `ended`. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.ended !== undefined) this.#controller.abort(this.ended);
      else this.#arm();
    }
    return this.#controller.signal;
  }

  override onEnd(callback: () => void): () => void {
    this.#arm();
    return super.onEnd(callback);
  }

  override cancel(reason: ToolyardError): void {
    if (this.ended !== undefined) return;
    this.close();
    super.cancel(reason);
    this.#controller?.abort(reason);
  }

  /** Lets go of the timer and the parent once the work is over. */
  close(): void {
    this.#closed = true;
    this.#cancelTimer?.();
    this.#leaveParent?.();
    this.#cancelTimer = this.#leaveParent = undefined;
  }

  /** From here on the time is watched; until then nobody would have been told of its end. */
  #arm(): void {
    if (this.#closed || this.#cancelTimer !== undefined) return;
    this.#cancelTimer = this.#clock.after(Math.max(0, this.#endsAt - this.#clock.now()), () => {
      const timeout = this.#timeoutMs;
      this.cancel(
        new ToolyardError("timeout", `${this.#what} timed out after ${formatDuration(timeout)}`, {
          details: { limit: "timeout", timeout: timeout / 1000, timeout_ms: timeout },
        }),
      );
    });
  }

  #follow(parent: CancelSource): void {
    const end = () => this.cancel(parent.ended ?? toAbortError(undefined));
    if (parent.ended !== undefined) end();
    else this.#leaveParent = parent.onEnd(end);
  }
}

/** Turns any abort reason into one that can be answered. */
export function toAbortError(reason: unknown): ToolyardError {
  return ToolyardError.is(reason)
    ? reason
    : new ToolyardError("cancelled", "The call was cancelled", { cause: reason });
}

/** Waits for `work`, but no longer than until `source` ends; then rejects with its reason. */
export function untilEnded<T>(work: PromiseLike<T>, source: CancelSource): Promise<T> {
  return new Promise((resolve, reject) => {
    if (source.ended !== undefined) reject(source.ended);
    const release = source.onEnd(() => reject(source.ended));
    work.then(
      (value) => {
        release();
        resolve(value);
      },
      (error: unknown) => {
        release();
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
