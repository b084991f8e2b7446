import type { Logger } from "../core/context.ts";
import type { SessionRow } from "../core/store.ts";
import type { DepartedSessions } from "./departed-sessions.ts";
import type { SessionEndings } from "./session-endings.ts";
import type { SessionEvents } from "./session-events.ts";
import type { SessionInitializer } from "./session-initializer.ts";
import type { SessionJournal, StoredHandle } from "./session-journal.ts";
import type { SessionMaker } from "./session-maker.ts";
import type { LeaseHolder, SessionRecord } from "./session-record.ts";
import type { SessionTable } from "./session-table.ts";

export interface SessionRecoveryDeps {
  readonly table: SessionTable;
  readonly endings: SessionEndings;
  readonly events: SessionEvents;
  readonly journal: SessionJournal;
  readonly maker: SessionMaker;
  readonly initializer: SessionInitializer;
  readonly departed: DepartedSessions;
  readonly logger: Logger;
}

/** Takes over the explicit sessions that the last server left; those that cannot be taken over are lost, once and for all. */
export class SessionRecovery {
  readonly #deps: SessionRecoveryDeps;
  readonly #adoptions: Promise<void>[] = [];
  /** The ids of the sandboxes that the last server made, by session, as far as its log says. */
  sandboxes: ReadonlyMap<string, string> = new Map();

  constructor(deps: SessionRecoveryDeps) {
    this.#deps = deps;
  }

  /** Puts each session into its worker's place, where calls wait for its backend to adopt it. */
  async run(): Promise<void> {
    const { journal, departed, logger } = this.#deps;
    // First, so that what is lost now is newer.
    for (const { row, reason } of await journal.untold()) departed.add(row, reason);
    const rows = await journal.live();
    await Promise.all(rows.map((row) => this.#takeOver(row)));
    if (rows.length > 0) logger.info({ sessions: rows.length }, "the last server left sessions behind");
  }

  /** Resolves once every session that was left is adopted or lost; to be asked after `run`. */
  async over(): Promise<void> {
    await Promise.all(this.#adoptions);
  }

  async #takeOver(row: SessionRow): Promise<void> {
    const { table, journal, endings, departed, events } = this.#deps;
    // Oldest first: of two in one place the worker knows the younger.
    const older = table.get(row, row.resource);
    if (older !== undefined) endings.end(older, "replaced");
    const record = this.#restore(row);
    if (record === undefined) {
      departed.add(row, "lost");
      events.lost(row, this.sandboxes.get(row.id));
      return journal.lose(row);
    }
    const sandboxId = this.sandboxes.get(row.id);
    if (sandboxId !== undefined) record.sandbox = { id: sandboxId };
    // Held by nobody's call, so that it is not given up because one that waits for it gives up.
    const hold: LeaseHolder = { cancel: () => undefined };
    record.holders.add(hold);
    // Registered before any call can wait for it, so that none finds it between.
    const adoption = record.ready.then(
      () => {
        record.holders.delete(hold);
        record.activate();
        events.adopted(record);
      },
      () => {
        record.holders.delete(hold);
        departed.add(record, "lost");
        endings.end(record, "lost");
      },
    );
    this.#adoptions.push(adoption);
  }

  #restore(row: SessionRow): SessionRecord | undefined {
    const { journal, maker, initializer, logger } = this.#deps;
    if (row.handle === null) return undefined;
    try {
      const stored = JSON.parse(row.handle) as StoredHandle; // written by the journal alone
      const record = maker.restore(row, stored, journal.timeLeftMs(row));
      if (record?.mount === undefined) return undefined;
      journal.resume(record);
      record.ready = initializer.adopt(record, record.mount, stored.handle);
      return record;
    } catch (error) {
      logger.error({ err: error, session_id: row.id }, "a session could not be taken over");
      return undefined;
    }
  }
}
