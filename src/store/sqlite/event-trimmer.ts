import { cutSegment, eventsIn, hashName, lastSeqIn, type Segment, toHashes } from "./event-segment.ts";
import type { Database } from "./load-driver.ts";
import type { SegmentTable } from "./segment-table.ts";

/** How many segments go in one write. */
const PART = 32;

/** Drops the oldest events: whole segments, and the first part of one. */
export class EventTrimmer {
  readonly #table: SegmentTable;
  readonly #liveSessions;
  readonly #keepSeq;
  readonly #eventCount;

  constructor(database: Database, table: SegmentTable) {
    this.#table = table;
    this.#liveSessions = database.prepare<[], string>("SELECT id FROM sessions WHERE state = 'live'").pluck();
    this.#keepSeq = database.prepare<[string, number]>(
      `INSERT INTO event_seqs (session_id, seq) VALUES (?, ?) ON CONFLICT DO UPDATE SET seq = excluded.seq`,
    );
    this.#eventCount = database.prepare<[], number>("SELECT total(event_count) FROM event_segments").pluck();
  }

  /** Drops some of what is too much or too old; `finished` says that nothing is left to drop. */
  trimPart(maxEvents: number, oldestTs: string): { readonly dropped: number; readonly finished: boolean } {
    let excess = Math.max(0, (this.#eventCount.get() ?? 0) - maxEvents);
    let dropped = 0;
    let live: ReadonlyMap<number, readonly string[]> | null = null;
    for (let part = 0; part < PART; part += 1) {
      const [outline] = this.#table.from(0, 1);
      if (outline === undefined || (excess === 0 && outline.firstTs >= oldestTs)) return { dropped, finished: true };
      const segment = { ...outline, body: this.#table.body(outline.firstId) ?? Buffer.alloc(0) };
      const count = countToDrop(segment, excess, oldestTs);
      live ??= Map.groupBy(this.#liveSessions.all(), (id) => hashName("session_id", id));
      this.#keepSeqs(segment, live);
      this.#table.delete(segment.firstId);
      if (count < segment.eventCount) this.#table.insert(cutSegment(segment, count));
      dropped += count;
      excess = Math.max(0, excess - count);
      if (count < segment.eventCount) return { dropped, finished: true };
    }
    return { dropped, finished: false };
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
