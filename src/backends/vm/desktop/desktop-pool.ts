import type { DesktopSpec } from "./provider.ts";
import type { ReadyDesktop } from "./ready-desktop.ts";

/** How a pool stands. */
export interface DesktopPoolReport {
  readonly ready: number;
  readonly starting: number;
  readonly target: number;
  /** Sessions that got a desktop from memory, and those that found none of theirs. */
  readonly claimed: number;
  readonly misses: number;
  /** Failures to start one, since the last success. */
  readonly failures: number;
}

export interface DesktopPoolOptions {
  readonly min: number;
  /** Started at once. */
  readonly parallel: number;
  /** What every member is. */
  readonly usual: DesktopSpec;
}

const AGAIN_MS = 1_000;
const LONGEST_AGAIN_MS = 60_000;

/** Desktops of one kind that show their first picture already, so that a session need not wait for it. */
export class DesktopPool {
  readonly #make: (spec: DesktopSpec, signal: AbortSignal) => Promise<ReadyDesktop>;
  readonly #options: DesktopPoolOptions;
  readonly #kind: string;
  readonly #members = new Set<ReadyDesktop>();
  readonly #starting = new Set<Promise<void>>();
  readonly #closing = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #isFilling = false;
  #claimed = 0;
  #misses = 0;
  #failures = 0;

  constructor(make: (spec: DesktopSpec, signal: AbortSignal) => Promise<ReadyDesktop>, options: DesktopPoolOptions) {
    this.#make = make;
    this.#options = options;
    this.#kind = kindOf(options.usual);
  }

  get report(): DesktopPoolReport {
    return {
      ready: this.#members.size,
      starting: this.#starting.size,
      target: this.#isFilling ? this.#options.min : 0,
      claimed: this.#claimed,
      misses: this.#misses,
      failures: this.#failures,
    };
  }

  /** Begins to hold desktops, and does not wait for them; idempotent. */
  fill(): void {
    this.#isFilling = true;
    this.#refill();
  }

  /** Takes a desktop that is alive; `undefined` where none of that kind is ready. Its place is filled again. */
  async claim(spec: DesktopSpec, signal: AbortSignal): Promise<ReadyDesktop | undefined> {
    if (kindOf(spec) !== this.#kind) return undefined;
    for (const member of this.#members) {
      this.#members.delete(member);
      // oxlint-disable-next-line no-await-in-loop -- the next only where this one is dead
      if (await isAlive(member, signal)) {
        this.#claimed += 1;
        this.#refill();
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
    await Promise.all(members.map(discard));
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
    try {
      const member = await this.#make(this.#options.usual, signal);
      this.#failures = 0;
      if (signal.aborted) return await discard(member);
      this.#members.add(member);
      void member.running.ended.then(() => {
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

/** Equal for desktops that can stand for one another: all but the owner. */
function kindOf({
  width,
  height,
  dpi,
  sandbox: { sessionId: _session, workerId: _worker, ...sandbox },
}: DesktopSpec): string {
  const { image, network, limits, environment } = sandbox;
  return JSON.stringify([width, height, dpi, image, network, Object.entries(limits ?? {}).toSorted(), environment]);
}

async function isAlive({ connection }: ReadyDesktop, signal: AbortSignal): Promise<boolean> {
  try {
    await connection.capture(signal, { x: 0, y: 0, width: 1, height: 1 });
    return true;
  } catch {
    signal.throwIfAborted();
    return false;
  }
}

async function discard({ connection, running }: ReadyDesktop): Promise<void> {
  connection.close();
  await running.stop();
}
