import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { StoredEvent } from "../../src/core/store.ts";
import { cutSegment, eventsIn, lastSeqIn, SegmentBuilder, toLines } from "../../src/store/sqlite/event-segment.ts";

const call = fc.record({
  call_id: fc.uuid(),
  worker_id: fc.constantFrom("w1", "w2", 'w "3"'),
  session: fc.constantFrom(undefined, "s1", "s2"),
  action: fc.constantFrom("echo", "code:run", "ü"),
  end: fc.constantFrom("call.completed", "call.failed", "call.cancelled", "call.progress", "call.started"),
  alike: fc.boolean(),
  session_at_start: fc.boolean(),
  // What stands around it: nothing, or a session made for it, or something that only looks like one.
  around: fc.constantFrom("nothing", "temporary", "kept", "replaced", "lingering", "named"),
});

/** Events as the engine makes them, and some that only look like a call's start and end. */
const logs = fc.array(call, { minLength: 1, maxLength: 20 }).map((calls) => {
  let id = 40;
  const seqs = new Map<string, number>();
  return calls.flatMap((made): StoredEvent[] => {
    const { call_id, worker_id, session, action, end, alike, session_at_start, around } = made;
    const inSession = (given: boolean) => {
      if (session === undefined || !given) return {};
      const seq = (seqs.get(session) ?? 0) + 1;
      seqs.set(session, seq);
      return { session_id: session, seq };
    };
    const common = { tenant: "t", worker_id, call_id, trace_id: "trace" };
    const ts = "2026-11-21T00:00:00.000Z";
    const whole = session !== undefined && session_at_start && around !== "nothing";
    const own = { tenant: "t", worker_id, ...(around === "named" && { project: "p" }) };
    const created: StoredEvent[] = whole
      ? [
          {
            ...own,
            ...inSession(true),
            id: (id += 1),
            type: "session.created",
            ts,
            data: { temporary: around !== "kept" },
          },
        ]
      : [];
    const start = {
      ...common,
      ...inSession(session_at_start),
      id: (id += 1),
      type: "call.started" as const,
      ts,
      data: { action },
    };
    const ended = {
      ...common,
      ...inSession(true),
      id: (id += 1),
      type: end as StoredEvent["type"],
      ts: "2026-11-21T00:00:00.007Z",
      data: { action: alike ? action : "other", ms: 7 },
    };
    if (!whole) return [start, ended];
    if (around === "lingering") id += 1;
    const reason = around === "replaced" ? "replaced" : "temporary";
    const gone = { ...own, ...inSession(true), id: (id += 1), ts: "2026-11-21T00:00:00.009Z", data: { reason } };
    return [...created, start, ended, { ...gone, type: "session.ended" }];
  });
});

const every = { tenant: null };

function pack(events: readonly StoredEvent[]) {
  const body = Buffer.from(toLines(events));
  const builder = new SegmentBuilder();
  builder.add(events, body);
  return { ...builder.toSegment(), body };
}

describe("the lines of a segment", () => {
  it("give back every event as it was, also where a call's start and end share a line", () => {
    fc.assert(
      fc.property(logs, fc.nat(50), (events, after) => {
        const read = [...eventsIn(pack(events).body, every, 40 + after)];
        expect(read).toEqual(events.filter(({ id }) => id > 40 + after));
      }),
    );
  });

  it("may be cut anywhere, between the events of a line too", () => {
    fc.assert(
      fc.property(logs, fc.nat(), (events, at) => {
        const count = at % events.length;
        const cut = cutSegment(pack(events), count);
        expect([...eventsIn(cut?.body ?? Buffer.alloc(0), every, 0)]).toEqual(events.slice(count));
        expect(cut).toMatchObject({ firstId: events[count]?.id, eventCount: events.length - count });
      }),
    );
  });

  it("are one for a call in a session that is made for it and gone with it", () => {
    const common = { tenant: "t", worker_id: "w", session_id: "s", resource: "r" };
    const call = { ...common, call_id: "c", trace_id: "c" };
    const ts = "2026-11-21T00:00:00.000Z";
    const events: StoredEvent[] = [
      { ...common, id: 1, seq: 1, type: "session.created", ts, data: { temporary: true } },
      { ...call, id: 2, seq: 2, type: "call.started", ts, data: { action: "a" } },
      { ...call, id: 3, seq: 3, type: "call.completed", ts, data: { action: "a", outcome: "ok" } },
      { ...common, id: 4, seq: 4, type: "session.ended", ts, data: { reason: "temporary" } },
    ];
    const lines = toLines(events);
    expect(lines.split("\n")).toHaveLength(2);
    for (const after of [0, 1, 2, 3]) {
      expect([...eventsIn(Buffer.from(lines), every, after)]).toEqual(events.slice(after));
    }
  });

  it("know the newest seq of each session", () => {
    fc.assert(
      fc.property(logs, fc.constantFrom("s1", "s2"), (events, session) => {
        const seqs = events.flatMap(({ session_id, seq }) =>
          session_id === session && seq !== undefined ? [seq] : [],
        );
        expect(lastSeqIn(pack(events).body, session)).toBe(seqs.at(-1) ?? null);
      }),
    );
  });

  it("tell of a call in one line, at less than half the bytes", () => {
    const shared = {
      tenant: "t",
      worker_id: "w1",
      call_id: "c".repeat(36),
      trace_id: "d".repeat(36),
      ts: "2026-11-21T00:00:00.000Z",
    };
    const events: StoredEvent[] = [
      { ...shared, id: 1, type: "call.started", data: { action: "echo" } },
      { ...shared, id: 2, type: "call.completed", data: { action: "echo", outcome: "ok" } },
    ];
    const together = toLines(events).length;
    const apart = events.reduce((sum, event) => sum + JSON.stringify(event).length, 0);
    expect(together).toBeLessThan(apart * 0.5);
  });

  it("keep what only some events have", () => {
    const full: StoredEvent = {
      id: 7,
      seq: 3,
      type: "call.progress",
      ts: "2026-11-21T00:00:00.000Z",
      tenant: 't "1"\n',
      worker_id: "ü\u2028",
      session_id: "\ud800",
      resource: "code",
      actor: "human",
      call_id: "c",
      parent_id: "p",
      trace_id: "\\",
      data: { nested: [null, { a: 1 }] },
      blobs: ["b1"],
    };
    expect([...eventsIn(Buffer.from(toLines([full])), every, 0)]).toEqual([full]);
    const { blobs: _, actor: __, ...without } = full;
    expect([...eventsIn(Buffer.from(toLines([without])), every, 0)]).toEqual([without]);
  });

  it("are read as the version before wrote them", () => {
    const shared = { tenant: "t", worker_id: "w", session_id: "s", call_id: "c", trace_id: "d" };
    const start = {
      ...shared,
      id: 1,
      seq: 1,
      type: "call.started",
      ts: "2026-11-21T00:00:00.000Z",
      data: { action: "echo" },
    };
    const end = { ...start, id: 2, seq: 2, type: "call.completed", ts: "2026-11-21T00:00:00.007Z" };
    const old = Buffer.from(`1 *${start.ts} ${JSON.stringify(end)}\n3 ${JSON.stringify({ ...end, id: 3, seq: 3 })}\n`);
    expect([...eventsIn(old, { tenant: null, session_id: "s" }, 0)]).toEqual([start, end, { ...end, id: 3, seq: 3 }]);
  });
});
