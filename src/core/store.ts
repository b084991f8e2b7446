import type { ToolyardEvent } from "./events.ts";

/** An event as it is kept: with its place in the log, and in its session. */
export interface StoredEvent extends ToolyardEvent {
  /** Increases by one from event to event of a data folder, for ever. */
  readonly id: number;
  /** Counts the events of one session from 1, without a gap; absent on events of no session. */
  readonly seq?: number;
}

/** Which events are meant. Every given field must match. */
export interface EventFilter {
  readonly tenant: string;
  readonly worker_id?: string | undefined;
  readonly session_id?: string | undefined;
  readonly call_id?: string | undefined;
  readonly types?: readonly string[] | undefined;
}

/** The log of everything that happened. Appends are batched by the caller, in the order of ids. */
export interface EventStore {
  append(events: readonly StoredEvent[]): Promise<void>;
  /** Reads matching events after an id, oldest first. */
  read(
    filter: EventFilter,
    options: { readonly afterId: number; readonly limit: number },
  ): Promise<readonly StoredEvent[]>;
  /** `null` when the log does not hold it (any more). */
  get(id: number): Promise<StoredEvent | null>;
  /** The oldest and newest ids held, and the newest ever given; zeros for an empty log. */
  bounds(): Promise<{ readonly firstId: number; readonly lastId: number }>;
  /** Drops the oldest events until the log fits; returns how many went. */
  trim(keep: { readonly maxEvents: number; readonly maxAgeMs: number }, now: Date): Promise<number>;
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
  readonly createdAt: number;
}

export interface IdempotencyStore {
  /** Writes the record before the call runs, unless the key is taken: then returns what holds it. Atomic. */
  begin(record: Omit<IdempotencyRecord, "state" | "answer">): Promise<IdempotencyRecord | null>;
  finish(tenant: string, key: string, answer: string): Promise<void>;
  /** Forgets a call that never ran, so that its key may be used again. */
  release(tenant: string, key: string): Promise<void>;
  /** Marks what other runs of the server left running: nobody knows whether it ran. Returns how many. */
  markUnknown(exceptInstance: string): Promise<number>;
  prune(createdBefore: number): Promise<number>;
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
  put(job: JobRecord): Promise<void>;
  get(tenant: string, id: string): Promise<JobRecord | null>;
  list(
    tenant: string,
    options: { readonly workerId?: string | undefined; readonly limit: number },
  ): Promise<readonly JobRecord[]>;
  markUnknown(exceptInstance: string): Promise<number>;
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
  readonly instance: string;
}

export interface SessionStore {
  put(session: SessionRow): Promise<void>;
  get(tenant: string, id: string): Promise<SessionRow | null>;
  live(): Promise<readonly SessionRow[]>;
  /** Keeps the id and the reason, for a typed answer to who still names it. */
  end(id: string, reason: string): Promise<void>;
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
  put(key: KeyRecord): Promise<void>;
  get(id: string): Promise<KeyRecord | null>;
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
  list(options: { readonly limit: number }): Promise<readonly AuditEntry[]>;
}

/** Where the server's state is kept. Drivers pass one conformance kit; what has resolved survives `kill -9` in a durable one. */
export interface Store {
  readonly name: string;
  readonly durable: boolean;
  readonly events: EventStore;
  readonly idempotency: IdempotencyStore;
  readonly jobs: JobStore;
  readonly sessions: SessionStore;
  readonly keys: KeyStore;
  readonly audit: AuditStore;
  close(): Promise<void>;
}
