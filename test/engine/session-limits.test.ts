import { describe, expect, it } from "vitest";
import { CounterBackend } from "../kit/counter-backend.ts";
import { Gate } from "../kit/gate.ts";
import { settle } from "../kit/manual-clock.ts";
import { testEngine } from "../kit/test-engine.ts";

const overloaded = (limit: string, maximum: number) => ({
  error: "overloaded",
  details: { limit, maximum, sessions: maximum, retry_after_ms: 5_000 },
});

describe("the number of sessions", () => {
  it.each([
    ["max_sessions", { maxSessions: 2 }, { tenant: "b", workerId: "w3" }],
    ["max_sessions_per_tenant", { maxSessionsPerTenant: 2 }, { tenant: "a", workerId: "w3" }],
    ["max_sessions_per_worker", { maxSessionsPerWorker: 1 }, { tenant: "a", workerId: "w1" }],
  ])("is bounded by %s, for explicit and for temporary ones", async (limit, limits, caller) => {
    const [one, two] = [new CounterBackend(), new CounterBackend({ resource: "second" })];
    const { create, call, router } = testEngine([one, two], limits);
    await create("counter", { tenant: "a", workerId: "w1" });
    await create("counter", { tenant: "a", workerId: "w2" });
    const maximum = limit === "max_sessions_per_worker" ? 1 : 2;
    await expect(create("second", caller)).rejects.toMatchObject(overloaded(limit, maximum));
    expect(await call("second:incr", {}, { caller })).toMatchObject({ error: overloaded(limit, maximum) });
    expect(router.sessionCount).toBe(2);
    expect(await call("counter:incr", {}, { caller: { tenant: "a", workerId: "w1" } })).toMatchObject({ ok: true });
  });

  it("counts one that is being made, and one whose cleanup is not over", async () => {
    const counter = new CounterBackend();
    counter.gates.initialize = new Gate();
    counter.gates.cleanup = new Gate();
    const second = new CounterBackend({ resource: "second" });
    const { create, router, call } = testEngine([counter, second], { maxSessionsPerWorker: 1 });
    const making = create("counter");
    await counter.gates.initialize.arrived();
    await expect(create("second")).rejects.toMatchObject(overloaded("max_sessions_per_worker", 1));
    counter.gates.initialize.open();
    const { record } = await making;
    const destroying = router.destroy(record, "destroyed");
    await counter.gates.cleanup.arrived();
    expect(await call("counter:incr")).toMatchObject({ error: overloaded("max_sessions_per_worker", 1) });
    counter.gates.cleanup.open();
    await destroying;
    expect(await call("counter:incr")).toMatchObject({ ok: true });
  });

  it("is given back by failed, expired and temporary ones alike", async () => {
    const counter = new CounterBackend();
    const { create, call, clock } = testEngine([counter], {
      maxSessions: 1,
      sessionTtlMs: 1_000,
      sweepIntervalMs: 500,
    });
    for (let round = 0; round < 3; round += 1) {
      counter.onInitialize = () => Promise.reject(new Error("no"));
      expect(await call("counter:incr")).toMatchObject({ error: { error: "session_init_failed" } });
      await settle();
      counter.onInitialize = undefined;
      expect(await call("counter:incr")).toMatchObject({ ok: true });
      await settle();
      await create("counter", { workerId: `w${round}` });
      await clock.advance(5_000);
    }
    expect(counter.cleaned).toHaveLength(9);
  });
});
