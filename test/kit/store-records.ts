import type { EventFilter, JobRecord, SessionRow, Store, StoredEvent } from "../../src/core/store.ts";

/** Strings that break what pastes them into a query, a path or an object. */
export const HOSTILE = [
  "'; DROP TABLE events; --",
  '"quoted" \\ back',
  "nul\0inside",
  "__proto__",
  "constructor",
  "line\nbreak\r\ttab",
  "",
  "%_*?[",
  "ünïcödé 漢字 🧪 e\u0301",
  "\u2028\u2029",
  '"session_id":"s1"',
] as const;

/** An event with this id, of worker w1 in session s1 unless told otherwise. */
export function event(id: number, fields: Partial<StoredEvent> = {}): StoredEvent {
  return {
    id,
    seq: id,
    type: "call.started",
    ts: new Date(1_700_000_000_000 + id * 1_000).toISOString(),
    tenant: "t1",
    worker_id: "w1",
    session_id: "s1",
    call_id: `c${id}`,
    data: {},
    ...fields,
  };
}

/** Events with the ids from one to another. */
export function events(fromId: number, toId: number, fields: Partial<StoredEvent> = {}): StoredEvent[] {
  return Array.from({ length: toId - fromId + 1 }, (_, index) => event(fromId + index, fields));
}

export function job(fields: Partial<JobRecord> = {}): JobRecord {
  return {
    id: "j1",
    tenant: "t1",
    workerId: "w1",
    action: "code:run",
    state: "running",
    progress: null,
    answer: null,
    instance: "i1",
    createdAt: 1_000,
    endedAt: null,
    ...fields,
  };
}

export function session(fields: Partial<SessionRow> = {}): SessionRow {
  return {
    id: "s1",
    name: "code_w1_001",
    tenant: "t1",
    workerId: "w1",
    resource: "code",
    config: "{}",
    ttlMs: 60_000,
    createdAt: 1_000,
    expiresAt: 61_000,
    handle: null,
    state: "live",
    endedAt: null,
    instance: "i1",
    ...fields,
  };
}

/** Reads every page. */
export async function readAll(
  store: Store,
  filter: EventFilter,
  { afterId = 0, pageSize = 1_000 }: { readonly afterId?: number; readonly pageSize?: number } = {},
): Promise<StoredEvent[]> {
  const found: StoredEvent[] = [];
  const { lastId } = await store.events.bounds();
  for (let after = afterId; after < lastId; ) {
    const page = await store.events.read(filter, { afterId: after, limit: pageSize });
    if (page.throughId <= after) throw new Error(`the read after ${after} got nowhere: ${page.throughId}`);
    found.push(...page.events);
    after = page.throughId;
  }
  return found;
}

/** Their ids. */
export function ids(found: readonly StoredEvent[]): number[] {
  return found.map(({ id }) => id);
}
