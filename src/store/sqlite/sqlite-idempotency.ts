import type { IdempotencyRecord, IdempotencyStore } from "../../core/store.ts";
import type { OpenGate } from "../open-gate.ts";
import type { Database } from "./load-driver.ts";
import type { Shrinker } from "./shrinker.ts";
import type { WriteQueue } from "./write-queue.ts";

// The column has its name from when nothing moved it.
const COLUMNS = `tenant, key, fingerprint, state, answer, instance, created_at AS keptAt`;

/** How many records go in one write. */
const PRUNE_PART = 1_000;

/** Idempotency records in a table; its unique index decides between callers of one key. */
export class SqliteIdempotency implements IdempotencyStore {
  readonly #gate: OpenGate;
  readonly #queue: WriteQueue;
  readonly #shrinker: Shrinker;
  readonly #insert;
  readonly #retake;
  readonly #select;
  readonly #finish;
  readonly #renew;
  readonly #release;
  readonly #markUnknown;
  readonly #prune;

  constructor(gate: OpenGate, queue: WriteQueue, database: Database, shrinker: Shrinker) {
    this.#gate = gate;
    this.#shrinker = shrinker;
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
    this.#prune = database.prepare<[number, number]>(
      `DELETE FROM idempotency WHERE rowid IN
         (SELECT rowid FROM idempotency WHERE created_at < ? AND state <> 'running' ORDER BY rowid LIMIT ?)`,
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

  async prune(keptBefore: number): Promise<number> {
    let pruned = 0;
    for (;;) {
      this.#gate.check();
      // oxlint-disable-next-line no-await-in-loop -- one part at a time, so that calls go on between them
      const part = await this.#queue.write(() => this.#prune.run(keptBefore, PRUNE_PART).changes);
      pruned += part;
      if (part < PRUNE_PART) break;
    }
    if (pruned > 0) await this.#shrinker.shrink();
    return pruned;
  }
}
