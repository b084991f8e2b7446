import type { EventFilter, EventPage, EventStore, StoredEvent, TrimResult } from "../../core/store.ts";
import { matchesFilter } from "../event-filter.ts";
import { checkEventOrder } from "../event-order.ts";
import type { OpenGate } from "../open-gate.ts";
import { EventTrimmer } from "./event-trimmer.ts";
import { eventsIn, hashName, lastSeqIn, mayMatch, packEvents, toHashes } from "./event-segment.ts";
import type { Database } from "./load-driver.ts";
import { SegmentTable } from "./segment-table.ts";
import { SegmentTail } from "./segment-tail.ts";
import type { WriteQueue } from "./write-queue.ts";

/** How much one read does before it ends its page, or lets others go on: outlines looked at, and bytes of events gone through. */
const READ_LIMITS = { outlines: 1_024, bytes: 4 * 1_048_576 } as const;

/** The event log in segments: one row a batch, and small rows merged. */
export class SqliteEvents implements EventStore {
  readonly #gate: OpenGate;
  readonly #queue: WriteQueue;
  readonly #table: SegmentTable;
  readonly #trimmer: EventTrimmer;
  readonly #seqOf;
  /** Read when first needed, and again after a rollback. */
  #tail: SegmentTail | null = null;

  constructor(gate: OpenGate, queue: WriteQueue, database: Database) {
    this.#gate = gate;
    this.#queue = queue;
    this.#table = new SegmentTable(database);
    this.#trimmer = new EventTrimmer(database, this.#table);
    this.#seqOf = database.prepare<[string], number>("SELECT seq FROM event_seqs WHERE session_id = ?").pluck();
    queue.onRollback(() => (this.#tail = null));
  }

  async append(events: readonly StoredEvent[]): Promise<void> {
    this.#gate.check();
    const segments = packEvents(events);
    await this.#queue.write(() => {
      checkEventOrder(events, this.#table.lastId);
      this.#tail ??= new SegmentTail(this.#table);
      for (const segment of segments) this.#tail.push(segment);
      this.#table.lastId = events.at(-1)?.id ?? this.#table.lastId;
    });
  }

  async read(filter: EventFilter, options: { readonly afterId: number; readonly limit: number }): Promise<EventPage> {
    this.#gate.check();
    const events: StoredEvent[] = [];
    let throughId = options.afterId;
    if (options.limit <= 0) return { events, throughId };
    let bytes = 0;
    const outlines = this.#table.from(options.afterId + 1, READ_LIMITS.outlines);
    for (const { firstId, lastId, names } of outlines) {
      if (bytes > READ_LIMITS.bytes) return { events, throughId };
      if (mayMatch(names, filter)) {
        const body = this.#table.body(firstId) ?? Buffer.alloc(0);
        bytes += body.length;
        for (const event of eventsIn(body, filter, options.afterId)) {
          if (!matchesFilter(event, filter)) continue;
          events.push(event);
          if (events.length === options.limit) return { events, throughId: event.id };
        }
      }
      throughId = Math.max(throughId, lastId);
    }
    const finished = outlines.length < READ_LIMITS.outlines;
    return { events, throughId: finished ? Math.max(throughId, this.#table.lastId) : throughId };
  }

  async get(tenant: string | null, id: number): Promise<StoredEvent | null> {
    this.#gate.check();
    const segment = this.#table.around(id);
    if (segment === null || segment.lastId < id) return null;
    for (const event of eventsIn(segment.body, { tenant }, id - 1)) {
      return event.id === id && matchesFilter(event, { tenant }) ? event : null;
    }
    return null;
  }

  async bounds(): Promise<{ readonly firstId: number; readonly lastId: number }> {
    this.#gate.check();
    return this.#bounds();
  }

  async lastSeqs(sessionIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
    this.#gate.check();
    const seqs = new Map<string, number>();
    const wanted = Map.groupBy(new Set(sessionIds), (id) => hashName("session_id", id));
    let before = Number.MAX_SAFE_INTEGER;
    while (wanted.size > 0) {
      const outlines = this.#table.before(before, READ_LIMITS.outlines);
      for (const { firstId, names } of outlines) {
        this.#collectSeqs(firstId, names, wanted, seqs);
        before = firstId;
      }
      if (outlines.length < READ_LIMITS.outlines) break;
      // oxlint-disable-next-line no-await-in-loop -- others go on between two parts of a long log
      await new Promise((resolve) => setImmediate(resolve));
      this.#gate.check();
    }
    for (const id of [...wanted.values()].flat()) {
      const seq = this.#seqOf.get(id);
      if (seq !== undefined) seqs.set(id, seq);
    }
    return seqs;
  }

  async trim(keep: { readonly maxEvents: number; readonly maxAgeMs: number }, now: number): Promise<TrimResult> {
    this.#gate.check();
    const oldestTs = new Date(now - keep.maxAgeMs).toISOString();
    let dropped = 0;
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- one part at a time, so that calls go on between them
      const part = await this.#queue.write(() => {
        this.#tail = null;
        return this.#trimmer.trimPart(keep.maxEvents, oldestTs);
      });
      dropped += part.dropped;
      this.#gate.check();
      if (part.finished) return { dropped, firstId: this.#bounds().firstId };
    }
  }

  #bounds(): { readonly firstId: number; readonly lastId: number } {
    const { lastId } = this.#table;
    return { firstId: this.#table.oldestId() ?? lastId + 1, lastId };
  }

  /** Finds the sessions that a segment has the newest events of, and crosses them off. */
  #collectSeqs(firstId: number, names: Buffer, wanted: Map<number, string[]>, seqs: Map<string, number>): void {
    const hits = toHashes(names).filter((hash) => wanted.has(hash));
    if (hits.length === 0) return;
    const body = this.#table.body(firstId) ?? Buffer.alloc(0);
    for (const hash of hits) {
      const missing = (wanted.get(hash) ?? []).filter((id) => {
        const seq = lastSeqIn(body, id);
        if (seq !== null) seqs.set(id, seq);
        return seq === null;
      });
      if (missing.length === 0) wanted.delete(hash);
      else wanted.set(hash, missing);
    }
  }
}
