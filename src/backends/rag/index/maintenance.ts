import type { TimeSlice } from "../time-slice.ts";
import { decodePostings, encodePostings, PostingsBuilder } from "./codec.ts";
import type { Database } from "./database.ts";
import { insertSegment } from "./inverter.ts";
import type { IndexSnapshot } from "./reader.ts";
import type { SegmentView } from "./segment.ts";
import { Statements } from "./statements.ts";

/** Segments of like size after which they become one. */
const MERGE_AT = 8;
const MARK_DEAD = "INSERT OR IGNORE INTO dead SELECT chunk FROM chunks WHERE chunk >= ? AND chunk < ?";
const PAGE = 1_000;
const ROWS_AT_ONCE = 500;

/** Takes back what was staged for a generation that never came: the process that wrote it ended, or gave up. */
export async function discardStaged(database: Database, generation: number, slice: TimeSlice): Promise<void> {
  const statements = new Statements(database);
  database.transaction(() => {
    statements.run("UPDATE documents SET removed = NULL WHERE added <= ? AND removed > ?", generation, generation);
    statements.run("UPDATE segments SET removed = NULL WHERE added <= ? AND removed > ?", generation, generation);
    statements.run("DELETE FROM hidden WHERE added > ?", generation);
    statements.run("UPDATE hidden SET removed = NULL WHERE removed > ?", generation);
  })();
  // Only segments that go too list their chunks.
  await dropDocuments(database, { where: "added > ?", listed: false }, generation, slice);
  await dropSegments(database, "added > ?", generation, slice);
}

/** Deletes the rows of what no generation from this one on shows. */
export async function purge(database: Database, generation: number, slice: TimeSlice): Promise<void> {
  await dropDocuments(database, { where: "removed <= ?", listed: true }, generation, slice);
  await dropSegments(database, "removed <= ?", generation, slice);
  const statements = new Statements(database);
  statements.run("DELETE FROM hidden WHERE removed <= ?", generation);
  if (statements.get("SELECT 1 FROM vectors LIMIT 1") !== undefined) {
    statements.run("DELETE FROM vectors WHERE digest NOT IN (SELECT digest FROM chunks)");
  }
}

/** Gives the pages of deleted rows back to the file system. */
export function shrink(database: Database): void {
  if (Number(database.pragma("freelist_count", { simple: true })) > 0) database.pragma("incremental_vacuum");
  database.pragma("wal_checkpoint(TRUNCATE)");
}

/** Chooses neighbouring segments to put into one: many of like size, or those in which much is dead. */
export function chooseMerge({ segments }: IndexSnapshot): readonly SegmentView[] {
  const wasteful = segments.find(({ ids, chunks }) => chunks === 0 || ids.length - chunks > ids.length / 4);
  if (wasteful !== undefined) return [wasteful];
  const run: SegmentView[] = [];
  let chunks = 0;
  for (const segment of segments.toReversed()) {
    if (run.length > 0 && segment.chunks > chunks) break;
    run.unshift(segment);
    chunks += segment.chunks;
  }
  if (run.length >= MERGE_AT) return run;
  return segments.length > 3 * MERGE_AT ? segments.slice(-2 * MERGE_AT) : [];
}

/** Writes one segment in place of several, without their dead chunks, for the next generation. */
export async function mergeSegments(
  database: Database,
  views: readonly SegmentView[],
  generation: number,
  slice: TimeSlice,
): Promise<void> {
  const statements = new Statements(database);
  const { ids, lengths, maps } = mapOrdinals(views);
  const segment = ids.length === 0 ? undefined : insertSegment(database, { ids, lengths, generation });
  const cursors = views.map((view, index) => new TermCursor(statements, view.segment, maps[index] ?? new Int32Array()));
  while (segment !== undefined) {
    const done = database.transaction(() => {
      for (let count = 0; count < ROWS_AT_ONCE; count++) {
        const heads = cursors.flatMap((cursor) => cursor.head?.term ?? []);
        if (heads.length === 0) return true;
        const term = heads.reduce((least, head) => (compareTerms(head, least) < 0 ? head : least));
        const merged = new PostingsBuilder();
        for (const cursor of cursors) if (cursor.head?.term === term) cursor.moveInto(merged);
        if (merged.ordinals.length > 0) {
          const data = encodePostings(merged);
          statements.run("INSERT INTO postings VALUES (?, ?, ?, ?)", segment, term, merged.ordinals.length, data);
        }
      }
      return false;
    })();
    if (done) break;
    // oxlint-disable-next-line no-await-in-loop
    await slice.pause();
  }
  database.transaction(() => {
    for (const view of views) {
      statements.run("UPDATE segments SET removed = ? WHERE segment = ?", generation, view.segment);
    }
    statements.run("UPDATE state SET value = ? WHERE name = 'generation'", generation);
    // In the same step: a snapshot of this generation no longer lists them.
    for (const { ids: old } of views) {
      statements.run("DELETE FROM dead WHERE chunk BETWEEN ? AND ?", old[0] ?? 0, old.at(-1) ?? -1);
    }
  })();
}

/** Numbers the living chunks of several segments anew; each map gives an old ordinal's new one, or -1. */
function mapOrdinals(views: readonly SegmentView[]) {
  const ids: number[] = [];
  const lengths: number[] = [];
  const maps = views.map(({ ids: own, lengths: ownLengths, dead }) => {
    const map = new Int32Array(own.length).fill(-1);
    for (let ordinal = 0; ordinal < own.length; ordinal++) {
      if (dead?.[ordinal] === 1) continue;
      map[ordinal] = ids.length;
      ids.push(own[ordinal] ?? 0);
      lengths.push(ownLengths[ordinal] ?? 0);
    }
    return map;
  });
  return { ids, lengths, maps };
}

/** Compares as SQLite does, by code points; JavaScript's own order is that of the code units. */
export function compareTerms(left: string, right: string): number {
  const length = Math.min(left.length, right.length);
  for (let at = 0; at < length; at++) {
    const difference = toOrder(left.charCodeAt(at)) - toOrder(right.charCodeAt(at));
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

/** Halves of code points beyond the first 65,536 go after all that are whole. */
function toOrder(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

interface TermRow {
  readonly term: string;
  readonly chunks: number;
  readonly data: Uint8Array;
}

/** Walks through the terms of a segment, a page at a time: an open iterator would keep others from writing. */
class TermCursor {
  readonly #statements: Statements;
  readonly #segment: number;
  readonly #map: Int32Array;
  #page: TermRow[] = [];
  #at = 0;
  #after = "";

  constructor(statements: Statements, segment: number, map: Int32Array) {
    this.#statements = statements;
    this.#segment = segment;
    this.#map = map;
    this.#load();
  }

  get head(): TermRow | undefined {
    return this.#page[this.#at];
  }

  moveInto(target: PostingsBuilder): void {
    const row = this.head;
    if (row === undefined) return;
    const { ordinals, frequencies } = decodePostings(row.data, row.chunks);
    for (let index = 0; index < ordinals.length; index++) {
      const ordinal = this.#map[ordinals[index] ?? 0] ?? -1;
      if (ordinal >= 0) target.add(ordinal, frequencies[index] ?? 1);
    }
    this.#after = row.term;
    this.#at += 1;
    if (this.#at === this.#page.length) this.#load();
  }

  #load(): void {
    this.#page = this.#statements.all<TermRow>(
      "SELECT term, chunks, data FROM postings WHERE segment = ? AND term > ? ORDER BY term LIMIT ?",
      ...[this.#segment, this.#after, PAGE],
    );
    this.#at = 0;
  }
}

async function dropDocuments(
  database: Database,
  { where, listed }: { readonly where: string; readonly listed: boolean },
  generation: number,
  slice: TimeSlice,
): Promise<void> {
  const statements = new Statements(database);
  const next = `SELECT document, first_chunk, chunks FROM documents WHERE ${where} LIMIT ${ROWS_AT_ONCE}`;
  for (;;) {
    const rows = statements.all<{ document: number; first_chunk: number; chunks: number }>(next, generation);
    if (rows.length === 0) return;
    database.transaction(() => {
      for (const { document, first_chunk: first, chunks } of rows) {
        // What a segment lists without a row must be known as dead until the segment is written anew.
        if (listed) statements.run(MARK_DEAD, first, first + chunks);
        statements.run("DELETE FROM chunks WHERE chunk >= ? AND chunk < ?", first, first + chunks);
        statements.run("DELETE FROM text_parts WHERE document = ?", document);
        statements.run("DELETE FROM documents WHERE document = ?", document);
      }
    })();
    // oxlint-disable-next-line no-await-in-loop
    await slice.pause();
  }
}

async function dropSegments(database: Database, where: string, generation: number, slice: TimeSlice): Promise<void> {
  const statements = new Statements(database);
  for (;;) {
    const row = statements.get<{ segment: number }>(`SELECT segment FROM segments WHERE ${where} LIMIT 1`, generation);
    if (row === undefined) return;
    const { changes } = statements.run(
      "DELETE FROM postings WHERE segment = ? AND term IN (SELECT term FROM postings WHERE segment = ? LIMIT ?)",
      ...[row.segment, row.segment, PAGE],
    );
    if (changes === 0) statements.run("DELETE FROM segments WHERE segment = ?", row.segment);
    // oxlint-disable-next-line no-await-in-loop
    await slice.pause();
  }
}
