import type { EventFilter, StoredEvent } from "../../core/store.ts";
import { LINE_EVENTS, lineAround, nextLine, parseLine, readId, toLine } from "./event-line.ts";
import { HashSet } from "./hash-set.ts";

/** Events in one row. A row per event would cost more than the call that it tells of. */
export interface Segment {
  readonly firstId: number;
  readonly lastId: number;
  readonly eventCount: number;
  readonly firstTs: string;
  readonly newestTs: string;
  /** Of the lines. */
  readonly sizeBytes: number;
  /** 32-bit hashes of the names in it, each once: a name whose hash is missing is not in it. */
  readonly names: Buffer;
  /** Lines of an event, or of several that belong together: see event-line.ts. Empty where a file has it: see event-files.ts. */
  readonly body: Buffer;
}

/** Where a segment ends: reading one event costs reading its segment, and writing one holds everything else up. */
export const SEGMENT_LIMITS = { events: 4_096, bytes: 1_048_576 } as const;

/** The fields that a filter may name. */
const NAMED = ["tenant", "worker_id", "session_id", "call_id", "type", "project", "trace_id"] as const;
type Named = (typeof NAMED)[number];

/** FNV-1a, of the field and the name. */
export function hashName(field: Named, name: string): number {
  let hash = 0x811c9dc5 ^ field.charCodeAt(0) ^ (field.length << 8);
  for (let index = 0; index < name.length; index += 1) hash = Math.imul(hash ^ name.charCodeAt(index), 0x01000193);
  return hash >>> 0;
}

/** Among the names of segments that were written since projects and runs are among them; older ones may hold any. */
const KNOWS_RUNS = hashName("trace_id", "");
/** Among the names of a segment of which a part is lost: it may have held anything. */
const DAMAGED = hashName("type", "");

const TYPE_HASHES = new Map<string, number>();

/** There are few types, and every event has one. */
function hashType(type: string): number {
  let hash = TYPE_HASHES.get(type);
  if (hash === undefined) TYPE_HASHES.set(type, (hash = hashName("type", type)));
  return hash;
}

/** Collects events, oldest first, into what becomes one segment. */
export class SegmentBuilder {
  readonly #hashes = new HashSet();
  readonly #bodies: Buffer[] = [];
  #firstId = 0;
  #firstTs = "";
  #lastId = 0;
  #newestTs = "";
  #eventCount = 0;
  #sizeBytes = 0;

  constructor() {
    this.#hashes.add(KNOWS_RUNS);
  }

  get eventCount(): number {
    return this.#eventCount;
  }

  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  get firstTs(): string {
    return this.#firstTs;
  }

  get firstId(): number {
    return this.#firstId;
  }

  get lastId(): number {
    return this.#lastId;
  }

  /** The lines of what was added, in parts, oldest first. */
  get bodies(): readonly Buffer[] {
    return this.#bodies;
  }

  get isFull(): boolean {
    return this.#eventCount >= SEGMENT_LIMITS.events || this.#sizeBytes >= SEGMENT_LIMITS.bytes;
  }

  /** Takes events and their lines, as `toLines` made them. */
  add(events: readonly StoredEvent[], body: Buffer): void {
    const [first] = events;
    if (first === undefined) return;
    if (this.#eventCount === 0) [this.#firstId, this.#firstTs] = [first.id, first.ts];
    this.#addNames(events);
    for (const { ts } of events) if (ts > this.#newestTs) this.#newestTs = ts;
    this.#lastId = events.at(-1)?.id ?? this.#lastId;
    this.#eventCount += events.length;
    this.#sizeBytes += body.length;
    this.#bodies.push(body);
  }

  #addNames(events: readonly StoredEvent[]): void {
    // Neighbours often share a name, so most names are not hashed at all.
    let tenant: string | undefined;
    let worker: string | undefined;
    let session: string | undefined;
    let call: string | undefined;
    let project: string | undefined;
    let trace: string | undefined;
    const hashes = this.#hashes;
    for (const event of events) {
      hashes.add(hashType(event.type));
      if (event.tenant !== undefined && event.tenant !== tenant)
        hashes.add(hashName("tenant", (tenant = event.tenant)));
      if (event.worker_id !== undefined && event.worker_id !== worker)
        hashes.add(hashName("worker_id", (worker = event.worker_id)));
      if (event.session_id !== undefined && event.session_id !== session)
        hashes.add(hashName("session_id", (session = event.session_id)));
      if (event.call_id !== undefined && event.call_id !== call)
        hashes.add(hashName("call_id", (call = event.call_id)));
      if (event.project !== undefined && event.project !== project)
        hashes.add(hashName("project", (project = event.project)));
      // A call of which nobody said what run it belongs to is one of its own, named alike.
      if (event.trace_id !== undefined && event.trace_id !== trace && event.trace_id !== event.call_id)
        hashes.add(hashName("trace_id", (trace = event.trace_id)));
    }
  }

  /** Notes that a part of what it stands for is lost. */
  addDamage(): void {
    this.#hashes.add(DAMAGED);
  }

  /** Without the body, which {@link bodies} has. */
  toSegment(): Segment {
    return {
      firstId: this.#firstId,
      lastId: this.#lastId,
      eventCount: this.#eventCount,
      firstTs: this.#firstTs,
      newestTs: this.#newestTs,
      sizeBytes: this.#sizeBytes,
      names: Buffer.from(this.#hashes.toArray().buffer),
      body: Buffer.alloc(0),
    };
  }
}

/** Writes a batch as the lines of a segment's body. */
export function toLines(events: readonly StoredEvent[]): string {
  let lines = "";
  for (let index = 0; index < events.length; ) {
    const { line, count } = toLine(events, index);
    lines += line;
    index += count;
  }
  return lines;
}

/** Leaves the oldest events out; the names stay, so that they may name too many. `undefined` when nothing is left. */
export function cutSegment(segment: Segment, count: number): Segment | undefined {
  let start = 0;
  let left = count;
  // A line that tells of several events may be cut in two.
  let kept: readonly StoredEvent[] = [];
  while (left > 0 && start < segment.body.length) {
    const events = parseLine(segment.body, start);
    kept = events.slice(left);
    left -= events.length;
    start = nextLine(segment.body, start);
  }
  const rest = segment.body.subarray(start);
  const body = kept.length === 0 ? rest : Buffer.concat([Buffer.from(toLines(kept)), rest]);
  const [first] = body.length === 0 ? [] : parseLine(body, 0);
  if (first === undefined) return undefined;
  return {
    ...segment,
    firstId: first.id,
    firstTs: first.ts,
    eventCount: segment.eventCount - count,
    sizeBytes: body.length,
    body,
  };
}

/** The hashes of a segment's names. */
export function toHashes(names: Buffer): Uint32Array {
  const hashes = new Uint32Array(names.length / 4);
  new Uint8Array(hashes.buffer).set(names);
  return hashes;
}

/** Says whether a segment with these names may hold a matching event. */
export function mayMatch(names: Buffer, filter: EventFilter): boolean {
  const hashes = toHashes(names);
  if (hashes.includes(DAMAGED)) return true;
  const knowsRuns = hashes.includes(KNOWS_RUNS);
  const has = (field: Named, name: string | null | undefined) =>
    name === undefined || name === null || hashes.includes(hashName(field, name));
  return (
    has("session_id", filter.session_id) &&
    has("call_id", filter.call_id) &&
    has("worker_id", filter.worker_id) &&
    has("tenant", filter.tenant) &&
    (!knowsRuns || has("project", filter.project)) &&
    (!knowsRuns || has("trace_id", filter.trace_id) || has("call_id", filter.trace_id)) &&
    (filter.types === undefined || filter.types.some((type) => has("type", type)))
  );
}

/** The events after an id that may match a filter, oldest first: lines without the rarest name asked for are not even parsed. */
export function* eventsIn(body: Buffer, filter: EventFilter, afterId: number): Generator<StoredEvent> {
  const name = filter.call_id ?? filter.trace_id ?? filter.session_id ?? filter.worker_id ?? filter.project;
  const needle = name === undefined ? null : Buffer.from(JSON.stringify(name));
  let start = 0;
  while (start < body.length) {
    if (needle !== null) {
      const hit = body.indexOf(needle, start);
      if (hit === -1) return;
      start = lineAround(body, hit);
    }
    if (readId(body, start) + LINE_EVENTS > afterId + 1)
      for (const event of parseLine(body, start)) if (event.id > afterId) yield event;
    start = nextLine(body, start);
  }
}

/** The newest seq of a session in a segment. */
export function lastSeqIn(body: Buffer, sessionId: string): number | null {
  const needle = Buffer.from(JSON.stringify(sessionId));
  let end = body.length;
  while (end > 0) {
    const hit = body.lastIndexOf(needle, end);
    if (hit === -1) return null;
    const start = lineAround(body, hit);
    // The same text may stand for something else.
    const event = parseLine(body, start).findLast(({ session_id: id, seq }) => id === sessionId && seq !== undefined);
    if (event?.seq !== undefined) return event.seq;
    end = start - 1;
  }
  return null;
}
