import { ToolyardError } from "../core/errors.ts";
import { type CancelSource, untilEnded } from "./deadline.ts";
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
    // Each lease is its own entry, also for a holder that comes twice.
    const entry: LeaseHolder = { cancel: (reason) => holder.cancel(reason) };
    record.holders.add(entry);
    this.#times.touch(record);
    return {
      record,
      departed,
      release: () => {
        if (!record.holders.delete(entry)) return;
        this.#times.touch(record);
        if (record.leased) return;
        record.onDrained?.();
        if (!record.initialized) this.#abandon(record);
        else if (record.temporary) this.#endings.end(record, "temporary");
      },
    };
  }

  /** Waits for the initialize of a leased session; gives the lease back when there is nothing to wait for any more. */
  async whenReady(lease: Lease, wait: CancelSource): Promise<Lease> {
    try {
      await untilEnded(lease.record.ready, wait);
      return lease;
    } catch (error) {
      lease.release();
      throw error;
    }
  }

  #abandon(record: SessionRecord): void {
    record.initialization.cancel(new ToolyardError("cancelled", "Nobody waits for the session any more"));
    this.#endings.end(record, "cancelled");
  }
}
