import type { ToolyardError } from "../core/errors.ts";
import type { SessionCleaner } from "./session-cleaner.ts";
import type { SessionEvents } from "./session-events.ts";
import type { SessionJournal } from "./session-journal.ts";
import type { SessionMaker } from "./session-maker.ts";
import type { EndReason, SessionRecord } from "./session-record.ts";
import type { SessionTable } from "./session-table.ts";

export interface SessionEndingsDeps {
  readonly table: SessionTable;
  readonly maker: SessionMaker;
  readonly cleaner: SessionCleaner;
  readonly journal: SessionJournal;
  readonly events: SessionEvents;
}

/** Ends sessions: out of the table at once, cleaned up when their last call has left. */
export class SessionEndings {
  readonly #deps: SessionEndingsDeps;
  readonly #ending = new Set<SessionRecord>();

  constructor(deps: SessionEndingsDeps) {
    this.#deps = deps;
  }

  /** Sessions whose cleanup is not over. */
  get count(): number {
    return this.#ending.size;
  }

  /** Takes the session out of the table at once; the rest goes on by itself. Further ends change nothing. */
  end(record: SessionRecord, reason: EndReason): void {
    if (record.ending) return;
    record.state = "ending";
    record.endReason = reason;
    this.#deps.table.remove(record);
    this.#ending.add(record);
    record.ended = this.#finish(record);
    record.tellEnding();
  }

  /** Tells those who still hold sessions that end, after every call has been let go, to hold them no more. */
  release(reason: ToolyardError): void {
    for (const record of this.#ending) for (const holder of [...record.holders]) holder.cancel(reason);
  }

  /** Waits until the cleanups are over or given up. */
  async settled(): Promise<void> {
    await Promise.all([this.#deps.cleaner.finish(), ...[...this.#ending].map((record) => record.ended)]);
  }

  #finish(record: SessionRecord): Promise<void> {
    // A failed initialize ends its session from inside: waiting for it, or for those who wait for it, would never end.
    const mustWait = record.endReason !== "failed" && (!record.initialized || record.leased);
    return mustWait ? this.#drain(record).then(() => this.#clean(record)) : this.#clean(record);
  }

  async #drain(record: SessionRecord): Promise<void> {
    if (!record.initialized) await record.ready.catch(() => undefined);
    if (record.leased) await new Promise<void>((resolve) => (record.onDrained = resolve));
  }

  #clean(record: SessionRecord): Promise<void> {
    return this.#deps.cleaner.clean(record.view).then(() => {
      // Before the store is waited for: the session holds nothing any more that another one could need.
      this.#deps.maker.forget(record);
      const written = this.#deps.journal.end(record);
      return written === undefined ? this.#over(record) : written.then(() => this.#over(record));
    });
  }

  #over(record: SessionRecord): void {
    record.state = "ended";
    record.keep(undefined);
    this.#ending.delete(record);
    this.#deps.events.ended(record);
  }
}
