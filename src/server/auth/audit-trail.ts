import type { Clock } from "../../core/clock.ts";
import type { Logger } from "../../core/context.ts";
import type { AuditEntry, AuditStore } from "../../core/store.ts";

/** Who did it, and what with. */
export interface AuditFacts {
  readonly tenant?: string | null;
  readonly keyId?: string | null;
  readonly data?: Readonly<Record<string, unknown>>;
}

interface Flood {
  count: number;
  /** Writes what was counted, if there is anything. */
  readonly end: () => void;
}

/** How long repeated refusals are counted before they are written as one entry. */
const WINDOW_MS = 60_000;
/** Sources that are counted apart; what comes from further ones is counted together. */
const MAX_SOURCES = 1_000;
const MAX_ENTRIES = 100_000;
const TRIM_EVERY = 1_000;

/** Writes down who did what at the edge. Nothing waits for it, and no key ever comes here. */
export class AuditTrail {
  readonly #store: AuditStore;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #floods = new Map<string, Flood>();
  #written = 0;
  #writing: Promise<unknown> = Promise.resolve();

  constructor(store: AuditStore, clock: Clock, logger: Logger) {
    this.#store = store;
    this.#clock = clock;
    this.#logger = logger;
  }

  /** Writes one entry. */
  record(action: string, outcome: string, { tenant = null, keyId = null, data = {} }: AuditFacts = {}): void {
    const entry: AuditEntry = { ts: this.#clock.date().toISOString(), tenant, keyId, action, outcome, data };
    this.#written += 1;
    const trim = this.#written % TRIM_EVERY === 0;
    this.#writing = this.#writing
      .then(() => this.#store.append(entry))
      .then(() => (trim ? this.#store.trim(MAX_ENTRIES) : 0))
      .catch((error: unknown) => this.#logger.error({ err: error, action, outcome }, "an audit entry was lost"));
  }

  /** Writes the first of its kind at once and counts the rest of the minute into one more entry. */
  recordFlood(action: string, source: string, facts: AuditFacts): void {
    const known = this.#floods.get(`${action} ${source}`);
    if (known === undefined && this.#floods.size >= MAX_SOURCES && source !== "others") {
      return this.recordFlood(action, "others", { ...facts, data: { source: "others" } });
    }
    if (known !== undefined) {
      known.count += 1;
      return;
    }
    const flood: Flood = {
      count: 0,
      end: () => {
        if (!this.#floods.delete(`${action} ${source}`) || flood.count === 0) return;
        this.record(action, "refused", { ...facts, data: { ...facts.data, repeated: flood.count } });
      },
    };
    this.#floods.set(`${action} ${source}`, flood);
    this.record(action, "refused", facts);
    this.#clock.after(WINDOW_MS, flood.end);
  }

  /** Writes what is still being counted, and resolves once all is written. */
  async close(): Promise<void> {
    for (const flood of [...this.#floods.values()]) flood.end();
    await this.flush();
  }

  /** Resolves once everything so far is written. */
  async flush(): Promise<void> {
    await this.#writing;
  }
}
