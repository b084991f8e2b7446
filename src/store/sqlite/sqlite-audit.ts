import type { AuditEntry, AuditStore } from "../../core/store.ts";
import type { OpenGate } from "../open-gate.ts";
import type { Database } from "./load-driver.ts";
import type { WriteQueue } from "./write-queue.ts";

type AuditRow = Omit<AuditEntry, "data"> & { readonly data: string };

const COLUMNS = "ts, tenant, key_id AS keyId, action, outcome, data";

/** The audit trail in a table. */
export class SqliteAudit implements AuditStore {
  readonly #gate: OpenGate;
  readonly #queue: WriteQueue;
  readonly #append;
  readonly #list;
  readonly #listOfTenant;
  readonly #trim;

  constructor(gate: OpenGate, queue: WriteQueue, database: Database) {
    this.#gate = gate;
    this.#queue = queue;
    this.#append = database.prepare<[AuditRow]>(
      `INSERT INTO audit (ts, tenant, key_id, action, outcome, data)
       VALUES (@ts, @tenant, @keyId, @action, @outcome, @data)`,
    );
    this.#list = database.prepare<[number], AuditRow>(`SELECT ${COLUMNS} FROM audit ORDER BY id DESC LIMIT ?`);
    this.#listOfTenant = database.prepare<[string, number], AuditRow>(
      `SELECT ${COLUMNS} FROM audit WHERE tenant = ? ORDER BY id DESC LIMIT ?`,
    );
    this.#trim = database.prepare<[number]>(
      "DELETE FROM audit WHERE id <= (SELECT id FROM audit ORDER BY id DESC LIMIT 1 OFFSET ?)",
    );
  }

  async append(entry: AuditEntry): Promise<void> {
    this.#gate.check();
    const row = { ...entry, data: JSON.stringify(entry.data) };
    await this.#queue.write(() => this.#append.run(row));
  }

  async list(options: {
    readonly tenant?: string | undefined;
    readonly limit: number;
  }): Promise<readonly AuditEntry[]> {
    this.#gate.check();
    const limit = Math.max(0, options.limit);
    const rows = options.tenant === undefined ? this.#list.all(limit) : this.#listOfTenant.all(options.tenant, limit);
    // Only `append` writes data.
    return rows.map((row) => ({ ...row, data: JSON.parse(row.data) as Record<string, unknown> }));
  }

  async trim(maxEntries: number): Promise<number> {
    this.#gate.check();
    return await this.#queue.write(() => this.#trim.run(Math.max(0, maxEntries)).changes);
  }
}
