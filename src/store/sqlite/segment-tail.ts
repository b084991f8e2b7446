import { mergeSegments, SEGMENT_LIMITS, type Segment } from "./event-segment.ts";
import type { SegmentSize, SegmentTable } from "./segment-table.ts";

/** How many segments of one tier become one of the next: an event is written again at most once a tier. */
const FAN_IN = 8;

/** Single events make tier 0, eight of them tier 1, eight of those a segment that stays. A larger batch stays at once. */
const TIERS = [
  { events: 8, bytes: 4_096 },
  { events: 64, bytes: 32_768 },
] as const;

const STAYS = TIERS.length;

/** The newest, small segments of the log, which are merged as they pile up. */
export class SegmentTail {
  readonly #table: SegmentTable;
  #sizes: SegmentSize[];

  constructor(table: SegmentTable) {
    this.#table = table;
    this.#sizes = table.newestSizes(FAN_IN ** (TIERS.length + 1));
    this.#forgetStaying();
  }

  /** Writes a segment at the end of the log. */
  push(segment: Segment): void {
    this.#table.insert(segment);
    this.#sizes.push(sizeOf(segment));
    if (this.#sizes.length >= FAN_IN) for (let tier = 0; tier < STAYS; tier += 1) this.#mergeTier(tier);
    this.#forgetStaying();
  }

  #mergeTier(tier: number): void {
    let start = this.#sizes.length;
    let pieces = 0;
    for (const [index, size] of [...this.#sizes.entries()].reverse()) {
      if (tierOf(size) > tier) break;
      if (tierOf(size) === tier) pieces += 1;
      start = index;
    }
    if (pieces < FAN_IN) return;
    let end = start;
    let events = 0;
    let bytes = 0;
    for (const size of this.#sizes.slice(start)) {
      events += size.eventCount;
      bytes += size.sizeBytes;
      if (events > SEGMENT_LIMITS.events || bytes > SEGMENT_LIMITS.bytes) break;
      end += 1;
    }
    if (end - start < 2) return;
    const merged = mergeSegments(this.#sizes.slice(start, end).flatMap(({ firstId }) => this.#take(firstId)));
    this.#table.insert(merged);
    this.#sizes.splice(start, end - start, sizeOf(merged));
  }

  #take(firstId: number): Segment[] {
    const segment = this.#table.around(firstId);
    this.#table.delete(firstId);
    return segment === null ? [] : [segment];
  }

  /** What stays also keeps what is before it from ever being merged. */
  #forgetStaying(): void {
    const lastStaying = this.#sizes.findLastIndex((size) => tierOf(size) === STAYS);
    if (lastStaying >= 0) this.#sizes = this.#sizes.slice(lastStaying + 1);
  }
}

function sizeOf({ firstId, eventCount, body }: Segment): SegmentSize {
  return { firstId, eventCount, sizeBytes: body.length };
}

function tierOf({ eventCount, sizeBytes }: SegmentSize): number {
  const tier = TIERS.findIndex(({ events, bytes }) => eventCount < events && sizeBytes < bytes);
  return tier === -1 ? STAYS : tier;
}
