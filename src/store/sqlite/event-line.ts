import type { StoredEvent } from "../../core/store.ts";

// A segment's body is lines: an event's id, a space and its JSON. Most events are the start and the end of one call, right after
// each other and alike in all but a few fields. Such a pair is one line, `<id> *<start's ts> <end's JSON>`, which halves what the
// log costs a call; the start is made from the end again when it is read.

const NEWLINE = 10;
const SPACE = 32;
const PAIR = 42;

const ENDS: ReadonlySet<string> = new Set(["call.completed", "call.failed", "call.cancelled"]);

/** Writes the event at an index, and the next one too where both are a pair. */
export function toLine(
  events: readonly StoredEvent[],
  index: number,
): { readonly line: string; readonly count: number } {
  const event = events[index];
  const next = events[index + 1];
  if (event === undefined) throw new RangeError(`there is no event ${index}`);
  if (next !== undefined && isPair(event, next)) {
    return { line: `${event.id} *${event.ts} ${JSON.stringify(next)}\n`, count: 2 };
  }
  return { line: `${event.id} ${JSON.stringify(event)}\n`, count: 1 };
}

/** Whether `toStart` gives back exactly this start. */
function isPair(start: StoredEvent, end: StoredEvent): boolean {
  return (
    start.type === "call.started" &&
    /^[!-~]+$/.test(start.ts) &&
    end.id === start.id + 1 &&
    end.call_id === start.call_id &&
    ENDS.has(end.type) &&
    start.session_id === end.session_id &&
    (start.seq === undefined ? end.seq === undefined : end.seq === start.seq + 1) &&
    start.tenant === end.tenant &&
    start.worker_id === end.worker_id &&
    start.resource === end.resource &&
    start.actor === end.actor &&
    start.parent_id === end.parent_id &&
    start.trace_id === end.trace_id &&
    start.blobs === undefined &&
    start.data["action"] !== undefined &&
    start.data["action"] === end.data["action"] &&
    Object.keys(start.data).length === 1
  );
}

function toStart(id: number, ts: string, end: StoredEvent): StoredEvent {
  const { blobs: _blobs, ...shared } = end;
  const start = { ...shared, id, type: "call.started" as const, ts, data: { action: end.data["action"] } };
  return end.seq === undefined ? start : { ...start, seq: end.seq - 1 };
}

/** Reads the line that starts at an offset: one event, or two. */
export function parseLine(body: Buffer, start: number): readonly StoredEvent[] {
  const end = body.indexOf(NEWLINE, start);
  const at = body.indexOf(SPACE, start) + 1;
  // Only `toLine` writes these lines.
  const parse = (from: number) => JSON.parse(body.toString("utf8", from, end)) as StoredEvent;
  if (body[at] !== PAIR) return [parse(at)];
  const json = body.indexOf(SPACE, at) + 1;
  const event = parse(json);
  return [toStart(readId(body, start), body.toString("latin1", at + 1, json - 1), event), event];
}

/** The id of the first event of the line that starts at an offset. */
export function readId(body: Buffer, start: number): number {
  let id = 0;
  for (let index = start; ; index += 1) {
    const byte = body[index] ?? SPACE;
    if (byte === SPACE) return id;
    id = id * 10 + byte - 48;
  }
}

/** Where the line after the one at an offset starts. */
export function nextLine(body: Buffer, start: number): number {
  return body.indexOf(NEWLINE, start) + 1;
}

/** Where the line around an offset starts. */
export function lineAround(body: Buffer, offset: number): number {
  return body.lastIndexOf(NEWLINE, offset) + 1;
}
