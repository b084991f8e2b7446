import type { StoredEvent } from "../../core/store.ts";

// A segment's body is lines: an event's id, a space and a JSON array of its fields. Most events are the start and the end of one
// call, right after each other and alike in all but a few fields. Such a pair is one line, `<id> *<the end's fields, and the start's
// ts>`; the start is made from the end again when it is read. Without the fields' names a line costs half of what an object does.
// Lines of databases from before have an object in the array's place, and the start's ts before it.

const NEWLINE = 10;
const SPACE = 32;
const PAIR = 42;
const ARRAY = 91;

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
    return { line: `${event.id} *${toFields(next, event.ts)}\n`, count: 2 };
  }
  return { line: `${event.id} ${toFields(event)}\n`, count: 1 };
}

/** Text that stands in JSON as it is: what nearly all names are, and cheaper to tell than to escape. */
const PLAIN = /^[ !#-[\]-~]*$/;

const quote = (text: string | undefined) =>
  text === undefined ? "null" : PLAIN.test(text) ? `"${text}"` : JSON.stringify(text);

/** The fields that most events lack come last, and are left out together. */
function toFields(event: StoredEvent, startTs?: string): string {
  const { parent_id: parentId, actor, blobs, project } = event;
  const common =
    `[${quote(event.type)},${quote(event.ts)},${quote(event.tenant)},${quote(event.worker_id)},${quote(event.session_id)},` +
    `${event.seq ?? null},${quote(event.resource)},${quote(event.call_id)},${quote(event.trace_id)},${JSON.stringify(event.data)}`;
  if (parentId !== undefined || actor !== undefined || blobs !== undefined || project !== undefined) {
    const rare = `${common},${quote(startTs)},${quote(parentId)},${quote(actor)},${JSON.stringify(blobs ?? null)}`;
    return project === undefined ? `${rare}]` : `${rare},${quote(project)}]`;
  }
  return startTs === undefined ? `${common}]` : `${common},${quote(startTs)}]`;
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

function toStart(id: number, ts: string, end: StoredEvent): StoredEvent {
  const { blobs: _blobs, ...shared } = end;
  const start = { ...shared, id, type: "call.started" as const, ts, data: { action: end.data["action"] } };
  return end.seq === undefined ? start : { ...start, seq: end.seq - 1 };
}

/** Reads the line that starts at an offset: one event, or two. */
export function parseLine(body: Buffer, start: number): readonly StoredEvent[] {
  const end = body.indexOf(NEWLINE, start);
  const at = body.indexOf(SPACE, start) + 1;
  const id = readId(body, start);
  const isPair = body[at] === PAIR;
  const from = isPair ? at + 1 : at;
  if (body[from] !== ARRAY) return parseOldLine(body, { id, at, end });
  // Only `toLine` writes these lines.
  const fields = JSON.parse(body.toString("utf8", from, end)) as Fields;
  if (!isPair) return [toEvent(id, fields)];
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

/** Where the line after the one at an offset starts. */
export function nextLine(body: Buffer, start: number): number {
  return body.indexOf(NEWLINE, start) + 1;
}

/** Where the line around an offset starts. */
export function lineAround(body: Buffer, offset: number): number {
  return body.lastIndexOf(NEWLINE, offset) + 1;
}
