import type { StoredEvent } from "../../core/store.ts";

// A segment's body is lines: an event's id, a space and a JSON array of its fields. Most events are the start and the end of one
// call, right after each other and alike in all but a few fields. Such a pair is one line, `<id> *<the end's fields, and the start's
// ts>`; the start is made from the end again when it is read. Where the call's session was made for it and went with it, which is
// the whole life of most sessions, the four events are one line, `<id> +<ts> <ts> <the end's fields, and the start's ts>` with the
// times of the session's first and last event. Without the fields' names a line costs half of what an object does.
// Lines of databases from before have an object in the array's place, and the start's ts before it.

const NEWLINE = 10;
const SPACE = 32;
const PAIR = 42;
const VISIT = 43;
const ARRAY = 91;

/** The most events that a line tells of. */
export const LINE_EVENTS = 4;

const ENDS: ReadonlySet<string> = new Set(["call.completed", "call.failed", "call.cancelled"]);

/** Writes the event at an index, and those after it that share its line. */
export function toLine(
  events: readonly StoredEvent[],
  index: number,
): { readonly line: string; readonly count: number } {
  const event = events[index];
  const next = events[index + 1];
  if (event === undefined) throw new RangeError(`there is no event ${index}`);
  if (next === undefined) return { line: `${event.id} ${toFields(event)}\n`, count: 1 };
  if (event.type === "call.started") {
    if (isPair(event, next)) return { line: `${event.id} *${toFields(next, event.ts)}\n`, count: 2 };
  } else if (event.type === "session.created") {
    const end = events[index + 2];
    const gone = events[index + 3];
    if (end !== undefined && gone !== undefined && isVisit(event, gone, end) && isPair(next, end)) {
      return { line: `${event.id} +${event.ts} ${gone.ts} ${toFields(end, next.ts)}\n`, count: 4 };
    }
  }
  return { line: `${event.id} ${toFields(event)}\n`, count: 1 };
}

/** Text that stands in JSON as it is: what nearly all names are, and cheaper to tell than to escape. */
const PLAIN = /^[ !#-[\]-~]*$/;

const quote = (text: string | undefined) =>
  text === undefined ? "null" : PLAIN.test(text) ? `"${text}"` : JSON.stringify(text);

let lastTs = "";
let lastQuotedTs = '""';

/** The events of a millisecond come together. */
function quoteTs(ts: string): string {
  if (ts !== lastTs) [lastTs, lastQuotedTs] = [ts, quote(ts)];
  return lastQuotedTs;
}

/** The fields that most events lack come last, and are left out together. */
function toFields(event: StoredEvent, startTs?: string): string {
  const { parent_id: parentId, actor, blobs, project, call_id: callId, trace_id: traceId } = event;
  const call = quote(callId);
  // Where the caller named no run, the call is one of its own, named alike.
  const trace = traceId === callId ? call : quote(traceId);
  const common =
    `[${quote(event.type)},${quoteTs(event.ts)},${quote(event.tenant)},${quote(event.worker_id)},${quote(event.session_id)},` +
    `${event.seq ?? null},${quote(event.resource)},${call},${trace},${JSON.stringify(event.data)}`;
  if (parentId !== undefined || actor !== undefined || blobs !== undefined || project !== undefined) {
    const rare = `${common},${startTs === undefined ? "null" : quoteTs(startTs)},${quote(parentId)},${quote(actor)},${JSON.stringify(blobs ?? null)}`;
    return project === undefined ? `${rare}]` : `${rare},${quote(project)}]`;
  }
  return startTs === undefined ? `${common}]` : `${common},${quoteTs(startTs)}]`;
}

type Maybe<T> = T | null | undefined;
type Fields = readonly [
  type: StoredEvent["type"],
  ts: string,
  tenant: string,
  workerId: Maybe<string>,
  sessionId: Maybe<string>,
  seq: Maybe<number>,
  resource: Maybe<string>,
  callId: Maybe<string>,
  traceId: Maybe<string>,
  data: StoredEvent["data"],
  startTs: Maybe<string>,
  parentId: Maybe<string>,
  actor: Maybe<NonNullable<StoredEvent["actor"]>>,
  blobs: Maybe<readonly string[]>,
  project: Maybe<string>,
];

function toEvent(id: number, fields: Fields): StoredEvent {
  const [
    type,
    ts,
    tenant,
    workerId,
    sessionId,
    seq,
    resource,
    callId,
    traceId,
    data,
    ,
    parentId,
    actor,
    blobs,
    project,
  ] = fields;
  return {
    id,
    type,
    ts,
    tenant,
    ...(isGiven(workerId) && { worker_id: workerId }),
    ...(isGiven(sessionId) && { session_id: sessionId }),
    ...(isGiven(seq) && { seq }),
    ...(isGiven(resource) && { resource }),
    ...(isGiven(project) && { project }),
    ...(isGiven(callId) && { call_id: callId }),
    ...(isGiven(traceId) && { trace_id: traceId }),
    data,
    ...(isGiven(parentId) && { parent_id: parentId }),
    ...(isGiven(actor) && { actor }),
    ...(isGiven(blobs) && { blobs }),
  };
}

function isGiven<T>(value: Maybe<T>): value is T {
  return value !== null && value !== undefined;
}

/** A time that cannot be taken for the end of itself. */
const TIME = /^[!-~]+$/;

/** Whether `toStart` gives back exactly this start. */
function isPair(start: StoredEvent, end: StoredEvent): boolean {
  return (
    start.type === "call.started" &&
    TIME.test(start.ts) &&
    end.id === start.id + 1 &&
    end.call_id === start.call_id &&
    ENDS.has(end.type) &&
    start.session_id === end.session_id &&
    (start.seq === undefined ? end.seq === undefined : end.seq === start.seq + 1) &&
    start.tenant === end.tenant &&
    start.worker_id === end.worker_id &&
    start.resource === end.resource &&
    start.project === end.project &&
    start.actor === end.actor &&
    start.parent_id === end.parent_id &&
    start.trace_id === end.trace_id &&
    start.blobs === undefined &&
    start.data["action"] !== undefined &&
    start.data["action"] === end.data["action"] &&
    Object.keys(start.data).length === 1
  );
}

/** Whether `toVisit` gives back exactly these two, around a pair. */
function isVisit(created: StoredEvent, gone: StoredEvent, end: StoredEvent): boolean {
  return (
    gone.type === "session.ended" &&
    gone.id === created.id + 3 &&
    end.id === created.id + 2 &&
    end.seq !== undefined &&
    end.session_id !== undefined &&
    created.data["temporary"] === true &&
    gone.data["reason"] === "temporary" &&
    isAround(created, end, -2) &&
    isAround(gone, end, 1)
  );
}

/** Whether an event of a session is told by an event of its call, but for its type, its time and its one fact. */
function isAround(event: StoredEvent, end: StoredEvent, places: number): boolean {
  return (
    TIME.test(event.ts) &&
    event.seq === (end.seq ?? 0) + places &&
    event.session_id === end.session_id &&
    event.tenant === end.tenant &&
    event.worker_id === end.worker_id &&
    event.resource === end.resource &&
    event.project === end.project &&
    event.call_id === undefined &&
    event.trace_id === undefined &&
    event.parent_id === undefined &&
    event.actor === undefined &&
    event.blobs === undefined &&
    Object.keys(event.data).length === 1
  );
}

function toVisit(id: number, { created, gone }: { created: string; gone: string }, fields: Fields): StoredEvent[] {
  const end = toEvent(id + 2, fields);
  const { call_id: _call, trace_id: _trace, parent_id: _parent, actor: _actor, blobs: _blobs, ...shared } = end;
  const seq = end.seq ?? 0;
  return [
    { ...shared, id, type: "session.created", ts: created, seq: seq - 2, data: { temporary: true } },
    toStart(id + 1, fields[10] ?? "", end),
    end,
    { ...shared, id: id + 3, type: "session.ended", ts: gone, seq: seq + 1, data: { reason: "temporary" } },
  ];
}

function toStart(id: number, ts: string, end: StoredEvent): StoredEvent {
  const { blobs: _blobs, ...shared } = end;
  const start = { ...shared, id, type: "call.started" as const, ts, data: { action: end.data["action"] } };
  return end.seq === undefined ? start : { ...start, seq: end.seq - 1 };
}

/** Reads the line that starts at an offset: one event, two or four. */
export function parseLine(body: Buffer, start: number): readonly StoredEvent[] {
  const end = body.indexOf(NEWLINE, start);
  const at = body.indexOf(SPACE, start) + 1;
  const id = readId(body, start);
  // Only `toLine` writes these lines.
  const read = (from: number) => JSON.parse(body.toString("utf8", from, end)) as Fields;
  if (body[at] === ARRAY) return [toEvent(id, read(at))];
  if (body[at] === VISIT) {
    const second = body.indexOf(SPACE, at) + 1;
    const from = body.indexOf(SPACE, second) + 1;
    const created = body.toString("latin1", at + 1, second - 1);
    return toVisit(id, { created, gone: body.toString("latin1", second, from - 1) }, read(from));
  }
  if (body[at] !== PAIR || body[at + 1] !== ARRAY) return parseOldLine(body, { id, at, end });
  const fields = read(at + 1);
  const event = toEvent(id + 1, fields);
  return [toStart(id, fields[10] ?? "", event), event];
}

function parseOldLine(
  body: Buffer,
  { id, at, end }: { readonly id: number; readonly at: number; readonly end: number },
): readonly StoredEvent[] {
  // Only the version before this one wrote these lines.
  const parse = (from: number) => JSON.parse(body.toString("utf8", from, end)) as StoredEvent;
  if (body[at] !== PAIR) return [parse(at)];
  const json = body.indexOf(SPACE, at) + 1;
  const event = parse(json);
  return [toStart(id, body.toString("latin1", at + 1, json - 1), event), event];
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

/** The id of the last event of lines. */
export function lastIdOf(body: Buffer): number {
  return parseLine(body, lineAround(body, body.length - 2)).at(-1)?.id ?? 0;
}

/** Where the line after the one at an offset starts. */
export function nextLine(body: Buffer, start: number): number {
  return body.indexOf(NEWLINE, start) + 1;
}

/** Where the line around an offset starts. */
export function lineAround(body: Buffer, offset: number): number {
  return body.lastIndexOf(NEWLINE, offset) + 1;
}
