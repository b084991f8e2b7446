import { ToolyardError } from "../core/errors.ts";
import type { EngineLimits } from "./limits.ts";
import { type Caller, toWorkerKey } from "./session-table.ts";

/** The limits that the quota keeps. */
export type SessionLimits = Pick<
  EngineLimits,
  "maxSessions" | "maxSessionsPerTenant" | "maxSessionsPerWorker" | "sweepIntervalMs"
>;

/** Bounds how many sessions there are, in all, per tenant and per worker; those that are being made or cleaned up count. */
export class SessionQuota {
  readonly #limits: SessionLimits;
  readonly #tenants = new Map<string, number>();
  readonly #workers = new Map<string, number>();
  #total = 0;

  constructor(limits: SessionLimits) {
    this.#limits = limits;
  }

  /**
   * Counts one session more; `give` must follow.
   *
   * @throws ToolyardError overloaded, with the limit's name, and then nothing was counted.
   */
  take(caller: Caller): void {
    const { maxSessions, maxSessionsPerTenant, maxSessionsPerWorker } = this.#limits;
    const key = toWorkerKey(caller);
    const ofWorker = this.#workers.get(key) ?? 0;
    const ofTenant = this.#tenants.get(caller.tenant) ?? 0;
    if (ofWorker >= maxSessionsPerWorker) throw this.#refuse("max_sessions_per_worker", "The worker", ofWorker);
    if (ofTenant >= maxSessionsPerTenant) throw this.#refuse("max_sessions_per_tenant", "The tenant", ofTenant);
    if (this.#total >= maxSessions) throw this.#refuse("max_sessions", "The server", this.#total);
    this.#total += 1;
    this.#tenants.set(caller.tenant, ofTenant + 1);
    this.#workers.set(key, ofWorker + 1);
  }

  give(caller: Caller): void {
    this.#total -= 1;
    decrement(this.#tenants, caller.tenant);
    decrement(this.#workers, toWorkerKey(caller));
  }

  /** A session ends at a sweep, if not before: sooner than that there is nothing to hope for. */
  #refuse(limit: string, who: string, sessions: number): ToolyardError {
    const details = {
      limit,
      maximum: sessions,
      sessions,
      retry_after_ms: Math.max(1_000, this.#limits.sweepIntervalMs),
    };
    return new ToolyardError("overloaded", `${who} has ${sessions} sessions, as many as limits.${limit} allows`, {
      details,
      suggestion: "End sessions that are no longer needed, or send it again after Retry-After.",
    });
  }
}

function decrement(counts: Map<string, number>, key: string): void {
  const count = counts.get(key) ?? 0;
  if (count > 1) counts.set(key, count - 1);
  else counts.delete(key);
}
