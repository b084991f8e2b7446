import { describe, expect, it } from "vitest";
import type { Session } from "../../src/core/session.ts";
import type { Store } from "../../src/core/store.ts";
import { createMemoryStore } from "../../src/store/memory/memory-store.ts";
import { type Count, CounterBackend } from "../kit/counter-backend.ts";
import { createFaultyStore, DISK_FULL } from "../kit/faulty-store.ts";
import { Gate } from "../kit/gate.ts";
import { ManualClock, settle } from "../kit/manual-clock.ts";
import { testEngine } from "../kit/test-engine.ts";

const HOUR_MS = 3_600_000;
const TTL_MS = 300_000;

/** A counter whose value lives outside the server. */
class OutsideCounter extends CounterBackend {
  readonly outside = new Map<string, Count>();
  adopting = Gate.open();

  override handle(session: Session<Count>): unknown {
    this.outside.set(session.id, session.data);
    return { key: session.id };
  }

  override async adopt({ data, id }: Session): Promise<Count | null> {
    this.adopting.arrive();
    await this.adopting.passed;
    expect(data).toEqual({ key: id });
    return this.outside.get(id) ?? null;
  }
}

/** The engine of the next server on the same store, whose predecessor just vanished. */
async function successor(counter: CounterBackend, store: Store, clock = new ManualClock()) {
  const next = testEngine([counter], { sessionTtlMs: TTL_MS }, store, clock);
  await next.engine.recover();
  return next;
}

describe("a session that was lost with its server", () => {
  const look = (engine: Pick<ReturnType<typeof testEngine>, "call">) => engine.call("counter:get");
  const metaOf = async (engine: Pick<ReturnType<typeof testEngine>, "call">) => (await look(engine)).meta;

  it("F01: is told to its worker after any restart, until it was told once", async () => {
    const store = createMemoryStore();
    const { record } = await testEngine([new CounterBackend()], {}, store).create("counter");
    // Two servers that the worker never called.
    await successor(new CounterBackend(), store);
    await successor(new CounterBackend(), store);
    const third = await successor(new CounterBackend(), store);
    expect(await metaOf(third)).toMatchObject({ lost_session: record.id, temporary_session: true });
    await settle();
    const fourth = await successor(new CounterBackend(), store);
    expect(await metaOf(fourth)).not.toHaveProperty("lost_session");
    // To who names it, it stays lost.
    expect(await fourth.call("counter:get", {}, { sessionId: record.id })).toMatchObject({
      error: { error: "session_lost" },
    });
  });

  it("F11: is told so too where the server was stopped, or the session had expired", async () => {
    const store = createMemoryStore();
    const first = testEngine([new CounterBackend()], {}, store);
    const stopped = await first.create("counter");
    const expiring = await first.create("counter", { workerId: "w2", ttlMs: 1_000 });
    await first.clock.advance(10_000);
    await first.engine.stop();
    const second = await successor(new CounterBackend(), store);
    expect(await metaOf(second)).toMatchObject({ lost_session: stopped.record.id });
    const other = await second.call("counter:get", {}, { caller: second.worker("w2") });
    expect(other.meta).toMatchObject({ expired_session: expiring.record.id });
  });

  it("F01: is told with a failure as well, and counts as told to who makes a new session", async () => {
    const store = createMemoryStore();
    const first = testEngine([new CounterBackend()], {}, store);
    const { record } = await first.create("counter");
    await first.create("counter", { workerId: "w2" });
    const counter = new CounterBackend();
    const second = await successor(counter, store);
    const failing = second.call("counter:hold", { gate: "a" }, { timeoutMs: 1_000 });
    await counter.gate("a").arrived();
    await second.clock.advance(1_500);
    expect(await failing).toMatchObject({ ok: false, meta: { error: "timeout", lost_session: record.id } });
    await second.create("counter", { workerId: "w2" });
    second.router.list(second.worker("w2")).forEach((made) => void second.router.destroy(made, "destroyed"));
    await settle();
    const third = await successor(new CounterBackend(), store);
    expect(await metaOf(third)).not.toHaveProperty("lost_session");
    const other = await third.call("counter:get", {}, { caller: third.worker("w2") });
    expect(other.meta).not.toHaveProperty("lost_session");
  });
});

describe("a session that outlives its server", () => {
  it("F01: is met by calls that wait for its adoption, and keeps its id, state and turn to end", async () => {
    const counter = new OutsideCounter();
    const store = createMemoryStore();
    const first = testEngine([counter], {}, store);
    const { record } = await first.create("counter", { config: { start: 7 }, ttlMs: 60_000, autoExtend: false });
    counter.adopting = new Gate();
    const { call, clock, router, worker } = await successor(counter, store);
    const waiting = call("counter:incr", {}, { sessionId: record.id });
    const impatient = call("counter:incr", {}, { timeoutMs: 1_000 });
    await counter.adopting.arrived();
    await clock.advance(1_500);
    expect(await impatient).toMatchObject({ error: { error: "timeout" } });
    counter.adopting.open();
    expect(await waiting).toMatchObject({ ok: true, data: { value: 8 }, meta: { session_id: record.id } });
    expect(router.find(worker("w1"), "counter")).toMatchObject({ ttlMs: 60_000, autoExtend: false, temporary: false });
    await clock.advance(60_000);
    expect(counter.cleaned.map(({ id }) => id)).toEqual([record.id]);
    expect(await store.sessions.live()).toEqual([]);
  });

  it("F01: is lost when its backend does not find it, or fails to, and then it is cleaned up", async () => {
    const counter = new OutsideCounter();
    const store = createMemoryStore();
    const { record } = await testEngine([counter], {}, store).create("counter");
    counter.outside.clear();
    const { call, router } = await successor(counter, store);
    await settle();
    expect(router.sessionCount).toBe(0);
    expect(counter.cleaned).toMatchObject([{ id: record.id, data: undefined }]);
    expect(await call("counter:incr", {}, { sessionId: record.id })).toMatchObject({
      error: { error: "session_lost", outcome: "infra_error" },
    });
    expect(await call("counter:incr")).toMatchObject({ ok: true, meta: { lost_session: record.id } });
    expect(await store.sessions.get("default", record.id)).toMatchObject({ state: "lost told" });
  });

  it.each([
    ["forth", HOUR_MS],
    ["back", -HOUR_MS],
  ])("F08: neither ends nor lives on for a clock that was set %s an hour meanwhile", async (_, jumpMs) => {
    const counter = new OutsideCounter();
    const store = createMemoryStore();
    await testEngine([counter], { sessionTtlMs: TTL_MS }, store).create("counter");
    const clock = new ManualClock();
    clock.jumpWall(jumpMs);
    const { router, worker } = await successor(counter, store, clock);
    await settle();
    const [record] = router.list(worker("w1"));
    const leftMs = (record?.expiresAt ?? 0) - clock.now();
    expect(leftMs).toBeGreaterThanOrEqual(60_000);
    expect(leftMs).toBeLessThanOrEqual(TTL_MS);
    await clock.advance(TTL_MS);
    expect(router.sessionCount).toBe(0);
  });

  it("is ended by a stop, which is told to who still names it", async () => {
    const counter = new OutsideCounter();
    const store = createMemoryStore();
    const { create, engine } = testEngine([counter], {}, store);
    const { record } = await create("counter");
    await engine.stop();
    const { call } = await successor(counter, store);
    expect(await call("counter:incr", {}, { sessionId: record.id })).toMatchObject({
      error: { error: "session_lost" },
    });
  });
});

describe("what is written of sessions", () => {
  it("is the explicit ones, before their creation is answered, and their end", async () => {
    const counter = new CounterBackend();
    const store = createFaultyStore(createMemoryStore());
    const { call, create, router, worker } = testEngine([counter], {}, store);
    await call("counter:incr");
    await create("elsewhere");
    expect(store.count("sessions.put")).toBe(0);
    const written = Promise.withResolvers<void>();
    store.inject("sessions.put", { kind: "hold", until: written.promise });
    let answered = 0;
    const creating = [1, 2].map(() => create("counter").then(() => (answered += 1)));
    await settle();
    expect([store.count("sessions.put"), answered]).toEqual([1, 0]);
    written.resolve();
    await Promise.all(creating);
    const record = router.find(worker("w1"), "counter");
    if (record === undefined) throw new Error("there is no session");
    expect(await store.sessions.get("default", record.id)).toMatchObject({ state: "live", handle: null });
    await router.destroy(record, "destroyed");
    expect(await store.sessions.get("default", record.id)).toMatchObject({ state: "destroyed" });
  });

  it("refuses a creation that cannot be written, and keeps nothing of it", async () => {
    const counter = new CounterBackend();
    const store = createFaultyStore(createMemoryStore());
    const { create, router } = testEngine([counter], {}, store);
    store.inject("sessions.put", DISK_FULL);
    await expect(create("counter")).rejects.toMatchObject({ error: "dependency_failed" });
    await settle();
    expect([router.sessionCount, counter.cleaned.length]).toEqual([0, 1]);
    expect((await create("counter")).how).toBe("created");
  });

  it("follows renewals at the sweep, and only when they moved the end by much", async () => {
    const counter = new CounterBackend();
    const store = createFaultyStore(createMemoryStore());
    const { call, create, clock } = testEngine([counter], { sessionTtlMs: TTL_MS }, store);
    const { record } = await create("counter");
    const expiry = async () => (await store.sessions.get("default", record.id))?.expiresAt ?? 0;
    const before = await expiry();
    await clock.advance(30_000);
    await call("counter:incr");
    await clock.advance(10_000);
    expect(store.count("sessions.renew")).toBe(0);
    await clock.advance(60_000);
    await call("counter:incr");
    await clock.advance(10_000);
    expect(store.count("sessions.renew")).toBe(1);
    expect((await expiry()) - before).toBe(100_000);
  });

  it("F08: is forgotten after its time by the monotonic clock, whatever the wall clock does", async () => {
    const store = createMemoryStore();
    const { call, clock, create, engine } = testEngine([new CounterBackend()], { sessionRetentionMs: HOUR_MS }, store);
    const { record } = await create("counter");
    await engine.router.destroy(record, "destroyed");
    const request = { caller: { tenant: "default", workerId: "w1" }, action: "counter:incr", params: {} };
    const keyed = await engine.calls.execute({ ...request, idempotencyKey: "k" });
    clock.jumpWall(48 * HOUR_MS);
    await clock.advance(120_000);
    expect(await store.sessions.get("default", record.id)).not.toBeNull();
    expect(await engine.calls.execute({ ...request, idempotencyKey: "k" })).toEqual({ ...keyed, replayed: true });
    await clock.advance(HOUR_MS);
    expect(await store.sessions.get("default", record.id)).toBeNull();
    expect(await call("counter:incr")).toMatchObject({ ok: true });
  });
});
