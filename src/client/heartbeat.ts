import type { Clock } from "../core/clock.ts";

export interface HeartbeatOptions {
  /** Milliseconds from the end of one beat to the next. */
  readonly intervalMs: number;
  readonly clock: Clock;
  /** Sends one beat; the signal is aborted by {@link Heartbeat.stop}. */
  readonly beat: (signal: AbortSignal) => Promise<unknown>;
  /** Told of each beat that failed; beating goes on. */
  readonly onFailure?: ((error: unknown) => void) | undefined;
}

/** Beats at an interval, one beat at a time, and never keeps the process alive. */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  #running: AbortController | undefined;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
  }

  /** Starts beating, the first beat after one interval; does nothing when it beats already. */
  start(): void {
    if (this.#running !== undefined) return;
    this.#running = new AbortController();
    this.#schedule(this.#running.signal);
  }

  /** Stops at once, a beat under way included. */
  stop(): void {
    this.#running?.abort();
    this.#running = undefined;
  }

  #schedule(signal: AbortSignal): void {
    const cancel = this.#options.clock.after(this.#options.intervalMs, () => {
      signal.removeEventListener("abort", cancel);
      void this.#beatOnce(signal);
    });
    signal.addEventListener("abort", cancel, { once: true });
  }

  async #beatOnce(signal: AbortSignal): Promise<void> {
    try {
      await this.#options.beat(signal);
    } catch (error) {
      if (!signal.aborted) this.#options.onFailure?.(error);
    }
    if (!signal.aborted) this.#schedule(signal);
  }
}
