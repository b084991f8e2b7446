import type { ToolyardEvent } from "./events.ts";

/** An event as it is kept: with its place in the log, and in its session. */
export interface StoredEvent extends ToolyardEvent {
  /** Increases from event to event of a data folder, for ever; a hole is a batch that could not be written. */
  readonly id: number;
  /** Counts the events of one session from 1, without a gap; absent on events of no session. */
  readonly seq?: number | undefined;
}

/** Which events are meant. Every given field must match. */
export interface EventFilter {
  /** `null` for every tenant, and for the events of none; say it only for who may read everything. */
  readonly tenant: string | null;
  readonly worker_id?: string | undefined;
  readonly session_id?: string | undefined;
  readonly call_id?: string | undefined;
  /** The label of the sessions. */
  readonly project?: string | undefined;
  /** The run that the event belongs to. */
  readonly trace_id?: string | undefined;
  /** Any of these; an empty list matches nothing. */
  readonly types?: readonly string[] | undefined;
}

/** A stretch of the log that the store has lost, by its first and its last id. */
export interface LostEvents {
  readonly fromId: number;
  readonly id: number;
}

/** A part of the log, read with a filter. */
export interface EventPage {
  readonly events: readonly StoredEvent[];
  /** Every matching event up to this id is in the page: the next read goes on after it, also where nothing matched. */
  readonly throughId: number;
  /** Stretches up to there that are damaged where they lie, oldest first, whatever the filter; absent where nothing is. */
  readonly lost?: readonly LostEvents[];
}

/** What is left of the log after a trim. */
export interface TrimResult {
  readonly dropped: number;
  /** As in `bounds`. */
  readonly firstId: number;
}

/** The log of everything that happened. Ids and seqs are given by its one writer, which also batches. */
export interface EventStore {
  /**
   * Writes a batch, all of it or nothing.
   * @throws StoreError `invalid` when the ids do not ascend from the newest one ever given.
   */
  append(events: readonly StoredEvent[]): Promise<void>;
  /** Reads matching events after an id, oldest first, at most `limit` of them; a page may end early, so compare `throughId`. */
  read(filter: EventFilter, options: { readonly afterId: number; readonly limit: number }): Promise<EventPage>;
  /** `null` when the log does not hold it (any more), or it is another tenant's. A tenant of `null` reads all. */
  get(tenant: string | null, id: number): Promise<StoredEvent | null>;
  /** The oldest id held, and the newest ever given. An empty log says `lastId + 1` and `lastId`: 1 and 0 at first. */
  bounds(): Promise<{ readonly firstId: number; readonly lastId: number }>;
  /** The newest seq of each of these sessions, to go on from after a restart; a live session's survives a trim. */
  lastSeqs(sessionIds: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /** Drops the oldest events until the log fits; `now` is in wall-clock milliseconds. */
  trim(keep: { readonly maxEvents: number; readonly maxAgeMs: number }, now: number): Promise<TrimResult>;
}

/** One use of an idempotency key. */
export interface IdempotencyRecord {
  readonly tenant: string;
  readonly key: string;
  /** Hash of worker, action and params: the same key with another body is a conflict. */
  readonly fingerprint: string;
  readonly state: "running" | "done" | "unknown";
  /** The stored answer as JSON, once done. */
  readonly answer: string | null;
  /** Which run of the server holds it. */
  readonly instance: string;
  /** When it was begun; once done, when it was finished. */
  readonly keptAt: number;
}

export interface IdempotencyStore {
  /**
   * Writes the record before the call runs, unless the key is taken: then returns what holds it. Atomic.
   * With `retakeUnknown` a key of the same fingerprint whose outcome is unknown counts as free: one caller gets it.
   */
  begin(
    record: Omit<IdempotencyRecord, "state" | "answer">,
    options?: { readonly retakeUnknown?: boolean | undefined },
  ): Promise<IdempotencyRecord | null>;
  get(tenant: string, key: string): Promise<IdempotencyRecord | null>;
  /**
   * Keeps the first answer, and counts its age from `keptAt` on: a call that took long is as new as its answer.
   * Does nothing for a key that nothing holds.
   */
  finish(tenant: string, key: string, answer: string, keptAt: number): Promise<void>;
  /** Counts the age of what is kept under these keys from `keptAt` on; does nothing for a key that nothing holds. */
  renew(keys: readonly { readonly tenant: string; readonly key: string }[], keptAt: number): Promise<void>;
  /** Forgets a call that never ran, so that its key may be used again; does nothing unless it is running. */
  release(tenant: string, key: string): Promise<void>;
  /** Marks what other runs of the server left running: nobody knows whether it ran. Returns how many. */
  markUnknown(exceptInstance: string): Promise<number>;
  /** Forgets older records, but no running one. Returns how many. */
  prune(keptBefore: number): Promise<number>;
}

export type JobState = "queued" | "running" | "completed" | "failed" | "cancelled" | "unknown";

/** A call that outlives its connection. */
export interface JobRecord {
  readonly id: string;
  readonly tenant: string;
  readonly workerId: string;
  readonly action: string;
  readonly state: JobState;
  /** The last progress that the tool reported, as JSON. */
  readonly progress: string | null;
  /** The envelope as JSON, once over. */
  readonly answer: string | null;
  readonly instance: string;
  readonly createdAt: number;
  readonly endedAt: number | null;
}

export interface JobStore {
  /** Writes the whole record, over an older one of the same tenant and id. */
  put(job: JobRecord): Promise<void>;
  get(tenant: string, id: string): Promise<JobRecord | null>;
  /** Newest first. */
  list(
    tenant: string,
    options: { readonly workerId?: string | undefined; readonly limit: number },
  ): Promise<readonly JobRecord[]>;
  /** Ends what other runs of the server left queued or running as `unknown`. Returns how many. */
  markUnknown(exceptInstance: string, endedAt: number): Promise<number>;
  /** Forgets what ended before. Returns how many. */
  prune(endedBefore: number): Promise<number>;
}

/** A session as it must be known after a crash. */
export interface SessionRow {
  readonly id: string;
  readonly name: string;
  readonly tenant: string;
  readonly workerId: string;
  readonly resource: string;
  /** JSON. */
  readonly config: string;
  readonly ttlMs: number;
  readonly createdAt: number;
  /** Wall-clock milliseconds at which it ends if nothing renews it. */
  readonly expiresAt: number;
  /** What the backend needs to re-attach, as JSON; `null` when it cannot. */
  readonly handle: string | null;
  /** `live`, or why it ended. */
  readonly state: string;
  readonly endedAt: number | null;
  readonly instance: string;
}

export interface SessionStore {
  /** Writes the whole row, over an older one of the same id, unless that has ended: an ended session stays ended. */
  put(session: SessionRow): Promise<void>;
  get(tenant: string, id: string): Promise<SessionRow | null>;
  /** Every session that has not ended, oldest first, whichever run of the server made it. */
  live(): Promise<readonly SessionRow[]>;
  /** Moves the ends of live sessions, by id, all in one write: calls renew too often to write each. */
  renew(expiresAt: ReadonlyMap<string, number>): Promise<void>;
  /** Keeps the id and the reason, for a typed answer to who still names it. The first reason stays. */
  end(id: string, reason: string, endedAt: number): Promise<void>;
  /** The newest `limit` sessions that ended for one of these reasons, oldest first by their creation. */
  ended(reasons: readonly string[], limit: number): Promise<readonly SessionRow[]>;
  /** Replaces the reason of a session that has ended; does nothing for another one. */
  restate(id: string, reason: string): Promise<void>;
  /** Forgets what ended before. Returns how many. */
  prune(endedBefore: number): Promise<number>;
}

/** An API key as it is kept: never the key itself. */
export interface KeyRecord {
  readonly id: string;
  /** SHA-256 of the secret, hex. */
  readonly hash: string;
  readonly name: string;
  readonly tenant: string;
  /** `resource:verb` patterns: `*`, `code:*`, `*:read`. */
  readonly scopes: readonly string[];
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
}

export interface KeyStore {
  /** Writes the whole record, over an older one of the same id. */
  put(key: KeyRecord): Promise<void>;
  get(id: string): Promise<KeyRecord | null>;
  /** Oldest first. */
  list(): Promise<readonly KeyRecord[]>;
}

/** Who did what at the edge: refused or granted. */
export interface AuditEntry {
  readonly ts: string;
  readonly tenant: string | null;
  readonly keyId: string | null;
  readonly action: string;
  readonly outcome: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface AuditStore {
  append(entry: AuditEntry): Promise<void>;
  /** Newest first; of one tenant, or of all. */
  list(options: { readonly tenant?: string | undefined; readonly limit: number }): Promise<readonly AuditEntry[]>;
  /** Drops the oldest until at most this many are left. Returns how many went. */
  trim(maxEntries: number): Promise<number>;
}

/**
 * Where the server's state is kept. Drivers pass one conformance kit.
 * What has resolved survives `kill -9` in a durable one; what was rejected has not happened.
 */
export interface Store {
  readonly name: string;
  readonly durable: boolean;
  readonly events: EventStore;
  readonly idempotency: IdempotencyStore;
  readonly jobs: JobStore;
  readonly sessions: SessionStore;
  readonly keys: KeyStore;
  readonly audit: AuditStore;
  /** Waits for what is under way, then lets go of everything; again does nothing. Later operations reject as `closed`. */
  close(): Promise<void>;
}

/**
 * Why a store could not do it. `closed`: after `close`. `locked`: another server uses the data folder. `newer`: a newer Toolyard
 * wrote it. `unavailable`: the driver cannot be loaded or the folder not be opened. `full`: the disk is. `corrupt`: the file is
 * damaged. `invalid`: the caller broke the contract. `failed`: anything else, with its cause.
 */
export type StoreFailure = "closed" | "locked" | "newer" | "unavailable" | "full" | "corrupt" | "invalid" | "failed";

/** The one error that stores throw, whatever the driver. */
export class StoreError extends Error {
  override readonly name = "StoreError";
  readonly reason: StoreFailure;

  constructor(reason: StoreFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}
