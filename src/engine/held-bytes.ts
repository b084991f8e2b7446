import { ToolyardError } from "../core/errors.ts";
import type { EngineLimits } from "./limits.ts";
import { type Caller, toWorkerKey } from "./session-table.ts";

export type HeldBytesLimits = Pick<EngineLimits, "heldBytesPerWorker" | "heldBytesPerTenant">;

/** How many small ones there may be is bounded by the number of calls alone. */
const COUNTED_FROM = 16_384;
const RETRY_AFTER_MS = 1_000;

/** Bounds the memory that the calls of one worker, and of one tenant, hold for their params from their arrival to their end. */
export class HeldBytes {
  readonly #limits: HeldBytesLimits;
  readonly #workers = new Map<string, number>();
  readonly #tenants = new Map<string, number>();

  constructor(limits: HeldBytesLimits) {
    this.#limits = limits;
  }

  /**
   * Counts what a call holds; returns what gives it back, once, or `undefined` for what is too small to count. A call alone
   * always fits, or one that is too large would be told for ever to come again.
   *
   * @throws ToolyardError overloaded, and then nothing was counted.
   */
  hold(caller: Caller, bytes: number): (() => void) | undefined {
    if (bytes < COUNTED_FROM) return undefined;
    const { heldBytesPerWorker, heldBytesPerTenant } = this.#limits;
    const worker = toWorkerKey(caller);
    const { tenant } = caller;
    check("held_bytes_per_worker", "The worker", this.#workers.get(worker), bytes, heldBytesPerWorker);
    check("held_bytes_per_tenant", "The tenant", this.#tenants.get(tenant), bytes, heldBytesPerTenant);
    add(this.#workers, worker, bytes);
    add(this.#tenants, tenant, bytes);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      add(this.#workers, worker, -bytes);
      add(this.#tenants, tenant, -bytes);
    };
  }

  /** Of one worker, in bytes. */
  of(caller: Caller): number {
    return this.#workers.get(toWorkerKey(caller)) ?? 0;
  }
}

function check(limit: string, who: string, held: number | undefined, bytes: number, maximum: number): void {
  if (held === undefined || held + bytes <= maximum) return;
  throw new ToolyardError("overloaded", `${who} has calls under way whose params take ${held} bytes`, {
    details: { limit, maximum, retry_after_ms: RETRY_AFTER_MS },
  });
}

function add(counts: Map<string, number>, key: string, bytes: number): void {
  const count = (counts.get(key) ?? 0) + bytes;
  if (count > 0) counts.set(key, count);
  else counts.delete(key);
}
