import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/context.ts";
import { ToolyardError } from "../core/errors.ts";
import type { SessionRow, SessionStore } from "../core/store.ts";
import type { EngineLimits } from "./limits.ts";
import { BoundedMap } from "./bounded-map.ts";
import { settlesWithin } from "./deadline.ts";
import { type Departed, REMEMBERED } from "./departed-sessions.ts";
import { hasSessions } from "./mount.ts";
import type { SessionRecord } from "./session-record.ts";
import type { Caller } from "./session-table.ts";
import type { SteadyTime } from "./steady-time.ts";

export interface SessionJournalDeps {
  readonly store: SessionStore;
  readonly instance: string;
  readonly clock: Clock;
  readonly time: SteadyTime;
  readonly limits: EngineLimits;
  readonly logger: Logger;
}

/** What a row keeps for whoever takes the session over: the backend's own handle, and what the row has no column for. */
export interface StoredHandle {
  readonly handle: unknown;
  readonly autoExtend: boolean;
  readonly project?: string | undefined;
}

interface Entry {
  readonly writing: Promise<void>;
  expiresAt: number;
}

/** Ends that are told to who names the session later, as its state went without its worker's doing, and as what. */
const DEPARTURES: ReadonlyMap<string, Departed["reason"]> = new Map([
  ["lost", "lost"],
  ["shutdown", "lost"],
  ["expired", "expired"],
]);
/** Added to the reason of an end that the worker knows of. */
const TOLD = " told";
/** A renewal of less than this part of the ttl is not worth a write: a restart gives every session some time anyway. */
const WORTH_WRITING = 4;

/** How long the end of a session waits to be written; the write itself goes on. */
const END_WAIT_MS = 5_000;

/** Keeps what must be known of explicit sessions after a crash: written before the creation is acknowledged. */
export class SessionJournal {
  readonly #deps: SessionJournalDeps;
  readonly #entries = new Map<SessionRecord, Entry>();
  /** Ends that were told, some of them before they were written. */
  readonly #told = new BoundedMap<string, true>(REMEMBERED);

  constructor(deps: SessionJournalDeps) {
    this.#deps = deps;
  }

  /**
   * Writes a session once; those who ask meanwhile wait for the same write.
   *
   * @throws ToolyardError dependency_failed
   */
  async write(record: SessionRecord): Promise<void> {
    if (record.mount === undefined || !hasSessions(record.mount.backend)) return;
    let entry = this.#entries.get(record);
    if (entry === undefined) {
      entry = { writing: this.#put(record), expiresAt: record.expiresAt };
      this.#entries.set(record, entry);
    }
    try {
      await entry.writing;
    } catch (error) {
      this.#entries.delete(record);
      this.#deps.logger.error({ err: error, session_id: record.id }, "a session could not be written");
      throw new ToolyardError("dependency_failed", "The session could not be written to the store", { cause: error });
    }
  }

  /** Goes on with a session that an earlier run of the server wrote. */
  resume(record: SessionRecord): void {
    this.#entries.set(record, { writing: Promise.resolve(), expiresAt: record.expiresAt });
  }

  /**
   * Writes that a session has ended, and why, if it was written that there is one; never rejects, and waits a few seconds at most
   * for a store that hangs.
   */
  end(record: SessionRecord): Promise<void> | undefined {
    const entry = this.#entries.get(record);
    return entry && this.#end(record, entry);
  }

  async #end(record: SessionRecord, entry: Entry): Promise<void> {
    this.#entries.delete(record);
    const { clock, logger } = this.#deps;
    const written = entry.writing.catch(() => undefined).then(() => this.#endRow(record));
    if (await settlesWithin(clock, written, END_WAIT_MS)) return;
    logger.error(
      { session_id: record.id, wait_ms: END_WAIT_MS },
      "the store did not write the end of a session in time",
    );
  }

  /** Writes that a session which the last run of the server left is lost; never rejects. */
  async lose({ id }: SessionRow): Promise<void> {
    await this.#endRow({ id, endReason: "lost" });
  }

  /** Lists the ends that no worker was told of in an earlier run of the server, the oldest session first. */
  async untold(): Promise<readonly (Departed & { readonly row: SessionRow })[]> {
    const rows = await this.#deps.store.ended([...DEPARTURES.keys()], REMEMBERED);
    return rows.flatMap((row) => {
      const reason = DEPARTURES.get(row.state);
      return reason === undefined ? [] : [{ id: row.id, reason, row }];
    });
  }

  /** Notes that a worker was told of an end, so that the next run of the server does not tell it again; never rejects. */
  async tell({ id, reason }: Departed): Promise<void> {
    if (this.#told.get(id) === true) return;
    this.#told.set(id, true);
    try {
      await this.#deps.store.restate(id, reason + TOLD);
    } catch (error) {
      // It is told again, then.
      this.#deps.logger.error({ err: error, session_id: id }, "that a worker knows of an end could not be written");
    }
  }

  async #endRow({ id, endReason = "lost" }: Pick<SessionRecord, "id" | "endReason">): Promise<void> {
    const { store, time, logger } = this.#deps;
    try {
      const told = this.#told.get(id) === true && DEPARTURES.has(endReason);
      await store.end(id, told ? endReason + TOLD : endReason, time.now());
    } catch (error) {
      logger.error({ err: error, session_id: id }, "the end of a session could not be written");
    }
  }

  /** Writes the ends that renewals have moved; never rejects. */
  async flush(): Promise<void> {
    const moved = new Map<string, number>();
    for (const [record, entry] of this.#entries) {
      if (Math.abs(record.expiresAt - entry.expiresAt) < record.ttlMs / WORTH_WRITING) continue;
      entry.expiresAt = record.expiresAt;
      moved.set(record.id, this.#toExpiry(record));
    }
    if (moved.size === 0) return;
    try {
      await this.#deps.store.renew(moved);
    } catch (error) {
      this.#deps.logger.error({ err: error, sessions: moved.size }, "renewals could not be written");
    }
  }

  /** Lists what the last run of the server left. */
  live(): Promise<readonly SessionRow[]> {
    return this.#deps.store.live();
  }

  /** How long a session that was left may live from now: its time went on, but nobody could renew it meanwhile. */
  timeLeftMs({ expiresAt, ttlMs }: SessionRow): number {
    const { time, limits } = this.#deps;
    const least = Math.min(ttlMs, limits.restartGraceMs);
    return Math.min(Math.max(expiresAt - time.now(), least), ttlMs);
  }

  /** Finds why a session is not there; `undefined` when there never was one of the caller's, or the caller ended it. */
  async explain(sessionId: string, { tenant, workerId }: Caller, resource: string): Promise<ToolyardError | undefined> {
    const row = await this.#deps.store.get(tenant, sessionId).catch(() => null);
    if (row === null || row.workerId !== workerId || row.resource !== resource) return undefined;
    const reason = DEPARTURES.get(row.state.endsWith(TOLD) ? row.state.slice(0, -TOLD.length) : row.state);
    if (reason === undefined) return undefined;
    if (reason === "expired") return new ToolyardError("session_expired", `The session ${sessionId} has expired`);
    return new ToolyardError("session_lost", `The session ${sessionId} was lost, and its state with it`);
  }

  /** Whose a session is or was, for a caller of the tenant that knows only its id. */
  async ownerOf(tenant: string, sessionId: string): Promise<{ workerId: string; resource: string } | null> {
    return this.#deps.store.get(tenant, sessionId).catch(() => null);
  }

  async prune(): Promise<void> {
    const { store, time, limits } = this.#deps;
    await store.prune(time.now() - limits.sessionRetentionMs);
  }

  async #put(record: SessionRecord): Promise<void> {
    const { id, name, tenant, workerId, resource, ttlMs } = record;
    await this.#deps.store.put({
      id,
      name,
      tenant,
      workerId,
      resource,
      config: JSON.stringify(record.config),
      ttlMs,
      createdAt: record.createdAt.getTime(),
      expiresAt: this.#toExpiry(record),
      handle: await this.#toHandle(record),
      state: "live",
      endedAt: null,
      instance: this.#deps.instance,
    });
  }

  #toExpiry(record: SessionRecord): number {
    return Math.round(this.#deps.time.now() + record.expiresAt - this.#deps.clock.now());
  }

  async #toHandle({ mount, view, autoExtend, project }: SessionRecord): Promise<string | null> {
    if (mount?.backend.adopt === undefined) return null;
    const handle: unknown = await mount.backend.handle?.(view);
    const stored: StoredHandle = { handle: handle ?? null, autoExtend, project };
    return JSON.stringify(stored);
  }
}
