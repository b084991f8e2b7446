import type { Clock } from "../core/clock.ts";
import type { EngineLimits } from "./limits.ts";
import type { SessionRecord } from "./session-record.ts";

/** Says how long sessions live, by the monotonic clock: a jump of the wall clock ends none and saves none. */
export class SessionTimes {
  readonly #clock: Clock;
  readonly #limits: EngineLimits;

  constructor(clock: Clock, limits: EngineLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Bounds the time that is asked for; the server's default when none is. */
  toTtl(wantedMs = this.#limits.sessionTtlMs): number {
    return Math.min(wantedMs, this.#limits.maxSessionTtlMs);
  }

  /** Lets a session live for `ttlMs` from now. */
  renew(record: SessionRecord, ttlMs = record.ttlMs): void {
    record.usedAt = this.#clock.now();
    record.expiresAt = record.usedAt + this.toTtl(ttlMs);
  }

  /** Notes that a session is used, which lets it live longer if it extends itself. */
  touch(record: SessionRecord): void {
    record.usedAt = this.#clock.now();
    if (record.autoExtend) record.expiresAt = Math.max(record.expiresAt, record.usedAt + record.ttlMs);
  }

  /** Whether a session's time is over; never while a call holds it. */
  isOver(record: SessionRecord): boolean {
    return !record.leased && record.state === "active" && record.expiresAt <= this.#clock.now();
  }

  /** When the session ends if nothing renews it. */
  expiryDate(record: SessionRecord): Date {
    return this.#toDate(record.expiresAt);
  }

  /** When a session was used last. */
  activityDate(record: SessionRecord): Date {
    return this.#toDate(record.usedAt);
  }

  #toDate(at: number): Date {
    return new Date(this.#clock.date().getTime() + (at - this.#clock.now()));
  }
}
