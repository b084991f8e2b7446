import type { Clock } from "../../../core/clock.ts";

/** How much is kept, and for how long. */
export interface ResultCacheOptions {
  readonly ttlMs: number;
  readonly maxBytes: number;
  readonly clock: Clock;
}

interface Kept<T> {
  readonly value: T;
  readonly expiresAt: number;
  readonly bytes: number;
}

interface UnderWay<T> {
  readonly promise: Promise<T>;
  readonly controller: AbortController;
  waiting: number;
}

/** Keeps answers by their question for a time, the least recently used going first; the same question is asked once at a time. */
export class ResultCache<T> {
  readonly #options: ResultCacheOptions;
  readonly #kept = new Map<string, Kept<T>>();
  readonly #underWay = new Map<string, UnderWay<T>>();
  #bytes = 0;

  constructor(options: ResultCacheOptions) {
    this.#options = options;
  }

  /** What is kept for a question. */
  get(key: string): T | undefined {
    const kept = this.#kept.get(key);
    if (kept === undefined) return undefined;
    this.#drop(key, kept);
    if (kept.expiresAt <= this.#options.clock.now()) return undefined;
    this.#kept.set(key, kept);
    this.#bytes += kept.bytes;
    return kept.value;
  }

  /**
   * Asks, together with whoever asks the same now, and keeps the answer. The work's signal fires when nobody waits any more.
   *
   * @throws the signal's reason, and whatever the work throws, which is not kept.
   */
  async ask(key: string, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    const shared = this.#underWay.get(key) ?? this.#start(key, work);
    shared.waiting += 1;
    const left = Promise.withResolvers<never>();
    const abort = () => left.reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    try {
      return await Promise.race([shared.promise, left.promise]);
    } finally {
      signal.removeEventListener("abort", abort);
      shared.waiting -= 1;
      if (shared.waiting === 0) {
        shared.controller.abort(signal.reason);
        if (this.#underWay.get(key) === shared) this.#underWay.delete(key);
      }
    }
  }

  /** Keeps the answer to a question. */
  keep(key: string, value: T): void {
    const { ttlMs, maxBytes, clock } = this.#options;
    const bytes = Buffer.byteLength(key) + Buffer.byteLength(JSON.stringify(value) ?? "");
    if (ttlMs === 0 || bytes > maxBytes) return;
    const before = this.#kept.get(key);
    if (before !== undefined) this.#drop(key, before);
    this.#kept.set(key, { value, bytes, expiresAt: clock.now() + ttlMs });
    this.#bytes += bytes;
    for (const [oldest, kept] of this.#kept) {
      if (this.#bytes <= maxBytes) break;
      this.#drop(oldest, kept);
    }
  }

  #start(key: string, work: (signal: AbortSignal) => Promise<T>): UnderWay<T> {
    const controller = new AbortController();
    const promise = work(controller.signal).then((value) => {
      this.keep(key, value);
      return value;
    });
    // Each of those who wait hears of it; when all have left, nobody does.
    promise.catch(() => undefined);
    const shared = { promise, controller, waiting: 0 };
    this.#underWay.set(key, shared);
    return shared;
  }

  #drop(key: string, { bytes }: Kept<T>): void {
    this.#kept.delete(key);
    this.#bytes -= bytes;
  }
}
