import { cutSegment, eventsIn, hashName, lastSeqIn, type Segment, toHashes } from "./event-segment.ts";
import type { LostEvents } from "../../core/store.ts";
import { lastIdOf } from "./event-line.ts";
import type { EventFiles } from "./event-files.ts";
import type { Database } from "./load-driver.ts";
import type { SegmentTable } from "./segment-table.ts";

/** How many segments go in one write. */
const PART = 32;

/** What one part of a trim did. */
export interface TrimmedPart {
  readonly dropped: number;
  /** The files that nothing needs any more once the transaction is committed. */
  readonly files: readonly number[];
  /** Nothing is left to drop. */
  readonly finished: boolean;
}

/** The lines of a segment, from its file or, where it was cut or an older version wrote it, from its row; and what its file has lost. */
export function readSegment(
  { firstId, lastId }: Pick<Segment, "firstId" | "lastId">,
  table: SegmentTable,
  files: EventFiles,
): { readonly body: Buffer; readonly lost: readonly LostEvents[] } {
  const row = table.body(firstId);
  if (row !== null && row.length > 0) return { body: row, lost: [] };
  const { batches, lost } = files.read(firstId);
  const last = batches.at(-1);
  const fromId = last === undefined ? firstId : lastIdOf(last) + 1;
  // The end is known here, in contrast to the file itself.
  return { body: Buffer.concat(batches), lost: fromId > lastId ? lost : [...lost, { fromId, id: lastId }] };
}

/** Drops the oldest events: whole segments, and the first part of one. */
export class EventTrimmer {
  readonly #table: SegmentTable;
  readonly #files: EventFiles;
  readonly #liveSessions;
  readonly #keepSeq;

  constructor(database: Database, table: SegmentTable, files: EventFiles) {
    this.#table = table;
    this.#files = files;
    this.#liveSessions = database.prepare<[], string>("SELECT id FROM sessions WHERE state = 'live'").pluck();
    this.#keepSeq = database.prepare<[string, number]>(
      `INSERT INTO event_seqs (session_id, seq) VALUES (?, ?) ON CONFLICT DO UPDATE SET seq = excluded.seq`,
    );
  }

  /** Drops some of what is too much or too old, inside a transaction. */
  trimPart(maxEvents: number, oldestTs: string): TrimmedPart {
    let excess = Math.max(0, this.#table.countEvents() - maxEvents);
    let dropped = 0;
    const files: number[] = [];
    let live: ReadonlyMap<number, readonly string[]> | null = null;
    for (let part = 0; part < PART; part += 1) {
      const [outline] = this.#table.from(0, 1);
      if (outline === undefined || (excess === 0 && outline.firstTs >= oldestTs))
        return { dropped, files, finished: true };
      const segment = { ...outline, body: readSegment(outline, this.#table, this.#files).body };
      const count = countToDrop(segment, excess, oldestTs);
      live ??= Map.groupBy(this.#liveSessions.all(), (id) => hashName("session_id", id));
      this.#keepSeqs(segment, live);
      this.#table.delete(segment.firstId);
      files.push(segment.firstId);
      const rest = count < segment.eventCount ? cutSegment(segment, count) : undefined;
      if (rest !== undefined) this.#table.insert(rest);
      dropped += count;
      excess = Math.max(0, excess - count);
      if (count < segment.eventCount) return { dropped, files, finished: true };
    }
    return { dropped, files, finished: false };
  }

  #keepSeqs({ names, body }: Segment, live: ReadonlyMap<number, readonly string[]>): void {
    for (const hash of toHashes(names)) {
      for (const id of live.get(hash) ?? []) {
        const seq = lastSeqIn(body, id);
        if (seq !== null) this.#keepSeq.run(id, seq);
      }
    }
  }
}

function countToDrop(segment: Segment, excess: number, oldestTs: string): number {
  if (excess >= segment.eventCount || segment.newestTs < oldestTs) return segment.eventCount;
  let count = 0;
  for (const event of eventsIn(segment.body, { tenant: null }, 0)) {
    if (count >= excess && event.ts >= oldestTs) break;
    count += 1;
  }
  return count;
}
