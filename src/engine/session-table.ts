import type { Scopes } from "../core/scopes.ts";
import type { SessionRecord } from "./session-record.ts";

/** Who calls. */
export interface Caller {
  readonly tenant: string;
  readonly workerId: string;
  /** What the caller may do, also in calls that its tools make; absent: everything. */
  readonly scopes?: Scopes | undefined;
  /** The id of the API key that they came with; absent where none is asked for. */
  readonly keyId?: string | null | undefined;
}

/** A worker's place for a session on one resource. */
interface Place {
  record: SessionRecord | undefined;
  /** How many sessions it has had since the worker came. */
  count: number;
}

interface WorkerSessions {
  /** How many of the places are taken. */
  live: number;
  readonly places: Map<string, Place>;
}

/** Holds the live sessions, one for each worker and resource; a worker without sessions leaves nothing behind. */
export class SessionTable {
  readonly #workers = new Map<string, WorkerSessions>();
  readonly #byId = new Map<string, SessionRecord>();
  #size = 0;

  get workerCount(): number {
    return this.#workers.size;
  }

  get size(): number {
    return this.#size;
  }

  get(caller: Caller, resource: string): SessionRecord | undefined {
    return this.#workers.get(toWorkerKey(caller))?.places.get(resource)?.record;
  }

  listOf(caller: Caller): readonly SessionRecord[] {
    const worker = this.#workers.get(toWorkerKey(caller));
    return worker === undefined ? [] : recordsOf(worker);
  }

  list(): readonly SessionRecord[] {
    return [...this.#workers.values()].flatMap(recordsOf);
  }

  /** Whose a live session is, by its id; for the audit, never for an answer. */
  tenantOf(sessionId: string): string | undefined {
    return this.#byId.get(sessionId)?.tenant;
  }

  /** Finds a live session of a tenant by its id. */
  byId(tenant: string, sessionId: string): SessionRecord | undefined {
    const record = this.#byId.get(sessionId);
    return record?.tenant === tenant ? record : undefined;
  }

  /** Counts the worker's sessions on a resource, from 1; for their names. */
  count(caller: Caller, resource: string): number {
    const { places } = this.#workerOf(caller);
    const place = places.get(resource);
    if (place !== undefined) return (place.count += 1);
    places.set(resource, { record: undefined, count: 1 });
    return 1;
  }

  /** Adds a session in the place of the worker's last one on the resource. */
  add(record: SessionRecord): void {
    const worker = this.#workerOf(record);
    this.#byId.set(record.id, record);
    const place = worker.places.get(record.resource);
    if (place?.record !== undefined) this.#byId.delete(place.record.id);
    else {
      this.#size += 1;
      worker.live += 1;
    }
    if (place === undefined) worker.places.set(record.resource, { record, count: 0 });
    else place.record = record;
  }

  /** Removes a session, unless another one has taken its place. */
  remove(record: SessionRecord): void {
    const key = toWorkerKey(record);
    const worker = this.#workers.get(key);
    const place = worker?.places.get(record.resource);
    if (worker === undefined || place?.record !== record) return;
    place.record = undefined;
    this.#byId.delete(record.id);
    this.#size -= 1;
    worker.live -= 1;
    if (worker.live === 0) this.#workers.delete(key);
  }

  #workerOf(caller: Caller): WorkerSessions {
    const key = toWorkerKey(caller);
    let worker = this.#workers.get(key);
    if (worker === undefined) this.#workers.set(key, (worker = { live: 0, places: new Map() }));
    return worker;
  }
}

function recordsOf({ places }: WorkerSessions): SessionRecord[] {
  return [...places.values()].flatMap(({ record }) => record ?? []);
}

/** The tenant of servers without keys, which most are. */
const COMMON_TENANT = "default";

/**
 * Names a worker inside its tenant; no name holds a line break, so that a key without one is of the common tenant. That one's
 * keys are made without a new string, which each of the maps that a call looks into would have to hash again.
 */
export function toWorkerKey({ tenant, workerId }: Caller): string {
  return tenant === COMMON_TENANT ? workerId : `${tenant}\n${workerId}`;
}

/** Names a worker's place for a session on a resource. */
export function toPlace(caller: Caller, resource: string): string {
  return `${toWorkerKey(caller)}\n${resource}`;
}
