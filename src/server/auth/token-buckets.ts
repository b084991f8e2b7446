import type { Clock } from "../../core/clock.ts";

/** How fast, and how many at once. */
export interface RateLimit {
  readonly requestsPerMinute: number;
  /** Requests that may come at once after a pause. */
  readonly burst: number;
}

interface Bucket {
  tokens: number;
  at: number;
}

/** Buckets that are remembered; beyond it, the full ones go first, then the oldest. */
const MAX_BUCKETS = 10_000;

/** Lets each name do so much per minute. */
export class TokenBuckets {
  readonly limit: RateLimit;
  readonly #clock: Clock;
  readonly #buckets = new Map<string, Bucket>();
  readonly #perMs: number;

  constructor(limit: RateLimit, clock: Clock) {
    this.limit = limit;
    this.#clock = clock;
    this.#perMs = limit.requestsPerMinute / 60_000;
  }

  get size(): number {
    return this.#buckets.size;
  }

  /** Takes one token; returns 0, or the milliseconds until there is one again. */
  take(name: string): number {
    const now = this.#clock.now();
    const bucket = this.#buckets.get(name) ?? this.#add(name, now);
    bucket.tokens = this.#refilled(bucket, now);
    bucket.at = now;
    if (bucket.tokens < 1) return Math.ceil((1 - bucket.tokens) / this.#perMs);
    bucket.tokens -= 1;
    return 0;
  }

  #refilled({ tokens, at }: Bucket, now: number): number {
    return Math.min(this.limit.burst, tokens + (now - at) * this.#perMs);
  }

  #add(name: string, now: number): Bucket {
    if (this.#buckets.size >= MAX_BUCKETS) this.#makeRoom(now);
    const bucket = { tokens: this.limit.burst, at: now };
    this.#buckets.set(name, bucket);
    return bucket;
  }

  /** Goes through all of them rarely: a tenth is free afterwards. */
  #makeRoom(now: number): void {
    for (const [name, bucket] of this.#buckets) {
      if (this.#refilled(bucket, now) >= this.limit.burst) this.#buckets.delete(name);
    }
    for (const name of this.#buckets.keys()) {
      if (this.#buckets.size <= MAX_BUCKETS * 0.9) return;
      this.#buckets.delete(name);
    }
  }
}
