import type { EventFilter, EventPage, EventStore, LostEvents, StoredEvent, TrimResult } from "../../core/store.ts";
import { matchesFilter } from "../event-filter.ts";
import { checkEventOrder } from "../event-order.ts";
import type { OpenGate } from "../open-gate.ts";
import { EventTrimmer, readSegment } from "./event-trimmer.ts";
import type { EventFiles } from "./event-files.ts";
import { eventsIn, hashName, lastSeqIn, mayMatch, SegmentBuilder, toHashes, toLines } from "./event-segment.ts";
import type { Database } from "./load-driver.ts";
import { type SegmentOutline, SegmentTable } from "./segment-table.ts";
import type { WriteQueue } from "./write-queue.ts";

/** How much one read does before it ends its page, or lets others go on: outlines looked at, and bytes of events gone through. */
const READ_LIMITS = { outlines: 1_024, bytes: 4 * 1_048_576 } as const;

/** How much the newest events may hold while they cannot be moved into the database. */
const MAX_OPEN_BYTES = 64 * 1_048_576;

/** The event log: segments, a file and a row each, of which the newest is still being written and has no row yet. */
export class SqliteEvents implements EventStore {
  readonly #gate: OpenGate;
  readonly #queue: WriteQueue;
  readonly #table: SegmentTable;
  readonly #trimmer: EventTrimmer;
  readonly #files: EventFiles;
  readonly #seqOf;
  /** The newest segment. */
  #open = new SegmentBuilder();
  /** What the newest segment's file has lost. */
  #openLost: readonly LostEvents[] = [];
  /** Of all that was ever written. */
  #lastId: number;

  constructor(gate: OpenGate, queue: WriteQueue, database: Database, files: EventFiles) {
    this.#gate = gate;
    this.#queue = queue;
    this.#files = files;
    this.#table = new SegmentTable(database);
    this.#trimmer = new EventTrimmer(database, this.#table, files);
    this.#seqOf = database.prepare<[string], number>("SELECT seq FROM event_seqs WHERE session_id = ?").pluck();
    this.#lastId = this.#table.lastId;
    this.#takeUp();
  }

  async append(events: readonly StoredEvent[]): Promise<void> {
    this.#gate.check();
    checkEventOrder(events, this.#lastId);
    if (events.length === 0) return;
    if (this.#open.isFull) this.#sealOrWait();
    const body = Buffer.from(toLines(events));
    this.#files.append(events[0]?.id ?? 0, body);
    this.#lastId = events.at(-1)?.id ?? this.#lastId;
    this.#open.add(events, body);
  }

  async read(filter: EventFilter, options: { readonly afterId: number; readonly limit: number }): Promise<EventPage> {
    this.#gate.check();
    const events: StoredEvent[] = [];
    const lost: LostEvents[] = [];
    const { afterId } = options;
    const page = (throughId: number): EventPage => {
      const within = lost.filter(({ id }) => id > afterId && id <= throughId);
      return within.length === 0 ? { events, throughId } : { events, throughId, lost: within };
    };
    let throughId = afterId;
    if (options.limit <= 0) return page(throughId);
    let bytes = 0;
    const outlines = this.#table.from(afterId + 1, READ_LIMITS.outlines);
    for (const outline of outlines) {
      if (bytes > READ_LIMITS.bytes) return page(throughId);
      if (mayMatch(outline.names, filter)) {
        const segment = readSegment(outline, this.#table, this.#files);
        const { body } = segment;
        lost.push(...segment.lost);
        bytes += body.length;
        for (const event of eventsIn(body, filter, afterId)) {
          if (!matchesFilter(event, filter)) continue;
          events.push(event);
          if (events.length === options.limit) return page(event.id);
        }
      }
      throughId = Math.max(throughId, outline.lastId);
    }
    if (outlines.length === READ_LIMITS.outlines) return page(throughId);
    if (this.#open.lastId > afterId) {
      lost.push(...this.#openLost);
      for (const body of this.#open.bodies) {
        for (const event of eventsIn(body, filter, afterId)) {
          if (!matchesFilter(event, filter)) continue;
          events.push(event);
          if (events.length === options.limit) return page(event.id);
        }
      }
    }
    return page(Math.max(throughId, this.#lastId));
  }

  async get(tenant: string | null, id: number): Promise<StoredEvent | null> {
    this.#gate.check();
    for (const body of this.#bodiesAround(id)) {
      for (const event of eventsIn(body, { tenant }, id - 1)) {
        if (event.id === id) return matchesFilter(event, { tenant }) ? event : null;
        if (event.id > id) return null;
      }
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
    const older = new Set(sessionIds);
    for (const id of sessionIds) {
      const seq = this.#newestSeq(id);
      if (seq === null) continue;
      seqs.set(id, seq);
      older.delete(id);
    }
    const wanted = Map.groupBy(older, (id) => hashName("session_id", id));
    let before = Number.MAX_SAFE_INTEGER;
    while (wanted.size > 0) {
      const outlines = this.#table.before(before, READ_LIMITS.outlines);
      for (const outline of outlines) {
        this.#collectSeqs(outline, wanted, seqs);
        before = outline.firstId;
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
    const reachesNewest = this.#open.eventCount > keep.maxEvents || this.#open.firstTs < oldestTs;
    if (this.#open.eventCount > 0 && reachesNewest) this.#seal();
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- one part at a time, so that calls go on between them
      const part = await this.#queue.write(() =>
        this.#trimmer.trimPart(Math.max(0, keep.maxEvents - this.#open.eventCount), oldestTs),
      );
      for (const firstId of part.files) this.#files.remove(firstId);
      dropped += part.dropped;
      this.#gate.check();
      if (part.finished) return { dropped, firstId: this.#bounds().firstId };
    }
  }

  #bounds(): { readonly firstId: number; readonly lastId: number } {
    const oldestOpen = this.#open.eventCount === 0 ? this.#lastId + 1 : this.#open.firstId;
    return { firstId: this.#table.oldestId() ?? oldestOpen, lastId: this.#lastId };
  }

  /** Goes on with the files of an earlier run: the newest has no row, and those that were trimmed may still be there. */
  #takeUp(): void {
    const rows = new Set(this.#table.inFiles());
    for (const firstId of this.#files.list()) {
      if (firstId <= this.#table.lastId) {
        if (!rows.has(firstId)) this.#files.remove(firstId);
        continue;
      }
      if (this.#open.eventCount > 0) this.#seal();
      const { batches, lost } = this.#files.read(firstId);
      for (const body of batches) this.#open.add([...eventsIn(body, { tenant: null }, 0)], body);
      this.#openLost = lost;
      if (lost.length > 0) this.#open.addDamage();
      if (this.#open.eventCount === 0) this.#files.remove(firstId);
      else this.#files.resume(firstId);
      this.#lastId = Math.max(this.#lastId, this.#open.lastId);
    }
  }

  /** Gives the newest segment its row. */
  #seal(): void {
    const segment = this.#open.toSegment();
    this.#queue.writeNow(() => {
      this.#table.insert(segment);
      this.#table.lastId = segment.lastId;
    });
    this.#open = new SegmentBuilder();
    this.#openLost = [];
    this.#files.close();
  }

  /** A seal that fails is tried again by the next append, and loses nothing: the events are in their file. */
  #sealOrWait(): void {
    try {
      this.#seal();
    } catch (error) {
      if (this.#open.sizeBytes > MAX_OPEN_BYTES) throw error;
    }
  }

  #newestSeq(sessionId: string): number | null {
    for (const body of this.#open.bodies.toReversed()) {
      const seq = lastSeqIn(body, sessionId);
      if (seq !== null) return seq;
    }
    return null;
  }

  #bodiesAround(id: number): readonly Buffer[] {
    if (this.#open.eventCount > 0 && id >= this.#open.firstId) return this.#open.bodies;
    const outline = this.#table.around(id);
    return outline === null || outline.lastId < id ? [] : [this.#bodyOf(outline)];
  }

  #bodyOf(outline: Pick<SegmentOutline, "firstId" | "lastId">): Buffer {
    return readSegment(outline, this.#table, this.#files).body;
  }

  /** Finds the sessions that a segment has the newest events of, and crosses them off. */
  #collectSeqs(outline: SegmentOutline, wanted: Map<number, string[]>, seqs: Map<string, number>): void {
    const hits = toHashes(outline.names).filter((hash) => wanted.has(hash));
    if (hits.length === 0) return;
    const body = this.#bodyOf(outline);
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
