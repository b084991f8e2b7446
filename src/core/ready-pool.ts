/** How a pool stands. */
export interface ReadyPoolReport {
  readonly ready: number;
  readonly starting: number;
  readonly target: number;
  /** Sessions that got one from memory, and those that found none of theirs. */
  readonly claimed: number;
  readonly misses: number;
  /** Failures to start one, since the last success. */
  readonly failures: number;
}

/** How a pool's members are made, told apart and ended. */
export interface ReadyPoolOptions<S, M> {
  readonly min: number;
  /** Started at once. */
  readonly parallel: number;
  /** What every member is. */
  readonly usual: S;
  readonly make: (spec: S, signal: AbortSignal) => Promise<M>;
  /** Equal for those that can stand for one another. */
  readonly kindOf: (spec: S) => string;
  readonly isAlive: (member: M, signal: AbortSignal) => Promise<boolean>;
  /** Settles when it has gone by itself. */
  readonly ended: (member: M) => Promise<unknown>;
  readonly discard: (member: M) => Promise<void>;
}

/** A session's first calls come before what nobody waits for. */
const REFILL_AFTER_MS = 250;
const AGAIN_MS = 1_000;
const LONGEST_AGAIN_MS = 60_000;

/** Things of one kind that are ready for use before anybody asks, so that a session need not wait for one. */
export class ReadyPool<S, M> {
  readonly #options: ReadyPoolOptions<S, M>;
  readonly #kind: string;
  readonly #members = new Set<M>();
  readonly #starting = new Set<Promise<void>>();
  readonly #closing = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #isFilling = false;
  #claimed = 0;
  #misses = 0;
  #failures = 0;

  constructor(options: ReadyPoolOptions<S, M>) {
    this.#options = options;
    this.#kind = options.kindOf(options.usual);
  }

  get report(): ReadyPoolReport {
    return {
      ready: this.#members.size,
      starting: this.#starting.size,
      target: this.#isFilling ? this.#options.min : 0,
      claimed: this.#claimed,
      misses: this.#misses,
      failures: this.#failures,
    };
  }

  /** Begins to hold some, and does not wait for them; idempotent. */
  fill(): void {
    this.#isFilling = true;
    this.#refill();
  }

  /** Takes one that is alive; `undefined` where none of that kind is ready. Its place is filled again. */
  async claim(spec: S, signal: AbortSignal): Promise<M | undefined> {
    const { kindOf, isAlive, discard } = this.#options;
    if (kindOf(spec) !== this.#kind) return undefined;
    for (const member of this.#members) {
      this.#members.delete(member);
      // oxlint-disable-next-line no-await-in-loop -- the next only where this one is dead
      if (await isAlive(member, signal)) {
        this.#claimed += 1;
        setTimeout(() => this.#refill(), REFILL_AFTER_MS).unref();
        return member;
      }
      void discard(member);
    }
    this.#misses += 1;
    this.#refill();
    return undefined;
  }

  /** Ends all that nobody claimed; idempotent. */
  async close(): Promise<void> {
    this.#closing.abort(new Error("the pool is closed"));
    clearTimeout(this.#timer);
    await Promise.allSettled(this.#starting);
    const members = [...this.#members];
    this.#members.clear();
    await Promise.all(members.map(this.#options.discard));
  }

  #refill(): void {
    if (!this.#isFilling || this.#timer !== undefined || this.#closing.signal.aborted) return;
    const { min, parallel } = this.#options;
    while (this.#members.size + this.#starting.size < min && this.#starting.size < parallel) {
      const start = this.#start().finally(() => {
        this.#starting.delete(start);
        this.#refill();
      });
      this.#starting.add(start);
    }
  }

  async #start(): Promise<void> {
    const { signal } = this.#closing;
    const { make, usual, ended, discard } = this.#options;
    try {
      const member = await make(usual, signal);
      this.#failures = 0;
      if (signal.aborted) return await discard(member);
      this.#members.add(member);
      void ended(member).then(() => {
        if (this.#members.delete(member)) this.#refill();
      });
    } catch {
      // Whoever needs one is told why; here it is tried again, ever more rarely.
      this.#failures += 1;
      if (signal.aborted || this.#timer !== undefined) return;
      const delayMs = Math.min(AGAIN_MS * 2 ** (this.#failures - 1), LONGEST_AGAIN_MS);
      this.#timer = setTimeout(() => {
        this.#timer = undefined;
        this.#refill();
      }, delayMs);
      this.#timer.unref();
    }
  }
}
