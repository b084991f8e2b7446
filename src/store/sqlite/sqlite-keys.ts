import type { KeyRecord, KeyStore } from "../../core/store.ts";
import type { OpenGate } from "../open-gate.ts";
import type { Database } from "./load-driver.ts";
import type { WriteQueue } from "./write-queue.ts";

type KeyRow = Omit<KeyRecord, "scopes"> & { readonly scopes: string };

const COLUMNS = `id, hash, name, tenant, scopes, created_at AS createdAt, expires_at AS expiresAt, revoked_at AS revokedAt`;

/** API keys in a table. */
export class SqliteKeys implements KeyStore {
  readonly #gate: OpenGate;
  readonly #queue: WriteQueue;
  readonly #put;
  readonly #get;
  readonly #list;

  constructor(gate: OpenGate, queue: WriteQueue, database: Database) {
    this.#gate = gate;
    this.#queue = queue;
    this.#put = database.prepare<[KeyRow]>(
      `INSERT INTO keys (id, hash, name, tenant, scopes, created_at, expires_at, revoked_at)
       VALUES (@id, @hash, @name, @tenant, @scopes, @createdAt, @expiresAt, @revokedAt)
       ON CONFLICT (id) DO UPDATE SET hash = excluded.hash, name = excluded.name, tenant = excluded.tenant,
         scopes = excluded.scopes, created_at = excluded.created_at, expires_at = excluded.expires_at,
         revoked_at = excluded.revoked_at`,
    );
    this.#get = database.prepare<[string], KeyRow>(`SELECT ${COLUMNS} FROM keys WHERE id = ?`);
    this.#list = database.prepare<[], KeyRow>(`SELECT ${COLUMNS} FROM keys ORDER BY created_at, id`);
  }

  async put(key: KeyRecord): Promise<void> {
    this.#gate.check();
    const row = { ...key, scopes: JSON.stringify(key.scopes) };
    await this.#queue.write(() => this.#put.run(row));
  }

  async get(id: string): Promise<KeyRecord | null> {
    this.#gate.check();
    const row = this.#get.get(id);
    return row === undefined ? null : toRecord(row);
  }

  async list(): Promise<readonly KeyRecord[]> {
    this.#gate.check();
    return this.#list.all().map(toRecord);
  }
}

function toRecord(row: KeyRow): KeyRecord {
  // Only `put` writes scopes.
  return { ...row, scopes: JSON.parse(row.scopes) as string[] };
}
