import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { StoredEvent } from "../../src/core/store.ts";
import { cutSegment, eventsIn, lastSeqIn, packEvents } from "../../src/store/sqlite/event-segment.ts";

const call = fc.record({
  call_id: fc.uuid(),
  worker_id: fc.constantFrom("w1", "w2", 'w "3"'),
  session: fc.constantFrom(undefined, "s1", "s2"),
  action: fc.constantFrom("echo", "code:run", "ü"),
  end: fc.constantFrom("call.completed", "call.failed", "call.cancelled", "call.progress", "call.started"),
  alike: fc.boolean(),
  session_at_start: fc.boolean(),
});

/** Events as the engine makes them, and some that only look like a call's start and end. */
const logs = fc.array(call, { minLength: 1, maxLength: 20 }).map((calls) => {
  let id = 40;
  const seqs = new Map<string, number>();
  return calls.flatMap(({ call_id, worker_id, session, action, end, alike, session_at_start }): StoredEvent[] => {
    const inSession = (given: boolean) => {
      if (session === undefined || !given) return {};
      const seq = (seqs.get(session) ?? 0) + 1;
      seqs.set(session, seq);
      return { session_id: session, seq };
    };
    const common = { tenant: "t", worker_id, call_id, trace_id: "trace" };
    const ts = "2026-11-21T00:00:00.000Z";
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
    return [start, ended];
  });
});

const every = { tenant: null };

describe("the lines of a segment", () => {
  it("give back every event as it was, also where a call's start and end share a line", () => {
    fc.assert(
      fc.property(logs, fc.nat(50), (events, after) => {
        const read = packEvents(events).flatMap(({ body }) => [...eventsIn(body, every, 40 + after)]);
        expect(read).toEqual(events.filter(({ id }) => id > 40 + after));
      }),
    );
  });

  it("may be cut anywhere, between the two events of a line too", () => {
    fc.assert(
      fc.property(logs, fc.nat(), (events, at) => {
        const [segment] = packEvents(events);
        if (segment === undefined) return;
        const count = at % events.length;
        const cut = cutSegment(segment, count);
        expect([...eventsIn(cut.body, every, 0)]).toEqual(events.slice(count));
        expect(cut).toMatchObject({ firstId: events[count]?.id, eventCount: events.length - count });
      }),
    );
  });

  it("know the newest seq of each session", () => {
    fc.assert(
      fc.property(logs, fc.constantFrom("s1", "s2"), (events, session) => {
        const seqs = events.flatMap(({ session_id, seq }) =>
          session_id === session && seq !== undefined ? [seq] : [],
        );
        const [segment] = packEvents(events);
        expect(segment === undefined ? null : lastSeqIn(segment.body, session)).toBe(seqs.at(-1) ?? null);
      }),
    );
  });

  it("tell of a call in one line, at half the bytes", () => {
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
    const together = packEvents(events)[0]?.body.length ?? 0;
    const apart = events.reduce((sum, event) => sum + JSON.stringify(event).length, 0);
    expect(together).toBeLessThan(apart * 0.65);
  });
});
