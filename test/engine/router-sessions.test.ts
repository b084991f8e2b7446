import { z } from "zod";
import { describe, expect, it } from "vitest";
import { CounterBackend } from "../kit/counter-backend.ts";
import { Gate } from "../kit/gate.ts";
import { settle } from "../kit/manual-clock.ts";
import { testEngine } from "../kit/test-engine.ts";
import { ToolyardError } from "../../src/core/errors.ts";
import { Cancellation } from "../../src/engine/deadline.ts";

const gone = new ToolyardError("cancelled", "The client went away");

describe("making a session", () => {
  it("E05: a hundred first calls of a worker initialize once", async () => {
    const counter = new CounterBackend();
    counter.gates.initialize = new Gate();
    const { call } = testEngine([counter]);
    const calls = Array.from({ length: 100 }, () => call("counter:incr"));
    counter.gates.initialize.open();
    const results = await Promise.all(calls);
    expect(results.every(({ ok }) => ok)).toBe(true);
    expect(counter.initialized).toHaveLength(1);
    await settle();
    expect(counter.cleaned).toHaveLength(1);
  });

  it("fails everybody who waits when the initialize fails, and keeps nothing", async () => {
    const counter = new CounterBackend();
    counter.gates.initialize = new Gate();
    counter.onInitialize = () => Promise.reject(gone);
    const { call, create, router } = testEngine([counter]);
    const waiting = Promise.allSettled([call("counter:incr"), create("counter"), create("counter")]);
    counter.gates.initialize.open();
    const [called, ...created] = await waiting;
    expect(called).toMatchObject({
      status: "fulfilled",
      value: { ok: false, error: { error: "session_init_failed" } },
    });
    for (const outcome of created) expect(outcome).toMatchObject({ reason: { error: "session_init_failed" } });
    await settle();
    expect(counter.initialized).toHaveLength(1);
    expect(counter.cleaned).toHaveLength(1);
    expect([router.sessionCount, router.workerCount, router.endingCount]).toEqual([0, 0, 0]);
  });

  it("goes on for the others when one who waits gives up", async () => {
    const counter = new CounterBackend();
    counter.gates.initialize = new Gate();
    const { call, create } = testEngine([counter]);
    const client = new Cancellation();
    const leaving = create("counter", {}, client);
    const staying = call("counter:incr");
    client.cancel(gone);
    await expect(leaving).rejects.toBe(gone);
    counter.gates.initialize.open();
    expect(await staying).toMatchObject({ ok: true });
  });

  it("aborts the initialize once nobody waits for it any more", async () => {
    const counter = new CounterBackend();
    counter.onInitialize = (_request, { signal }) => new Gate().passedOr(signal);
    const { call, router } = testEngine([counter]);
    const clients = [new Cancellation(), new Cancellation()];
    const calls = clients.map((parent) => call("counter:incr", {}, { parent }));
    await counter.gates.initialize.arrived();
    clients[0]?.cancel(gone);
    await settle();
    expect(router.sessionCount).toBe(1);
    clients[1]?.cancel(gone);
    const results = await Promise.all(calls);
    expect(results).toMatchObject([{ error: { error: "cancelled" } }, { error: { error: "cancelled" } }]);
    await settle();
    expect(router.sessionCount).toBe(0);
    expect(counter.cleaned).toHaveLength(1);
  });

  it("gives a next call a session of its own while an abandoned initialize still ends", async () => {
    const counter = new CounterBackend();
    counter.gates.initialize = new Gate();
    const { call } = testEngine([counter]);
    const client = new Cancellation();
    const first = call("counter:incr", {}, { parent: client });
    await counter.gates.initialize.arrived();
    client.cancel(gone);
    await first;
    const second = call("counter:incr");
    await counter.gates.initialize.arrived(2);
    counter.gates.initialize.open();
    expect(await second).toMatchObject({ ok: true, data: { value: 1 } });
    await settle();
    expect(new Set(counter.cleaned.map(({ id }) => id)).size).toBe(2);
  });

  it("cleans what an initialize made between its abort and the end of its grace, once, with its data", async () => {
    const counter = new CounterBackend();
    counter.gates.initialize = new Gate();
    const { call, clock } = testEngine([counter], { initializeTimeoutMs: 1_000, abortGraceMs: 500 });
    const failed = call("counter:incr");
    await clock.advance(1_200);
    counter.gates.initialize.open();
    expect(await failed).toMatchObject({ error: { error: "session_init_failed", outcome: "limit" } });
    await settle();
    expect(counter.cleaned.map(({ data }) => data)).toMatchObject([{ value: 0 }]);
  });

  it("cleans what an initialize made after it was given up, beside the session that failed", async () => {
    const counter = new CounterBackend();
    counter.gates.initialize = new Gate();
    const { call, clock } = testEngine([counter], { initializeTimeoutMs: 1_000, abortGraceMs: 500 });
    const failed = call("counter:incr");
    await clock.advance(1_500);
    expect(await failed).toMatchObject({ ok: false, error: { error: "session_init_failed" } });
    await settle();
    expect(counter.cleaned.map(({ data }) => data)).toEqual([undefined]);
    counter.gates.initialize.open();
    await settle();
    expect(counter.cleaned.map(({ data }) => data)).toMatchObject([undefined, { value: 0 }]);
  });

  it("merges the session's config over the backend's", async () => {
    const counter = new CounterBackend();
    const { create } = testEngine([counter]);
    await create("counter", { config: { start: 3 }, customName: "Mine!" });
    expect(counter.initialized[0]?.config).toEqual({ start: 3 });
    const [request] = counter.initialized;
    expect(request?.sessionId).toMatch(/^counter_w1_001_Mine_[0-9a-f]{32}$/);
  });

  it("counts a worker's sessions in their names", async () => {
    const { create, router } = testEngine([new CounterBackend(), new CounterBackend({ resource: "other" })]);
    await create("other");
    for (const expected of ["counter_w1_001", "counter_w1_002"]) {
      const { record } = await create("counter");
      expect(record.name).toBe(expected);
      await router.destroy(record, "destroyed");
    }
  });

  it("refuses a config that breaks the backend's schema, and leaves a temporary session in peace", async () => {
    class Strict extends CounterBackend {
      override readonly sessionSchema = z.strictObject({ start: z.int().optional() });
    }
    const counter = new Strict();
    const { call, create, router } = testEngine([counter]);
    const running = call("counter:hold", { gate: "a" });
    await counter.gate("a").arrived();
    const before = router.list({ tenant: "default", workerId: "w1" });
    await expect(create("counter", { config: { strat: 1 } })).rejects.toMatchObject({ error: "invalid_input" });
    expect(router.list({ tenant: "default", workerId: "w1" })).toEqual(before);
    counter.gate("a").open();
    expect(await running).toMatchObject({ ok: true, meta: { temporary_session: true } });
  });

  it("gives an adopted session the ttl that its adopter asks for", async () => {
    const counter = new CounterBackend();
    const { call, create, clock, router, worker } = testEngine([counter], { sessionTtlMs: 1_000 });
    const running = call("counter:hold", { gate: "a" });
    await counter.gate("a").arrived();
    expect((await create("counter", { ttlMs: 60_000 })).how).toBe("adopted");
    counter.gate("a").open();
    await running;
    await clock.advance(30_000);
    expect(router.list(worker("w1"))).toHaveLength(1);
  });

  it("makes a session without a backend behind it, too", async () => {
    const { create, router, worker } = testEngine([]);
    const { record } = await create("anything", { config: { a: 1 } });
    expect([record.state, record.mount]).toEqual(["active", undefined]);
    await router.destroy(record, "destroyed");
    expect(router.list(worker("w1"))).toEqual([]);
  });
});
