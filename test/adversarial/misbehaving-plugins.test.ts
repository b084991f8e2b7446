import { describe, expect, it } from "vitest";
import { CounterBackend } from "../kit/counter-backend.ts";
import { Gate } from "../kit/gate.ts";
import { ManualClock } from "../kit/manual-clock.ts";
import { ScriptedBackend } from "../kit/scripted-backend.ts";
import { testServer } from "../kit/test-server.ts";

describe("D11: a plugin that misbehaves", () => {
  it("and hangs in initialize is cut off at its deadline; other backends never notice", async () => {
    const clock = new ManualClock();
    const hanging = new CounterBackend();
    hanging.gates.initialize = new Gate();
    const backends = [hanging, new CounterBackend({ resource: "good" })];
    await using server = await testServer({
      backends,
      clock,
      limits: { initializeTimeoutMs: 1_000, abortGraceMs: 100 },
    });
    const call = server.execute("counter:incr");
    await hanging.gates.initialize.arrived();
    expect((await server.execute("good:incr")).status).toBe(200);
    await clock.advance(1_100);
    expect(await call).toMatchObject({
      status: 400,
      body: { code: 4007, data: { error: "timeout", limit: "timeout" }, meta: { outcome: "limit" } },
    });
    // The failure is not kept, and what came late is cleaned up.
    hanging.gates.initialize.open();
    expect((await server.execute("counter:incr")).status).toBe(200);
    await clock.advance(0);
    expect(hanging.cleaned.filter(({ data }) => data !== undefined)).toHaveLength(2);
  });

  it("and hangs in warmup is cut off, said in /ready, and tried again", async () => {
    const clock = new ManualClock();
    const hanging = new CounterBackend();
    hanging.gates.warmup = new Gate();
    await using server = await testServer({
      backends: [hanging],
      clock,
      limits: { warmupTimeoutMs: 1_000, abortGraceMs: 100 },
    });
    const call = server.execute("counter:incr");
    await hanging.gates.warmup.arrived();
    await clock.advance(1_100);
    expect(await call).toMatchObject({ status: 400, body: { data: { error: "backend_unavailable" } } });
    expect((await server.get("/ready")).body["backends"].counter).toMatchObject({ up: false, warm: false });
    hanging.gates.warmup = Gate.open();
    expect((await server.execute("counter:incr")).status).toBe(200);
  });

  it("and hangs in its health check does not hang /ready", async () => {
    const clock = new ManualClock();
    const hanging = new CounterBackend();
    const asked = new Gate();
    hanging.health = async () => {
      asked.arrive();
      return new Promise(() => undefined);
    };
    await using server = await testServer({ backends: [hanging], clock, limits: { abortGraceMs: 100 } });
    const ready = server.get("/ready");
    await asked.arrived();
    await clock.advance(5_100);
    expect((await ready).body["backends"].counter).toMatchObject({ up: false });
  });

  it.each(["onInitialize", "onCleanup", "onWarmup"] as const)("and throws at once in %s fails alone", async (hook) => {
    const bad = new CounterBackend();
    const once = () => {
      bad[hook] = undefined;
      throw new TypeError("at once, not a rejection");
    };
    bad[hook] = once;
    await using server = await testServer({ backends: [bad, new CounterBackend({ resource: "good" })] });
    const first = await server.execute("counter:incr");
    expect(first.status).toBe(hook === "onCleanup" ? 200 : 400);
    expect((await server.execute("good:incr")).status).toBe(200);
    expect((await server.execute("counter:incr")).status).toBe(200);
  });

  it("and returns what holds itself, or is no JSON, gets a typed failure", async () => {
    const probe = new ScriptedBackend({ sessions: true });
    await using server = await testServer({ backends: [probe] });
    await server.post("/api/v1/session/create", { worker_id: "w1", resource_type: "probe" });
    const cycle: Record<string, unknown> = {};
    cycle["self"] = cycle;
    for (const value of [cycle, { run: () => undefined }, { at: Symbol("x") }]) {
      probe.script = async () => value;
      const { status, body } = await server.execute("probe:probe");
      expect([status, body.code, body.meta.outcome]).toEqual([500, 5013, "infra_error"]);
    }
    expect((await server.execute("probe:echo")).status).toBe(200);
  });

  it("and writes to the prototype of what it was given changes nothing for others", async () => {
    const probe = new ScriptedBackend();
    probe.script = (params) => {
      Object.assign(params, { added: true });
      return params;
    };
    await using server = await testServer({ backends: [probe] });
    expect((await server.execute("probe:probe", { own: 1 })).body.data).toEqual({ own: 1, added: true });
    expect((await server.execute("probe:probe", {})).body.data).toEqual({ added: true });
  });

  it("and leaks is counted: a cleanup that fails for good is said in /ready", async () => {
    const clock = new ManualClock();
    const leaking = new CounterBackend();
    const failures = new Gate();
    leaking.onCleanup = async () => {
      failures.arrive();
      throw new Error("the engine says 500");
    };
    await using server = await testServer({ backends: [leaking], clock });
    await server.execute("counter:incr");
    await failures.arrived(1);
    await clock.advance(1_000);
    await failures.arrived(2);
    expect((await server.get("/ready")).body).toMatchObject({ ending_sessions: 1, leaked_sessions: 0 });
    await clock.advance(10_000);
    await failures.arrived(3);
    expect((await server.get("/ready")).body).toMatchObject({ ending_sessions: 0, leaked_sessions: 1 });
  });
});
