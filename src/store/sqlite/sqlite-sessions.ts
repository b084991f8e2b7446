import type { SessionRow, SessionStore } from "../../core/store.ts";
import type { OpenGate } from "../open-gate.ts";
import type { Database } from "./load-driver.ts";
import type { WriteQueue } from "./write-queue.ts";

const COLUMNS = `id, name, tenant, worker_id AS workerId, resource, config, ttl_ms AS ttlMs, created_at AS createdAt,
  expires_at AS expiresAt, handle, state, ended_at AS endedAt, instance`;

/** Sessions in a table. */
export class SqliteSessions implements SessionStore {
  readonly #gate: OpenGate;
  readonly #queue: WriteQueue;
  readonly #put;
  readonly #get;
  readonly #live;
  readonly #renew;
  readonly #end;
  readonly #ended;
  readonly #restate;
  readonly #prune;
  readonly #pruneSeqs;

  constructor(gate: OpenGate, queue: WriteQueue, database: Database) {
    this.#gate = gate;
    this.#queue = queue;
    this.#put = database.prepare<[SessionRow]>(
      `INSERT INTO sessions (id, name, tenant, worker_id, resource, ttl_ms, created_at, expires_at, ended_at, state,
         instance, config, handle)
       VALUES (@id, @name, @tenant, @workerId, @resource, @ttlMs, @createdAt, @expiresAt, @endedAt, @state, @instance,
         @config, @handle)
       ON CONFLICT (id) DO UPDATE SET name = excluded.name, tenant = excluded.tenant, worker_id = excluded.worker_id,
         resource = excluded.resource, ttl_ms = excluded.ttl_ms, created_at = excluded.created_at,
         expires_at = excluded.expires_at, ended_at = excluded.ended_at, state = excluded.state,
         instance = excluded.instance, config = excluded.config, handle = excluded.handle
       WHERE state = 'live'`,
    );
    this.#get = database.prepare<[string, string], SessionRow>(
      `SELECT ${COLUMNS} FROM sessions WHERE id = ? AND tenant = ?`,
    );
    this.#live = database.prepare<[], SessionRow>(
      `SELECT ${COLUMNS} FROM sessions WHERE state = 'live' ORDER BY created_at, id`,
    );
    this.#renew = database.prepare<[number, string]>(
      `UPDATE sessions SET expires_at = ? WHERE id = ? AND state = 'live'`,
    );
    this.#end = database.prepare<[string, number, string]>(
      `UPDATE sessions SET state = ?, ended_at = ? WHERE id = ? AND state = 'live'`,
    );
    this.#ended = database.prepare<[string, number], SessionRow>(
      `SELECT ${COLUMNS} FROM sessions WHERE ended_at IS NOT NULL AND state IN (SELECT value FROM json_each(?))
       ORDER BY created_at DESC, id DESC LIMIT ?`,
    );
    this.#restate = database.prepare<[string, string]>(
      "UPDATE sessions SET state = ? WHERE id = ? AND ended_at IS NOT NULL",
    );
    this.#prune = database.prepare<[number]>("DELETE FROM sessions WHERE ended_at < ?");
    this.#pruneSeqs = database.prepare<[number]>(
      "DELETE FROM event_seqs WHERE session_id IN (SELECT id FROM sessions WHERE ended_at < ?)",
    );
  }

  async put(session: SessionRow): Promise<void> {
    this.#gate.check();
    await this.#queue.write(() => this.#put.run(session));
  }

  async get(tenant: string, id: string): Promise<SessionRow | null> {
    this.#gate.check();
    return this.#get.get(id, tenant) ?? null;
  }

  async live(): Promise<readonly SessionRow[]> {
    this.#gate.check();
    return this.#live.all();
  }

  async renew(expiresAt: ReadonlyMap<string, number>): Promise<void> {
    this.#gate.check();
    const renewals = [...expiresAt];
    await this.#queue.write(() => {
      for (const [id, time] of renewals) this.#renew.run(time, id);
    });
  }

  async end(id: string, reason: string, endedAt: number): Promise<void> {
    this.#gate.check();
    await this.#queue.write(() => this.#end.run(reason, endedAt, id));
  }

  async ended(reasons: readonly string[], limit: number): Promise<readonly SessionRow[]> {
    this.#gate.check();
    return this.#ended.all(JSON.stringify(reasons), limit).toReversed();
  }

  async restate(id: string, reason: string): Promise<void> {
    this.#gate.check();
    await this.#queue.write(() => this.#restate.run(reason, id));
  }

  async prune(endedBefore: number): Promise<number> {
    this.#gate.check();
    return await this.#queue.write(() => {
      this.#pruneSeqs.run(endedBefore);
      return this.#prune.run(endedBefore).changes;
    });
  }
}
