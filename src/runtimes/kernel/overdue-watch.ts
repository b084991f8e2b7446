// Between two looks at one that is excused.
const LOOK_AGAIN_MS = 20;

/** Says, from the moment on at which it was asked for, whether the other side would answer but for what else the machine does. */
export type Excuse = () => boolean;

/** What a watch is built with. */
export interface OverdueOptions {
  /** Milliseconds from the deadline until what has not ended counts as overdue. */
  readonly graceMs: number;
  /** Asked for at the deadline, and then whenever the execution would count as overdue. */
  readonly excuse?: () => Excuse;
  /** Called at most once between a start and a stop. */
  readonly onOverdue: () => void;
}

/** Waits for the end of one execution, up to its deadline and the grace after it. */
export class OverdueWatch {
  readonly #options: OverdueOptions;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: OverdueOptions) {
    this.#options = options;
  }

  /** Starts it, or starts it again with another deadline. */
  start(deadlineMs: number): void {
    this.#wait(deadlineMs, () => {
      const excuse = this.#options.excuse?.();
      const look = () => {
        if (excuse?.() === true) this.#wait(LOOK_AGAIN_MS, look);
        else this.#options.onOverdue();
      };
      this.#wait(this.#options.graceMs, look);
    });
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #wait(delayMs: number, then: () => void): void {
    this.stop();
    const timer = setTimeout(() => {
      // After a loop that was held, timers come first: what the other side had said meanwhile is read before it counts as silent.
      setImmediate(() => {
        if (this.#timer === timer) then();
      });
    }, delayMs);
    this.#timer = timer;
  }
}
