import type { Database } from "./load-driver.ts";
import type { Segment } from "./event-segment.ts";

/** All of a segment but what is in it. */
export interface SegmentSize {
  readonly firstId: number;
  readonly eventCount: number;
  readonly sizeBytes: number;
}

/** All of a segment but its events. */
export type SegmentOutline = Omit<Segment, "body">;

const OUTLINE = `first_id AS firstId, last_id AS lastId, event_count AS eventCount, first_ts AS firstTs,
  newest_ts AS newestTs, names`;

/** The statements on the segments of the event log. */
export class SegmentTable {
  readonly #insert;
  readonly #delete;
  readonly #body;
  readonly #whole;
  readonly #after;
  readonly #before;
  readonly #sizes;
  readonly #oldestId;
  readonly #head;
  readonly #setHead;

  constructor(database: Database) {
    this.#insert = database.prepare<(number | string | Buffer)[]>(
      `INSERT INTO event_segments (first_id, last_id, event_count, size_bytes, first_ts, newest_ts, names, body)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#delete = database.prepare<[number]>("DELETE FROM event_segments WHERE first_id = ?");
    this.#body = database.prepare<[number], Buffer>("SELECT body FROM event_segments WHERE first_id = ?").pluck();
    this.#whole = database.prepare<[number], Segment>(
      `SELECT ${OUTLINE}, body FROM event_segments WHERE first_id <= ? ORDER BY first_id DESC LIMIT 1`,
    );
    this.#after = database.prepare<[number, number, number], SegmentOutline>(
      `SELECT ${OUTLINE} FROM event_segments
       WHERE first_id >= coalesce((SELECT max(first_id) FROM event_segments WHERE first_id <= ?), 0) AND last_id >= ?
       ORDER BY first_id LIMIT ?`,
    );
    this.#before = database.prepare<[number, number], SegmentOutline>(
      `SELECT ${OUTLINE} FROM event_segments WHERE first_id < ? ORDER BY first_id DESC LIMIT ?`,
    );
    this.#sizes = database.prepare<[number], SegmentSize>(
      `SELECT first_id AS firstId, event_count AS eventCount, size_bytes AS sizeBytes FROM event_segments
       ORDER BY first_id DESC LIMIT ?`,
    );
    this.#oldestId = database.prepare<[], number>("SELECT min(first_id) FROM event_segments").pluck();
    this.#head = database.prepare<[], number>("SELECT last_id FROM event_head").pluck();
    this.#setHead = database.prepare<[number]>("UPDATE event_head SET last_id = ?");
  }

  insert({ firstId, lastId, eventCount, firstTs, newestTs, names, body }: Segment): void {
    this.#insert.run(firstId, lastId, eventCount, body.length, firstTs, newestTs, names, body);
  }

  delete(firstId: number): void {
    this.#delete.run(firstId);
  }

  body(firstId: number): Buffer | null {
    return this.#body.get(firstId) ?? null;
  }

  /** The one segment that an id may be in. */
  around(id: number): Segment | null {
    return this.#whole.get(id) ?? null;
  }

  /** Those that hold this id or later ones, oldest first. */
  from(id: number, limit: number): SegmentOutline[] {
    return this.#after.all(id, id, limit);
  }

  /** Those before the one that starts here, newest first. */
  before(firstId: number, limit: number): SegmentOutline[] {
    return this.#before.all(firstId, limit);
  }

  /** Of the newest ones, oldest first. */
  newestSizes(limit: number): SegmentSize[] {
    return this.#sizes.all(limit).reverse();
  }

  /** `null` for an empty log. */
  oldestId(): number | null {
    return this.#oldestId.get() ?? null;
  }

  get lastId(): number {
    return this.#head.get() ?? 0;
  }

  set lastId(id: number) {
    this.#setHead.run(id);
  }
}
