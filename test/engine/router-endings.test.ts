import { describe, expect, it } from "vitest";
import { CounterBackend } from "../kit/counter-backend.ts";
import { Gate } from "../kit/gate.ts";
import { settle } from "../kit/manual-clock.ts";
import { testEngine } from "../kit/test-engine.ts";

const HOUR_MS = 3_600_000;

describe("ending a session", () => {
  it("lets running calls end before the cleanup, and keeps new calls out at once", async () => {
    const counter = new CounterBackend();
    const { call, create, router } = testEngine([counter]);
    const { record } = await create("counter", { config: { start: 10 } });
    const running = call("counter:hold", { gate: "a" });
    await counter.gate("a").arrived();
    const destroying = router.destroy(record, "destroyed");
    expect(await call("counter:incr")).toMatchObject({ ok: true, data: { value: 1 } });
    expect(counter.cleaned.some(({ id }) => id === record.id)).toBe(false);
    counter.gate("a").open();
    expect(await running).toMatchObject({ ok: true, data: { alive: true, value: 10 } });
    expect(await destroying).toBe(true);
    expect(counter.cleaned.some(({ id }) => id === record.id)).toBe(true);
  });

  it("takes no notice of what a cleanup returns at once", async () => {
    const counter = new CounterBackend();
    const alive = new Map<string, true>();
    // As a hook of one line does: what Map.delete returns is nobody's.
    Reflect.set(counter, "cleanup", (session: { id: string }) => alive.delete(session.id));
    const { call, create, router } = testEngine([counter]);
    expect(await call("counter:incr")).toMatchObject({ ok: true });
    const { record } = await create("counter");
    alive.set(record.id, true);
    expect(await router.destroy(record, "destroyed")).toBe(true);
    expect(alive.size).toBe(0);
    await settle();
    expect(router.endingCount).toBe(0);
  });

  it("cancels running calls when forced", async () => {
    const counter = new CounterBackend();
    const { call, create, router } = testEngine([counter]);
    const { record } = await create("counter");
    const running = call("counter:hold", { gate: "a" });
    await counter.gate("a").arrived();
    expect(await router.destroy(record, "destroyed", { force: true })).toBe(true);
    expect(await running).toMatchObject({ ok: false, error: { error: "cancelled" } });
    expect(counter.cleaned).toHaveLength(1);
  });

  it("aborts an initialize when forced", async () => {
    const counter = new CounterBackend();
    counter.onInitialize = (_request, { signal }) => new Gate().passedOr(signal);
    const { create, router, worker } = testEngine([counter]);
    const creating = create("counter").catch((error: unknown) => error);
    await counter.gates.initialize.arrived();
    const record = router.find(worker("w1"), "counter");
    if (record === undefined) throw new Error("the session is not in the table");
    expect(await router.destroy(record, "destroyed", { force: true })).toBe(true);
    expect(await creating).toMatchObject({ error: "cancelled" });
  });

  it("stops waiting for a slow destroy, which goes on", async () => {
    const counter = new CounterBackend();
    counter.gates.cleanup = new Gate();
    const { create, clock, router } = testEngine([counter], { destroyWaitMs: 1_000 });
    const { record } = await create("counter");
    const destroying = router.destroy(record, "destroyed");
    await clock.advance(1_000);
    expect(await destroying).toBe(false);
    expect(router.endingCount).toBe(1);
    counter.gates.cleanup.open();
    await settle();
    expect(router.endingCount).toBe(0);
  });

  it("retries a cleanup that fails, and counts a session that stays behind as leaked", async () => {
    const counter = new CounterBackend();
    let tries = 0;
    counter.onCleanup = async () => {
      tries += 1;
      throw new Error("the engine says 500");
    };
    const { call, clock, router } = testEngine([counter]);
    await call("counter:incr");
    await clock.advance(0);
    expect(tries).toBe(1);
    await clock.advance(1_000);
    expect(tries).toBe(2);
    expect(router.leaked).toBe(0);
    await clock.advance(10_000);
    expect([tries, router.leaked, router.endingCount]).toEqual([3, 1, 0]);
  });

  it("gives up a cleanup that hangs, so that it is retried", async () => {
    const counter = new CounterBackend();
    counter.gates.cleanup = new Gate();
    const { call, clock, router } = testEngine([counter], { cleanupTimeoutMs: 1_000, abortGraceMs: 100 });
    await call("counter:incr");
    await clock.advance(1_100 + 1_000);
    await counter.gates.cleanup.arrived(2);
    counter.gates.cleanup.open();
    await settle();
    expect([router.leaked, router.endingCount]).toEqual([0, 0]);
  });

  it("gives a failed initialize's cleanup no data and a clean one its own", async () => {
    const counter = new CounterBackend();
    const { create, router } = testEngine([counter]);
    const { record } = await create("counter", { config: { start: 7 } });
    await router.destroy(record, "destroyed");
    expect(counter.cleaned.map(({ data }) => data)).toEqual([{ value: 7, alive: false }]);
  });
});

describe("the time a session has", () => {
  it("F04: a worker that only sends heartbeats keeps its session", async () => {
    const counter = new CounterBackend();
    const { create, clock, router, worker } = testEngine([counter], { sessionTtlMs: 1_000, sweepIntervalMs: 100 });
    await create("counter");
    for (let beat = 0; beat < 20; beat += 1) {
      await clock.advance(500);
      expect(router.heartbeat(worker("w1"))).toHaveLength(1);
    }
    expect(counter.cleaned).toHaveLength(0);
  });

  it("F05: a worker that stops its heartbeats is reaped within its ttl and one sweep", async () => {
    const counter = new CounterBackend();
    const { create, clock } = testEngine([counter], { sessionTtlMs: 1_000, sweepIntervalMs: 200 });
    await create("counter");
    await clock.advance(999);
    expect(counter.cleaned).toHaveLength(0);
    await clock.advance(201);
    expect(counter.cleaned).toHaveLength(1);
  });

  it("a session that sends its heartbeat in its last milliseconds is kept, ten thousand times over", async () => {
    const counter = new CounterBackend();
    const { create, clock, router, worker } = testEngine([counter], { sessionTtlMs: 100, sweepIntervalMs: 1_000_000 });
    const { record } = await create("counter");
    for (let turn = 0; turn < 10_000; turn += 1) {
      clock.skip(98);
      const [renewed] = router.heartbeat(worker("w1"));
      clock.skip(1);
      expect(router.sweep()).toBe(0);
      expect(renewed).toBe(record);
    }
    clock.skip(100);
    expect(router.heartbeat(worker("w1"))).toEqual([]);
    expect(router.sweep()).toBe(0);
    await settle();
    expect(counter.cleaned).toHaveLength(1);
  });

  it("F08: a jump of the wall clock ends nothing and saves nothing", async () => {
    const counter = new CounterBackend();
    const { create, clock, router } = testEngine([counter], { sessionTtlMs: 1_000, sweepIntervalMs: 100 });
    const { record } = await create("counter");
    for (const jump of [HOUR_MS, -2 * HOUR_MS]) {
      clock.jumpWall(jump);
      await clock.advance(200);
      expect(counter.cleaned).toHaveLength(0);
      expect(router.times.expiryDate(record).getTime() - clock.date().getTime()).toBeLessThanOrEqual(1_000);
    }
    await clock.advance(1_000);
    expect(counter.cleaned).toHaveLength(1);
  });

  it("ends a session that does not extend itself, calls and heartbeats or not, but never under a call", async () => {
    const counter = new CounterBackend();
    const { create, call, clock, router, worker } = testEngine([counter], { sweepIntervalMs: 100 });
    await create("counter", { ttlMs: 1_000, autoExtend: false });
    await clock.advance(600);
    await call("counter:incr");
    router.heartbeat(worker("w1"));
    const running = call("counter:hold", { gate: "a" });
    await clock.advance(600);
    expect(counter.cleaned).toHaveLength(0);
    counter.gate("a").open();
    expect(await running).toMatchObject({ ok: true, data: { alive: true, value: 1 } });
    await clock.advance(100);
    expect(counter.cleaned).toHaveLength(1);
  });

  it("takes no ttl above the server's maximum, at create or at refresh", async () => {
    const { create, clock, router } = testEngine([], { maxSessionTtlMs: 5_000 });
    const { record } = await create("counter", { ttlMs: HOUR_MS });
    const left = () => router.times.expiryDate(record).getTime() - clock.date().getTime();
    expect(left()).toBe(5_000);
    router.renew(record, HOUR_MS);
    expect(left()).toBe(5_000);
    router.renew(record, 2_000);
    expect(left()).toBe(2_000);
  });

  it("answers a call pinned to an expired session as expired, and one pinned to a destroyed one as not found", async () => {
    const { call, create, clock, router } = testEngine([new CounterBackend()], { sessionTtlMs: 1_000 });
    const expired = (await create("counter")).record;
    await clock.advance(1_001);
    expect(await call("counter:incr", {}, { sessionId: expired.id })).toMatchObject({
      error: { error: "session_expired", status: 404, code: 4007 },
    });
    const destroyed = (await create("counter")).record;
    await router.destroy(destroyed, "destroyed");
    expect(await call("counter:incr", {}, { sessionId: destroyed.id })).toMatchObject({
      error: { error: "session_not_found", status: 404 },
    });
    expect(router.sessionCount).toBe(0);
  });

  it("D03: tells another worker nothing of a session's past", async () => {
    const { call, create, clock, worker } = testEngine([new CounterBackend()], { sessionTtlMs: 1_000 });
    const { record } = await create("counter");
    const stranger = { caller: worker("w2"), sessionId: record.id };
    const whileLive = await call("counter:incr", {}, stranger);
    await clock.advance(1_001);
    const onceExpired = await call("counter:incr", {}, stranger);
    expect(whileLive).toMatchObject({ error: { error: "session_not_found" } });
    expect(onceExpired).toMatchObject({ error: { error: "session_not_found" } });
  });
});
