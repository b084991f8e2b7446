import type { Clock } from "../../core/clock.ts";

/** What is shown at once, however much else is: what people and most programs write. */
const SMALL_BYTES = 4_096;
/** A quarter of what one core of a modest machine emulates. */
const BYTES_PER_MS = 1_300;

/**
 * Bounds what the terminals of all sessions show together, and so their part of the event loop: programs that flood their
 * terminals are shown more slowly, and what their sandboxes cannot keep meanwhile is left out.
 */
export class EmulationPace {
  readonly #clock: Clock;
  #freeAt = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Waits until output of this size may be shown, in turn. */
  async turn(bytes: number): Promise<void> {
    if (bytes <= SMALL_BYTES) return;
    const now = this.#clock.now();
    const waitMs = this.#freeAt - now;
    this.#freeAt = Math.max(this.#freeAt, now) + bytes / BYTES_PER_MS;
    if (waitMs > 0) await new Promise<void>((resolve) => this.#clock.after(waitMs, resolve));
  }
}
