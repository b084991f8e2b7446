import type { AuditEntry, AuditStore, KeyRecord, KeyStore, SessionRow, SessionStore, Store } from "../../core/store.ts";
import { OpenGate } from "../open-gate.ts";
import { MemoryEvents } from "./memory-events.ts";
import { compareNames, deleteWhere, MemoryIdempotency, MemoryJobs } from "./memory-records.ts";

class MemorySessions implements SessionStore {
  readonly #gate: OpenGate;
  readonly #sessions: Map<string, SessionRow>;
  readonly #forget: (id: string) => void;

  constructor(gate: OpenGate, sessions: Map<string, SessionRow>, forget: (id: string) => void) {
    this.#gate = gate;
    this.#sessions = sessions;
    this.#forget = forget;
  }

  async put(session: SessionRow): Promise<void> {
    this.#gate.check();
    const known = this.#sessions.get(session.id);
    if (known === undefined || known.state === "live") this.#sessions.set(session.id, session);
  }

  async get(tenant: string, id: string): Promise<SessionRow | null> {
    this.#gate.check();
    const session = this.#sessions.get(id);
    return session?.tenant === tenant ? session : null;
  }

  async live(): Promise<readonly SessionRow[]> {
    this.#gate.check();
    return [...this.#sessions.values()]
      .filter(({ state }) => state === "live")
      .toSorted((a, b) => a.createdAt - b.createdAt || compareNames(a.id, b.id));
  }

  async renew(expiresAt: ReadonlyMap<string, number>): Promise<void> {
    this.#gate.check();
    for (const [id, time] of expiresAt) {
      const session = this.#sessions.get(id);
      if (session?.state === "live") this.#sessions.set(id, { ...session, expiresAt: time });
    }
  }

  async end(id: string, reason: string, endedAt: number): Promise<void> {
    this.#gate.check();
    const session = this.#sessions.get(id);
    if (session?.state === "live") this.#sessions.set(id, { ...session, state: reason, endedAt });
  }

  async ended(reasons: readonly string[], limit: number): Promise<readonly SessionRow[]> {
    this.#gate.check();
    const found = [...this.#sessions.values()].filter(({ state }) => state !== "live" && reasons.includes(state));
    return found
      .toSorted((a, b) => a.createdAt - b.createdAt || compareNames(a.id, b.id))
      .slice(Math.max(0, found.length - limit));
  }

  async restate(id: string, reason: string): Promise<void> {
    this.#gate.check();
    const session = this.#sessions.get(id);
    if (session !== undefined && session.state !== "live") this.#sessions.set(id, { ...session, state: reason });
  }

  async prune(endedBefore: number): Promise<number> {
    this.#gate.check();
    return deleteWhere(this.#sessions, ({ id, endedAt }) => {
      const drop = endedAt !== null && endedAt < endedBefore;
      if (drop) this.#forget(id);
      return drop;
    });
  }
}

class MemoryKeys implements KeyStore {
  readonly #gate: OpenGate;
  readonly #keys = new Map<string, KeyRecord>();

  constructor(gate: OpenGate) {
    this.#gate = gate;
  }

  async put(key: KeyRecord): Promise<void> {
    this.#gate.check();
    this.#keys.set(key.id, key);
  }

  async get(id: string): Promise<KeyRecord | null> {
    this.#gate.check();
    return this.#keys.get(id) ?? null;
  }

  async list(): Promise<readonly KeyRecord[]> {
    this.#gate.check();
    return [...this.#keys.values()].toSorted((a, b) => a.createdAt - b.createdAt || compareNames(a.id, b.id));
  }
}

class MemoryAudit implements AuditStore {
  readonly #gate: OpenGate;
  readonly #entries: AuditEntry[] = [];

  constructor(gate: OpenGate) {
    this.#gate = gate;
  }

  async append(entry: AuditEntry): Promise<void> {
    this.#gate.check();
    this.#entries.push(entry);
  }

  async list(options: {
    readonly tenant?: string | undefined;
    readonly limit: number;
  }): Promise<readonly AuditEntry[]> {
    this.#gate.check();
    const { tenant, limit } = options;
    const found: AuditEntry[] = [];
    for (let index = this.#entries.length - 1; index >= 0 && found.length < limit; index -= 1) {
      const entry = this.#entries[index];
      if (entry !== undefined && (tenant === undefined || entry.tenant === tenant)) found.push(entry);
    }
    return found;
  }

  async trim(maxEntries: number): Promise<number> {
    this.#gate.check();
    return this.#entries.splice(0, Math.max(0, this.#entries.length - maxEntries)).length;
  }
}

/** Keeps the state in the process: nothing survives it. What is handed over is kept as it is, so it must not change later. */
export function createMemoryStore({ lastEventId = 0 }: { readonly lastEventId?: number } = {}): Store {
  const gate = new OpenGate();
  const sessions = new Map<string, SessionRow>();
  const events = new MemoryEvents(gate, (id) => sessions.get(id)?.state === "live", lastEventId);
  return {
    name: "memory",
    durable: false,
    events,
    idempotency: new MemoryIdempotency(gate),
    jobs: new MemoryJobs(gate),
    sessions: new MemorySessions(gate, sessions, (id) => events.forgetSession(id)),
    keys: new MemoryKeys(gate),
    audit: new MemoryAudit(gate),
    async close() {
      gate.shut();
    },
  };
}
