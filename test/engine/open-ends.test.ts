import { describe, expect, it } from "vitest";
import type { Session } from "../../src/core/session.ts";
import type { Store } from "../../src/core/store.ts";
import { createMemoryStore } from "../../src/store/memory/memory-store.ts";
import { type Count, CounterBackend } from "../kit/counter-backend.ts";
import { testEngine } from "../kit/test-engine.ts";

/** A counter that the next server finds again. */
class OutsideCounter extends CounterBackend {
  override handle(): unknown {
    return {};
  }

  override async adopt(_: Session): Promise<Count | null> {
    return { value: 7, alive: true };
  }
}

/** The next server on a store whose last one just vanished; it has told what it found. */
async function successor(store: Store, counter: CounterBackend) {
  const next = testEngine([counter], {}, store);
  await next.engine.recover();
  await next.clock.advance(1_000);
  return next;
}

async function eventsOf(store: Store, filter: object = {}) {
  const { events } = await store.events.read({ tenant: null, ...filter }, { afterId: 0, limit: 100_000 });
  return events;
}

const UNKNOWN = { outcome: "infra_error", execution_time_ms: null, error: "unknown_outcome" };

describe("what the log says of a server that was killed", () => {
  it("closes its calls and its sessions, explicit and temporary, once, and counts on", async () => {
    const store = createMemoryStore();
    const counter = new CounterBackend();
    const { call, create, clock } = await successor(store, counter);
    const { record } = await create("counter");
    await call("counter:incr");
    void call("counter:hold", { gate: "a" });
    void call("counter:hold", { gate: "b" }, { caller: { tenant: "other", workerId: "w2" } });
    await counter.gate("a").arrived();
    await counter.gate("b").arrived();
    await clock.advance(1_000);
    const before = await eventsOf(store);

    await successor(store, counter);
    const told = (await eventsOf(store)).slice(before.length);
    const started = before.filter(({ type }) => type === "call.started");
    expect(started).toHaveLength(3);
    for (const { call_id, session_id, trace_id, worker_id, tenant } of started.slice(1)) {
      const facts = { call_id, session_id, trace_id, worker_id, tenant, resource: "counter" };
      const data = { action: "counter:hold", ...UNKNOWN };
      expect(told).toContainEqual(
        expect.objectContaining({ type: "call.failed", ...facts, data: expect.objectContaining(data) }),
      );
      expect((await eventsOf(store, { session_id })).at(-1)).toMatchObject({
        type: "session.ended",
        worker_id,
        tenant,
        resource: "counter",
        data: { reason: "lost" },
      });
    }
    expect(told).toHaveLength(4);
    for (const { session_id } of started) {
      const seqs = (await eventsOf(store, { session_id })).map(({ seq }) => seq);
      expect(seqs).toEqual(seqs.map((_, index) => index + 1));
    }
    expect(told.map(({ session_id }) => session_id)).toContain(record.id);

    await successor(store, counter);
    expect(await eventsOf(store)).toHaveLength(before.length + told.length);
  });

  it("closes the calls of a session that comes back, and not the session", async () => {
    const store = createMemoryStore();
    const counter = new OutsideCounter();
    const { call, create, clock } = await successor(store, counter);
    const { record } = await create("counter");
    void call("counter:hold", { gate: "a" });
    await counter.gate("a").arrived();
    await clock.advance(1_000);
    await successor(store, counter);
    const events = await eventsOf(store, { session_id: record.id });
    expect(events.map(({ type }) => type)).toEqual([
      "session.created",
      "call.started",
      "call.failed",
      "session.created",
    ]);
    expect(events.map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);
    expect(events[3]?.data).toMatchObject({ adopted: true });
  });

  it("tells nothing of a server that stopped", async () => {
    const store = createMemoryStore();
    const counter = new CounterBackend();
    const { call, create, clock, engine } = await successor(store, counter);
    await create("counter");
    void call("counter:hold", { gate: "a" });
    await counter.gate("a").arrived();
    const stopping = engine.stop({ force: true });
    await clock.advance(5_000);
    await stopping;
    const before = await eventsOf(store);
    await successor(store, counter);
    expect(await eventsOf(store)).toEqual(before);
  });

  it("looks no further back than ten thousand events", async () => {
    const store = createMemoryStore();
    const started = (id: number) => ({
      id,
      type: "call.started" as const,
      ts: "",
      tenant: "default",
      call_id: `c${id}`,
      data: {},
    });
    const filler = { type: "loop.blocked" as const, ts: "", tenant: "default", data: {} };
    const rest = Array.from({ length: 9_999 }, (_, index) => ({ ...filler, id: index + 3 }));
    await store.events.append([started(1), started(2), ...rest]);
    await successor(store, new CounterBackend());
    const failed = await eventsOf(store, { types: ["call.failed"] });
    expect(failed.map((event) => event.call_id)).toEqual(["c2"]);
  });
});
