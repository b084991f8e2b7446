import { ToolyardError } from "../core/errors.ts";
import type { CancelSource } from "./deadline.ts";
import type { Departed } from "./departed-sessions.ts";
import type { SessionEndings } from "./session-endings.ts";
import type { LeaseHolder, SessionRecord } from "./session-record.ts";
import type { Lease } from "./session-request.ts";
import type { SessionTimes } from "./session-times.ts";

/** Holds sessions for those who use them; what only a lease kept ends with its last one. */
export class SessionLeases {
  readonly #times: SessionTimes;
  readonly #endings: SessionEndings;

  constructor(times: SessionTimes, endings: SessionEndings) {
    this.#times = times;
    this.#endings = endings;
  }

  take(record: SessionRecord, holder: LeaseHolder, departed?: Departed): Lease {
    const lease = new HeldSession(this, record, holder, departed);
    record.holders.add(lease);
    this.#times.touch(record);
    return lease;
  }

  /** Waits for the initialize of a leased session; gives the lease back when there is nothing to wait for any more. */
  whenReady(lease: Lease, wait: CancelSource): Promise<Lease> {
    return new Promise((resolve, reject) => {
      const giveUp = (error: unknown) => {
        lease.release();
        reject(error);
      };
      if (wait.ended !== undefined) return giveUp(wait.ended);
      const stopWaiting = wait.onEnd(() => giveUp(wait.ended));
      lease.record.ready.then(
        () => {
          stopWaiting();
          resolve(lease);
        },
        (error: unknown) => {
          stopWaiting();
          giveUp(error);
        },
      );
    });
  }

  /** Does what the end of a lease asks for. */
  released(record: SessionRecord): void {
    this.#times.touch(record);
    if (record.leased) return;
    record.onDrained?.();
    if (!record.initialized) this.#abandon(record);
    else if (record.temporary) this.#endings.end(record, "temporary");
  }

  #abandon(record: SessionRecord): void {
    record.initialization.cancel(new ToolyardError("cancelled", "Nobody waits for the session any more"));
    this.#endings.end(record, "cancelled");
  }
}

/** One lease: an entry of its own among the session's holders, also for a holder that comes twice. */
class HeldSession implements Lease, LeaseHolder {
  readonly record: SessionRecord;
  readonly departed: Departed | undefined;
  readonly #leases: SessionLeases;
  readonly #holder: LeaseHolder;

  constructor(leases: SessionLeases, record: SessionRecord, holder: LeaseHolder, departed: Departed | undefined) {
    this.record = record;
    this.departed = departed;
    this.#leases = leases;
    this.#holder = holder;
  }

  cancel(reason: ToolyardError): void {
    this.#holder.cancel(reason);
  }

  release(): void {
    if (this.record.holders.delete(this)) this.#leases.released(this.record);
  }
}
