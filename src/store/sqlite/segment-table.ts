import type { Database } from "./load-driver.ts";
import type { Segment } from "./event-segment.ts";

/** All of a segment but its events. */
export type SegmentOutline = Omit<Segment, "body">;

const OUTLINE = `first_id AS firstId, last_id AS lastId, event_count AS eventCount, first_ts AS firstTs,
  newest_ts AS newestTs, names`;

/** The statements on the segments of the event log. */
export class SegmentTable {
  readonly #insert;
  readonly #delete;
  readonly #body;
  readonly #around;
  readonly #after;
  readonly #before;
  readonly #eventCount;
  readonly #inFiles;
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
    this.#around = database.prepare<[number], SegmentOutline>(
      `SELECT ${OUTLINE} FROM event_segments WHERE first_id <= ? ORDER BY first_id DESC LIMIT 1`,
    );
    this.#after = database.prepare<[number, number, number], SegmentOutline>(
      `SELECT ${OUTLINE} FROM event_segments
       WHERE first_id >= coalesce((SELECT max(first_id) FROM event_segments WHERE first_id <= ?), 0) AND last_id >= ?
       ORDER BY first_id LIMIT ?`,
    );
    this.#before = database.prepare<[number, number], SegmentOutline>(
      `SELECT ${OUTLINE} FROM event_segments WHERE first_id < ? ORDER BY first_id DESC LIMIT ?`,
    );
    this.#eventCount = database.prepare<[], number>("SELECT total(event_count) FROM event_segments").pluck();
    this.#inFiles = database.prepare<[], number>("SELECT first_id FROM event_segments WHERE length(body) = 0").pluck();
    this.#oldestId = database.prepare<[], number>("SELECT min(first_id) FROM event_segments").pluck();
    this.#head = database.prepare<[], number>("SELECT last_id FROM event_head").pluck();
    this.#setHead = database.prepare<[number]>("UPDATE event_head SET last_id = ?");
  }

  insert({ firstId, lastId, eventCount, firstTs, newestTs, sizeBytes, names, body }: Segment): void {
    this.#insert.run(firstId, lastId, eventCount, sizeBytes, firstTs, newestTs, names, body);
  }

  delete(firstId: number): void {
    this.#delete.run(firstId);
  }

  body(firstId: number): Buffer | null {
    return this.#body.get(firstId) ?? null;
  }

  /** The one segment that an id may be in. */
  around(id: number): SegmentOutline | null {
    return this.#around.get(id) ?? null;
  }

  /** Those that hold this id or later ones, oldest first. */
  from(id: number, limit: number): SegmentOutline[] {
    return this.#after.all(id, id, limit);
  }

  /** Those before the one that starts here, newest first. */
  before(firstId: number, limit: number): SegmentOutline[] {
    return this.#before.all(firstId, limit);
  }

  /** The first events of the segments whose events are in files. */
  inFiles(): number[] {
    return this.#inFiles.all();
  }

  /** Reads a column of every segment: for trims, not for calls. */
  countEvents(): number {
    return this.#eventCount.get() ?? 0;
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
