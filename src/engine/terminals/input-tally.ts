import type { Clock } from "../../core/clock.ts";
import type { Actor } from "../../core/events.ts";

/** How long input is counted before it is told. */
const WINDOW_MS = 1_000;

/** Counts who typed how much, so that a key stroke is not an event of its own. */
export class InputTally {
  readonly #clock: Clock;
  readonly #tell: (terminalId: string, actor: Actor, bytes: number) => void;
  readonly #counts = new Map<string, { readonly terminalId: string; readonly actor: Actor; bytes: number }>();
  #cancelTimer: (() => void) | undefined;

  constructor(clock: Clock, tell: (terminalId: string, actor: Actor, bytes: number) => void) {
    this.#clock = clock;
    this.#tell = tell;
  }

  add(terminalId: string, actor: Actor, bytes: number): void {
    const key = `${terminalId} ${actor}`;
    const count = this.#counts.get(key) ?? { terminalId, actor, bytes: 0 };
    this.#counts.set(key, count);
    count.bytes += bytes;
    this.#cancelTimer ??= this.#clock.after(WINDOW_MS, () => this.flush());
  }

  /** Tells what was counted so far. */
  flush(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    const counts = [...this.#counts.values()];
    this.#counts.clear();
    for (const { terminalId, actor, bytes } of counts) this.#tell(terminalId, actor, bytes);
  }
}
