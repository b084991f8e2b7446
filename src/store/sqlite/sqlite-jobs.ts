import type { JobRecord, JobStore } from "../../core/store.ts";
import type { OpenGate } from "../open-gate.ts";
import type { Database } from "./load-driver.ts";
import { RecordPruner } from "./record-pruner.ts";
import type { Shrinker } from "./shrinker.ts";
import type { WriteQueue } from "./write-queue.ts";

const COLUMNS = `id, tenant, worker_id AS workerId, action, state, progress, answer, instance,
  created_at AS createdAt, ended_at AS endedAt`;

/** Jobs in a table. */
export class SqliteJobs implements JobStore {
  readonly #gate: OpenGate;
  readonly #queue: WriteQueue;
  readonly #put;
  readonly #get;
  readonly #list;
  readonly #listOfWorker;
  readonly #markUnknown;
  readonly #pruner: RecordPruner;

  constructor(gate: OpenGate, queue: WriteQueue, database: Database, shrinker: Shrinker) {
    this.#gate = gate;
    this.#queue = queue;
    this.#put = database.prepare<[JobRecord]>(
      `INSERT INTO jobs (tenant, id, worker_id, action, state, instance, created_at, ended_at, progress, answer)
       VALUES (@tenant, @id, @workerId, @action, @state, @instance, @createdAt, @endedAt, @progress, @answer)
       ON CONFLICT (tenant, id) DO UPDATE SET worker_id = excluded.worker_id, action = excluded.action,
         state = excluded.state, instance = excluded.instance, created_at = excluded.created_at,
         ended_at = excluded.ended_at, progress = excluded.progress, answer = excluded.answer`,
    );
    this.#get = database.prepare<[string, string], JobRecord>(
      `SELECT ${COLUMNS} FROM jobs WHERE tenant = ? AND id = ?`,
    );
    const newest = "ORDER BY created_at DESC, id DESC LIMIT ?";
    this.#list = database.prepare<[string, number], JobRecord>(
      `SELECT ${COLUMNS} FROM jobs WHERE tenant = ? ${newest}`,
    );
    this.#listOfWorker = database.prepare<[string, string, number], JobRecord>(
      `SELECT ${COLUMNS} FROM jobs WHERE tenant = ? AND worker_id = ? ${newest}`,
    );
    this.#markUnknown = database.prepare<[number, string]>(
      `UPDATE jobs SET state = 'unknown', ended_at = ? WHERE state IN ('queued', 'running') AND instance <> ?`,
    );
    this.#pruner = new RecordPruner(
      { gate, queue, database, shrinker },
      { table: "jobs", isDue: "ended_at < @before", indexed: true },
    );
  }

  async put(job: JobRecord): Promise<void> {
    this.#gate.check();
    await this.#queue.write(() => this.#put.run(job));
  }

  async get(tenant: string, id: string): Promise<JobRecord | null> {
    this.#gate.check();
    return this.#get.get(tenant, id) ?? null;
  }

  async list(
    tenant: string,
    options: { readonly workerId?: string | undefined; readonly limit: number },
  ): Promise<readonly JobRecord[]> {
    this.#gate.check();
    const limit = Math.max(0, options.limit);
    return options.workerId === undefined
      ? this.#list.all(tenant, limit)
      : this.#listOfWorker.all(tenant, options.workerId, limit);
  }

  async markUnknown(exceptInstance: string, endedAt: number): Promise<number> {
    this.#gate.check();
    return await this.#queue.write(() => this.#markUnknown.run(endedAt, exceptInstance).changes);
  }

  prune(endedBefore: number): Promise<number> {
    return this.#pruner.prune(endedBefore);
  }
}
