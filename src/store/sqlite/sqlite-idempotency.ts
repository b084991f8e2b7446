import type { IdempotencyRecord, IdempotencyStore } from "../../core/store.ts";
import type { OpenGate } from "../open-gate.ts";
import type { Database } from "./load-driver.ts";
import { RecordPruner } from "./record-pruner.ts";
import type { Shrinker } from "./shrinker.ts";
import type { WriteQueue } from "./write-queue.ts";

// The column has its name from when nothing moved it.
const COLUMNS = `tenant, key, fingerprint, state, answer, instance, created_at AS keptAt`;

/** Idempotency records in a table; its unique index decides between callers of one key. */
export class SqliteIdempotency implements IdempotencyStore {
  readonly #gate: OpenGate;
  readonly #queue: WriteQueue;
  readonly #insert;
  readonly #retake;
  readonly #select;
  readonly #finish;
  readonly #renew;
  readonly #release;
  readonly #markUnknown;
  readonly #pruner: RecordPruner;

  constructor(gate: OpenGate, queue: WriteQueue, database: Database, shrinker: Shrinker) {
    this.#gate = gate;
    this.#queue = queue;
    this.#insert = database.prepare<[string, string, string, string, number]>(
      `INSERT INTO idempotency (tenant, key, fingerprint, state, instance, created_at) VALUES (?, ?, ?, 'running', ?, ?)
       ON CONFLICT (tenant, key) DO NOTHING`,
    );
    this.#retake = database.prepare<[string, number, string, string, string]>(
      `UPDATE idempotency SET state = 'running', answer = NULL, instance = ?, created_at = ?
       WHERE tenant = ? AND key = ? AND fingerprint = ? AND state = 'unknown'`,
    );
    this.#select = database.prepare<[string, string], IdempotencyRecord>(
      `SELECT ${COLUMNS} FROM idempotency WHERE tenant = ? AND key = ?`,
    );
    this.#finish = database.prepare<[string, number, string, string]>(
      `UPDATE idempotency SET state = 'done', answer = ?, created_at = ? WHERE tenant = ? AND key = ? AND state <> 'done'`,
    );
    this.#renew = database.prepare<[number, string, string]>(
      `UPDATE idempotency SET created_at = ? WHERE tenant = ? AND key = ?`,
    );
    this.#release = database.prepare<[string, string]>(
      `DELETE FROM idempotency WHERE tenant = ? AND key = ? AND state = 'running'`,
    );
    this.#markUnknown = database.prepare<[string]>(
      `UPDATE idempotency SET state = 'unknown' WHERE state = 'running' AND instance <> ?`,
    );
    // It is written twice a call, so that an index for this alone would cost more than looking at all of it does.
    const isDue = "created_at < @before AND state <> 'running'";
    this.#pruner = new RecordPruner(
      { gate, queue, database, shrinker },
      { table: "idempotency", isDue, indexed: false },
    );
  }

  async begin(
    record: Omit<IdempotencyRecord, "state" | "answer">,
    options: { readonly retakeUnknown?: boolean | undefined } = {},
  ): Promise<IdempotencyRecord | null> {
    this.#gate.check();
    const { tenant, key, fingerprint, instance, keptAt } = record;
    return await this.#queue.write(() => {
      if (this.#insert.run(tenant, key, fingerprint, instance, keptAt).changes === 1) return null;
      const retaken =
        options.retakeUnknown === true && this.#retake.run(instance, keptAt, tenant, key, fingerprint).changes === 1;
      return retaken ? null : (this.#select.get(tenant, key) ?? null);
    });
  }

  async get(tenant: string, key: string): Promise<IdempotencyRecord | null> {
    this.#gate.check();
    return this.#select.get(tenant, key) ?? null;
  }

  async finish(tenant: string, key: string, answer: string, keptAt: number): Promise<void> {
    this.#gate.check();
    await this.#queue.write(() => this.#finish.run(answer, keptAt, tenant, key));
  }

  async renew(keys: readonly { readonly tenant: string; readonly key: string }[], keptAt: number): Promise<void> {
    this.#gate.check();
    await this.#queue.write(() => {
      for (const { tenant, key } of keys) this.#renew.run(keptAt, tenant, key);
    });
  }

  async release(tenant: string, key: string): Promise<void> {
    this.#gate.check();
    await this.#queue.write(() => this.#release.run(tenant, key));
  }

  async markUnknown(exceptInstance: string): Promise<number> {
    this.#gate.check();
    return await this.#queue.write(() => this.#markUnknown.run(exceptInstance).changes);
  }

  prune(keptBefore: number): Promise<number> {
    return this.#pruner.prune(keptBefore);
  }
}
