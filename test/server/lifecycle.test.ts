import { describe, expect, it } from "vitest";
import { CounterBackend } from "../kit/counter-backend.ts";
import { Gate } from "../kit/gate.ts";
import { ManualClock } from "../kit/manual-clock.ts";
import { ScriptedBackend } from "../kit/scripted-backend.ts";
import { testServer } from "../kit/test-server.ts";

const worker_id = "w1";
const START = "2026-01-01T00:00:00.000Z";

describe("what a worker says of itself", () => {
  it("a heartbeat renews its sessions and lists their types", async () => {
    const clock = new ManualClock();
    await using server = await testServer({ backends: [new CounterBackend()], clock });
    await server.post("/api/v1/session/create", { worker_id, resource_type: "counter", ttl: 10 });
    await clock.advance(9_999);
    const { body } = await server.post("/api/v1/lifecycle/heartbeat", { worker_id });
    expect(body.data).toEqual({
      worker_id,
      active_sessions: ["counter"],
      timestamp: "2026-01-01T00:00:09.999Z",
    });
    expect(body.meta.tool).toBe("session:heartbeat");
    await clock.advance(9_999);
    expect((await server.post("/api/v1/lifecycle/heartbeat", { worker_id })).body.data.active_sessions).toHaveLength(1);
  });

  it("a status tells its sessions", async () => {
    await using server = await testServer({ backends: [new CounterBackend()], clock: new ManualClock() });
    const { body: created } = await server.post("/api/v1/session/create", { worker_id, resource_type: "counter" });
    const { body } = await server.post("/api/v1/lifecycle/status", { worker_id });
    const { session_id } = created.data;
    expect(body.data).toEqual({
      worker_id,
      active_resources: ["counter"],
      sessions: { counter: { session_id, status: "active", created_at: START, last_activity: START } },
      tools_available: 4,
    });
    expect(body.meta.tool).toBe("session:status");
  });

  it("a disconnect ends all of its sessions and no other worker's", async () => {
    const counter = new CounterBackend();
    await using server = await testServer({ backends: [counter] });
    for (const worker of [worker_id, "w2"]) {
      await server.post("/api/v1/session/create", { worker_id: worker, resource_type: "counter" });
    }
    const { status, body } = await server.post("/api/v1/worker/disconnect", { worker_id });
    expect([status, body.data]).toEqual([200, { worker_id, sessions_cleaned: 1 }]);
    expect(body.meta.tool).toBe("session:disconnect");
    expect(counter.cleaned.map((session) => session.workerId)).toEqual([worker_id]);
    expect((await server.post("/api/v1/worker/disconnect", {})).status).toBe(422);
  });
});

describe("warming up", () => {
  it("warms the named backends, or all, and says which could not be", async () => {
    const [good, bad] = [new CounterBackend({ resource: "good" }), new CounterBackend({ resource: "bad" })];
    bad.onWarmup = () => Promise.reject(new Error("secret"));
    await using server = await testServer({ backends: [good, bad, new ScriptedBackend()] });
    expect((await server.get("/api/v1/warmup/status")).body).toEqual({
      backends: {
        good: { loaded: true, warmed_up: false },
        bad: { loaded: true, warmed_up: false },
        probe: { loaded: true, warmed_up: true },
      },
      summary: { total: 3, warmed_up: 1, pending: 2 },
    });
    expect((await server.post("/api/v1/warmup", { backends: ["good"] })).body).toEqual({
      status: "success",
      results: { good: true },
      summary: { total: 1, warmed_up: 1, pending: 0 },
    });
    expect((await server.post("/api/v1/warmup", {})).body).toEqual({
      status: "partial_error",
      results: { good: true, bad: false, probe: true },
      summary: { total: 3, warmed_up: 2, pending: 1 },
      errors: { bad: "bad could not be warmed up" },
    });
    expect(good.warmups).toBe(1);
    const { body } = await server.get("/ready");
    expect(body["backends"].bad).toEqual({ up: false, warm: false, reason: "bad could not be warmed up" });
    // A run that failed is not kept.
    bad.onWarmup = undefined;
    expect((await server.execute("bad:incr")).status).toBe(200);
    expect((await server.get("/ready")).body["backends"].bad).toEqual({ up: true, warm: true });
  });

  it("runs once, however many ask at the same time", async () => {
    const counter = new CounterBackend();
    counter.gates.warmup = new Gate();
    await using server = await testServer({ backends: [counter] });
    const asking = [
      server.post("/api/v1/warmup", {}),
      server.post("/api/v1/warmup", {}),
      server.execute("counter:incr"),
    ];
    await counter.gates.warmup.arrived();
    counter.gates.warmup.open();
    expect((await Promise.all(asking)).map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(counter.warmups).toBe(1);
  });

  it("names what is not mounted, and takes no name that is none", async () => {
    await using server = await testServer();
    const { body } = await server.post("/api/v1/warmup", { backends: ["nothing"] });
    expect(body).toMatchObject({ status: "partial_error", results: { nothing: false } });
    for (const backends of [["__proto__"], ["x".repeat(300)], [""]]) {
      expect((await server.post("/api/v1/warmup", { backends })).status).toBe(400);
    }
  });
});

describe("GET /health and /ready", () => {
  it("say that the server lives, and what it holds", async () => {
    const counter = new CounterBackend();
    await using server = await testServer({
      backends: [counter],
      clock: new ManualClock(),
      runtimes: async () => ({ quickjs: { up: true } }),
    });
    const health = await server.get("/health");
    expect([health.status, health.body]).toEqual([
      200,
      {
        status: "healthy",
        timestamp: START,
        features: expect.arrayContaining(["idempotency", "jobs"]),
      },
    ]);
    await server.post("/api/v1/session/create", { worker_id, resource_type: "counter" });
    const running = server.execute("counter:hold", { gate: "a" });
    await counter.gate("a").arrived();
    const ready = await server.get("/ready");
    expect(ready.status).toBe(200);
    expect(ready.body).toMatchObject({
      status: "ready",
      tools_count: 4,
      active_workers: 1,
      total_sessions: 1,
      ending_sessions: 0,
      leaked_sessions: 0,
      active_calls: 1,
      backends: { counter: { up: true, warm: true } },
      runtimes: { quickjs: { up: true } },
    });
    counter.gate("a").open();
    await running;
  });

  it("say why a backend is down, without its words", async () => {
    const [down, broken] = [new CounterBackend({ resource: "down" }), new CounterBackend({ resource: "broken" })];
    down.health = async () => ({ up: false, reason: "no image" });
    broken.health = () => Promise.reject(new Error("secret"));
    await using server = await testServer({ backends: [down, broken] });
    expect((await server.get("/ready")).body["backends"]).toMatchObject({
      down: { up: false, reason: "no image" },
      broken: { up: false, reason: "its health check failed" },
    });
  });
});
