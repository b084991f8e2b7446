import type { IdempotencyRecord, IdempotencyStore, JobRecord, JobStore } from "../../core/store.ts";
import type { OpenGate } from "../open-gate.ts";

/** One map key for a name within a tenant; the length keeps any two pairs apart. */
const within = (tenant: string, name: string) => `${tenant.length}:${tenant}${name}`;

/** Deletes entries of a map, and says how many. */
export function deleteWhere<T>(records: Map<string, T>, drop: (record: T) => boolean): number {
  const before = records.size;
  for (const [key, record] of records) if (drop(record)) records.delete(key);
  return before - records.size;
}

/** Idempotency records in a map. */
export class MemoryIdempotency implements IdempotencyStore {
  readonly #gate: OpenGate;
  readonly #records = new Map<string, IdempotencyRecord>();

  constructor(gate: OpenGate) {
    this.#gate = gate;
  }

  async begin(
    record: Omit<IdempotencyRecord, "state" | "answer">,
    options: { readonly retakeUnknown?: boolean | undefined } = {},
  ): Promise<IdempotencyRecord | null> {
    this.#gate.check();
    const key = within(record.tenant, record.key);
    const holder = this.#records.get(key);
    const free =
      holder === undefined ||
      (options.retakeUnknown === true && holder.state === "unknown" && holder.fingerprint === record.fingerprint);
    if (!free) return holder;
    this.#records.set(key, { ...record, state: "running", answer: null });
    return null;
  }

  async get(tenant: string, key: string): Promise<IdempotencyRecord | null> {
    this.#gate.check();
    return this.#records.get(within(tenant, key)) ?? null;
  }

  async finish(tenant: string, key: string, answer: string, keptAt: number): Promise<void> {
    this.#gate.check();
    const record = this.#records.get(within(tenant, key));
    if (record === undefined || record.state === "done") return;
    this.#records.set(within(tenant, key), { ...record, state: "done", answer, keptAt });
  }

  async renew(keys: readonly { readonly tenant: string; readonly key: string }[], keptAt: number): Promise<void> {
    this.#gate.check();
    for (const { tenant, key } of keys) {
      const record = this.#records.get(within(tenant, key));
      if (record !== undefined) this.#records.set(within(tenant, key), { ...record, keptAt });
    }
  }

  async release(tenant: string, key: string): Promise<void> {
    this.#gate.check();
    if (this.#records.get(within(tenant, key))?.state === "running") this.#records.delete(within(tenant, key));
  }

  async markUnknown(exceptInstance: string): Promise<number> {
    this.#gate.check();
    let marked = 0;
    for (const [key, record] of this.#records) {
      if (record.state !== "running" || record.instance === exceptInstance) continue;
      this.#records.set(key, { ...record, state: "unknown" });
      marked += 1;
    }
    return marked;
  }

  async prune(keptBefore: number): Promise<number> {
    this.#gate.check();
    return deleteWhere(this.#records, (record) => record.keptAt < keptBefore && record.state !== "running");
  }
}

/** Jobs in a map. */
export class MemoryJobs implements JobStore {
  readonly #gate: OpenGate;
  readonly #jobs = new Map<string, JobRecord>();

  constructor(gate: OpenGate) {
    this.#gate = gate;
  }

  async put(job: JobRecord): Promise<void> {
    this.#gate.check();
    this.#jobs.set(within(job.tenant, job.id), job);
  }

  async get(tenant: string, id: string): Promise<JobRecord | null> {
    this.#gate.check();
    return this.#jobs.get(within(tenant, id)) ?? null;
  }

  async list(
    tenant: string,
    options: { readonly workerId?: string | undefined; readonly limit: number },
  ): Promise<readonly JobRecord[]> {
    this.#gate.check();
    const { workerId } = options;
    return [...this.#jobs.values()]
      .filter((job) => job.tenant === tenant && (workerId === undefined || job.workerId === workerId))
      .toSorted((a, b) => b.createdAt - a.createdAt || compareNames(b.id, a.id))
      .slice(0, options.limit);
  }

  async markUnknown(exceptInstance: string, endedAt: number): Promise<number> {
    this.#gate.check();
    let marked = 0;
    for (const [key, job] of this.#jobs) {
      if (job.instance === exceptInstance || (job.state !== "queued" && job.state !== "running")) continue;
      this.#jobs.set(key, { ...job, state: "unknown", endedAt });
      marked += 1;
    }
    return marked;
  }

  async prune(endedBefore: number): Promise<number> {
    this.#gate.check();
    return deleteWhere(this.#jobs, (job) => job.endedAt !== null && job.endedAt < endedBefore);
  }
}

/** Orders by bytes of UTF-8, as databases do. */
export function compareNames(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
