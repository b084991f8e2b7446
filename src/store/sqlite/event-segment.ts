import type { EventFilter, StoredEvent } from "../../core/store.ts";
import { lineAround, nextLine, parseLine, readId, toLine } from "./event-line.ts";

/** Events in one row. A row per event would cost more than the call that it tells of. */
export interface Segment {
  readonly firstId: number;
  readonly lastId: number;
  readonly eventCount: number;
  readonly firstTs: string;
  readonly newestTs: string;
  /** 32-bit hashes of the names in it, each once: a name whose hash is missing is not in it. */
  readonly names: Buffer;
  /** A line an event, or a call's start and end together: see event-line.ts. */
  readonly body: Buffer;
}

/** Where a segment ends: reading one event costs reading its segment. */
export const SEGMENT_LIMITS = { events: 4_096, bytes: 1_048_576 } as const;

/** The fields that a filter may name. A new one needs a migration that indexes the old segments again. */
const NAMED = ["tenant", "worker_id", "session_id", "call_id", "type"] as const;
type Named = (typeof NAMED)[number];

/** FNV-1a, of the field and the name. */
export function hashName(field: Named, name: string): number {
  let hash = 0x811c9dc5 ^ field.charCodeAt(0) ^ (field.length << 8);
  for (let index = 0; index < name.length; index += 1) hash = Math.imul(hash ^ name.charCodeAt(index), 0x01000193);
  return hash >>> 0;
}

/** Packs a batch into as few segments as the limits allow. */
export function packEvents(events: readonly StoredEvent[]): Segment[] {
  const segments: Segment[] = [];
  let start = 0;
  let length = 0;
  let lines: string[] = [];
  for (let index = 0; index < events.length; ) {
    const { line, count } = toLine(events, index);
    const full = index + count - start > SEGMENT_LIMITS.events || length + line.length > SEGMENT_LIMITS.bytes;
    if (lines.length > 0 && full) {
      segments.push(pack(events.slice(start, index), lines));
      [start, length, lines] = [index, 0, []];
    }
    lines.push(line);
    length += line.length;
    index += count;
  }
  if (lines.length > 0) segments.push(pack(start === 0 ? events : events.slice(start), lines));
  return segments;
}

function pack(events: readonly StoredEvent[], lines: readonly string[]): Segment {
  const hashes = new Set<number>();
  for (const field of NAMED) {
    // Neighbours often share a name.
    let previous: string | undefined;
    for (const event of events) {
      const name = event[field];
      if (name !== undefined && name !== previous) hashes.add(hashName(field, name));
      previous = name;
    }
  }
  const newestTs = events.reduce((newest, { ts }) => (ts > newest ? ts : newest), "");
  return {
    firstId: events[0]?.id ?? 0,
    lastId: events.at(-1)?.id ?? 0,
    eventCount: events.length,
    firstTs: events[0]?.ts ?? "",
    newestTs,
    names: toBuffer(hashes),
    body: Buffer.from(lines.join("")),
  };
}

/** Makes one segment of neighbours, oldest first. */
export function mergeSegments(segments: readonly Segment[]): Segment {
  const hashes = new Set<number>();
  for (const { names } of segments) for (const hash of toHashes(names)) hashes.add(hash);
  return {
    firstId: segments[0]?.firstId ?? 0,
    lastId: segments.at(-1)?.lastId ?? 0,
    eventCount: segments.reduce((sum, { eventCount }) => sum + eventCount, 0),
    firstTs: segments[0]?.firstTs ?? "",
    newestTs: segments.reduce((newest, { newestTs }) => (newestTs > newest ? newestTs : newest), ""),
    names: toBuffer(hashes),
    body: Buffer.concat(segments.map(({ body }) => body)),
  };
}

/** Leaves the oldest events out; the names stay, so that they may name too many. At least one event must be left. */
export function cutSegment(segment: Segment, count: number): Segment {
  let start = 0;
  let left = count;
  // A line that tells of two events may be cut in two.
  let kept: StoredEvent | undefined;
  while (left > 0) {
    const events = parseLine(segment.body, start);
    kept = left < events.length ? events.at(-1) : undefined;
    left -= events.length;
    start = nextLine(segment.body, start);
  }
  const rest = segment.body.subarray(start);
  const body = kept === undefined ? rest : Buffer.concat([Buffer.from(toLine([kept], 0).line), rest]);
  const [first] = parseLine(body, 0);
  return {
    ...segment,
    firstId: first?.id ?? 0,
    firstTs: first?.ts ?? "",
    eventCount: segment.eventCount - count,
    body,
  };
}

/** The hashes of a segment's names. */
export function toHashes(names: Buffer): Uint32Array {
  const hashes = new Uint32Array(names.length / 4);
  new Uint8Array(hashes.buffer).set(names);
  return hashes;
}

function toBuffer(hashes: ReadonlySet<number>): Buffer {
  return Buffer.from(Uint32Array.from(hashes).buffer);
}

/** Says whether a segment with these names may hold a matching event. */
export function mayMatch(names: Buffer, filter: EventFilter): boolean {
  const hashes = toHashes(names);
  const has = (field: Named, name: string | null | undefined) =>
    name === undefined || name === null || hashes.includes(hashName(field, name));
  return (
    has("session_id", filter.session_id) &&
    has("call_id", filter.call_id) &&
    has("worker_id", filter.worker_id) &&
    has("tenant", filter.tenant) &&
    (filter.types === undefined || filter.types.some((type) => has("type", type)))
  );
}

/** The events after an id that may match a filter, oldest first: lines without the rarest name asked for are not even parsed. */
export function* eventsIn(body: Buffer, filter: EventFilter, afterId: number): Generator<StoredEvent> {
  const needle =
    needleFor("call_id", filter.call_id) ??
    needleFor("session_id", filter.session_id) ??
    needleFor("worker_id", filter.worker_id);
  let start = 0;
  while (start < body.length) {
    if (needle !== null) {
      const hit = body.indexOf(needle, start);
      if (hit === -1) return;
      start = lineAround(body, hit);
    }
    // A line tells of two events at most.
    if (readId(body, start) + 1 > afterId)
      for (const event of parseLine(body, start)) if (event.id > afterId) yield event;
    start = nextLine(body, start);
  }
}

/** The newest seq of a session in a segment. */
export function lastSeqIn(body: Buffer, sessionId: string): number | null {
  const needle = Buffer.from(`"session_id":${JSON.stringify(sessionId)}`);
  let end = body.length;
  while (end > 0) {
    const hit = body.lastIndexOf(needle, end);
    if (hit === -1) return null;
    const start = lineAround(body, hit);
    // The same text may stand deeper, in the event's data.
    const event = parseLine(body, start).findLast(({ session_id: id, seq }) => id === sessionId && seq !== undefined);
    if (event?.seq !== undefined) return event.seq;
    end = start - 1;
  }
  return null;
}

function needleFor(field: Named, name: string | undefined): Buffer | null {
  return name === undefined ? null : Buffer.from(`"${field}":${JSON.stringify(name)}`);
}
