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

interface WorkerSessions {
  readonly byResource: Map<string, SessionRecord>;
  /** How many sessions each resource has had since the worker came. */
  readonly counts: Map<string, number>;
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
    return this.#workers.get(toWorkerKey(caller))?.byResource.get(resource);
  }

  listOf(caller: Caller): readonly SessionRecord[] {
    return [...(this.#workers.get(toWorkerKey(caller))?.byResource.values() ?? [])];
  }

  list(): readonly SessionRecord[] {
    return [...this.#workers.values()].flatMap(({ byResource }) => [...byResource.values()]);
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
    const { counts } = this.#workerOf(caller);
    const count = (counts.get(resource) ?? 0) + 1;
    counts.set(resource, count);
    return count;
  }

  /** Adds a session in the place of the worker's last one on the resource. */
  add(record: SessionRecord): void {
    const { byResource } = this.#workerOf(record);
    if (!byResource.has(record.resource)) this.#size += 1;
    const replaced = byResource.get(record.resource);
    if (replaced !== undefined) this.#byId.delete(replaced.id);
    this.#byId.set(record.id, record);
    byResource.set(record.resource, record);
  }

  /** Removes a session, unless another one has taken its place. */
  remove(record: SessionRecord): void {
    const key = toWorkerKey(record);
    const worker = this.#workers.get(key);
    if (worker?.byResource.get(record.resource) !== record) return;
    worker.byResource.delete(record.resource);
    this.#byId.delete(record.id);
    this.#size -= 1;
    if (worker.byResource.size === 0) this.#workers.delete(key);
  }

  #workerOf(caller: Caller): WorkerSessions {
    const key = toWorkerKey(caller);
    let worker = this.#workers.get(key);
    if (worker === undefined) this.#workers.set(key, (worker = { byResource: new Map(), counts: new Map() }));
    return worker;
  }
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
