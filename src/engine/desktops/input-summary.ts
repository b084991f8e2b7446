import type { Clock } from "../../core/clock.ts";
import type { InputCounts } from "../../core/desktop.ts";
import type { Actor } from "../../core/events.ts";

/** How long input is counted before it is told. */
const WINDOW_MS = 1_000;

const NONE: InputCounts = { keys: 0, clicks: 0, scrolls: 0, moves: 0, clipboard: 0, resizes: 0 };

type Counted = { -readonly [K in keyof InputCounts]: number };

/** Counts what viewers do at a desktop, so that a movement of the mouse is not an event of its own. */
export class InputSummary {
  readonly #clock: Clock;
  readonly #tell: (actor: Actor, counts: InputCounts) => void;
  readonly #counts = new Map<Actor, Counted>();
  #cancelTimer: (() => void) | undefined;

  constructor(clock: Clock, tell: (actor: Actor, counts: InputCounts) => void) {
    this.#clock = clock;
    this.#tell = tell;
  }

  add(actor: Actor, kind: keyof InputCounts): void {
    const counts = this.#counts.get(actor) ?? { ...NONE };
    this.#counts.set(actor, counts);
    counts[kind] += 1;
    this.#cancelTimer ??= this.#clock.after(WINDOW_MS, () => this.flush());
  }

  /** Tells what was counted so far. */
  flush(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    const counts = [...this.#counts];
    this.#counts.clear();
    for (const [actor, counted] of counts) this.#tell(actor, counted);
  }
}
