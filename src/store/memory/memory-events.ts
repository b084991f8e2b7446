import type { EventFilter, EventPage, EventStore, StoredEvent, TrimResult } from "../../core/store.ts";
import { matchesFilter } from "../event-filter.ts";
import { checkEventOrder } from "../event-order.ts";
import type { OpenGate } from "../open-gate.ts";

/** How many events one read looks at before it ends its page, so that it holds nobody up. */
const SCAN_LIMIT = 20_000;

/** The event log as an array. */
export class MemoryEvents implements EventStore {
  readonly #gate: OpenGate;
  readonly #isLive: (sessionId: string) => boolean;
  readonly #events: StoredEvent[] = [];
  /** Of live sessions that events were trimmed from. */
  readonly #trimmedSeqs = new Map<string, number>();
  #lastId: number;

  constructor(gate: OpenGate, isLive: (sessionId: string) => boolean, lastId: number) {
    this.#lastId = lastId;
    this.#gate = gate;
    this.#isLive = isLive;
  }

  async append(events: readonly StoredEvent[]): Promise<void> {
    this.#gate.check();
    checkEventOrder(events, this.#lastId);
    for (const event of events) this.#events.push(event);
    this.#lastId = events.at(-1)?.id ?? this.#lastId;
  }

  async read(filter: EventFilter, options: { readonly afterId: number; readonly limit: number }): Promise<EventPage> {
    this.#gate.check();
    const found: StoredEvent[] = [];
    let throughId = options.afterId;
    const start = this.#indexAfter(options.afterId);
    const end = Math.min(this.#events.length, start + SCAN_LIMIT);
    for (let index = start; index < end; index += 1) {
      const event = this.#events[index];
      if (event === undefined || found.length >= options.limit) return { events: found, throughId };
      if (matchesFilter(event, filter)) found.push(event);
      throughId = event.id;
    }
    const finished = end === this.#events.length && found.length < options.limit;
    return { events: found, throughId: finished ? Math.max(throughId, this.#lastId) : throughId };
  }

  async get(tenant: string | null, id: number): Promise<StoredEvent | null> {
    this.#gate.check();
    const event = this.#events[this.#indexAfter(id - 1)];
    return event?.id === id && matchesFilter(event, { tenant }) ? event : null;
  }

  async bounds(): Promise<{ readonly firstId: number; readonly lastId: number }> {
    this.#gate.check();
    return { firstId: this.#firstId, lastId: this.#lastId };
  }

  async lastSeqs(sessionIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
    this.#gate.check();
    const wanted = new Set(sessionIds);
    const seqs = new Map<string, number>();
    for (const [id, seq] of this.#trimmedSeqs) if (wanted.has(id)) seqs.set(id, seq);
    for (const { session_id: id, seq } of this.#events) {
      if (id !== undefined && seq !== undefined && wanted.has(id)) seqs.set(id, seq);
    }
    return seqs;
  }

  async trim(keep: { readonly maxEvents: number; readonly maxAgeMs: number }, now: number): Promise<TrimResult> {
    this.#gate.check();
    const oldestTs = new Date(now - keep.maxAgeMs).toISOString();
    let dropped = Math.max(0, this.#events.length - keep.maxEvents);
    while (dropped < this.#events.length && (this.#events[dropped]?.ts ?? oldestTs) < oldestTs) dropped += 1;
    for (const { session_id: id, seq } of this.#events.splice(0, dropped)) {
      if (id !== undefined && seq !== undefined && this.#isLive(id)) this.#trimmedSeqs.set(id, seq);
    }
    return { dropped, firstId: this.#firstId };
  }

  /** Forgets the counts of a session that is forgotten. */
  forgetSession(sessionId: string): void {
    this.#trimmedSeqs.delete(sessionId);
  }

  get #firstId(): number {
    return this.#events[0]?.id ?? this.#lastId + 1;
  }

  /** The index of the oldest event after an id. */
  #indexAfter(id: number): number {
    let low = 0;
    let high = this.#events.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#events[middle]?.id ?? Infinity) <= id) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
