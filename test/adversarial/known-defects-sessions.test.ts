import { describe, expect, it } from "vitest";
import { CounterBackend } from "../kit/counter-backend.ts";
import { Gate } from "../kit/gate.ts";
import { ManualClock, settle } from "../kit/manual-clock.ts";
import { ScriptedBackend } from "../kit/scripted-backend.ts";
import { testServer } from "../kit/test-server.ts";

const create = (more: object = {}) => ({ worker_id: "w1", resource_type: "counter", ...more });

describe("known defects of sessions", () => {
  it("D1: parallel temporary calls of one worker share a session that lives until the last ends", async () => {
    const counter = new CounterBackend();
    await using server = await testServer({ backends: [counter] });
    const first = server.execute("counter:hold", { gate: "first" });
    const second = server.execute("counter:hold", { gate: "second" });
    await Promise.all([counter.gate("first").arrived(), counter.gate("second").arrived()]);
    expect(counter.initialized).toHaveLength(1);

    counter.gate("first").open();
    expect((await first).body.data.alive).toBe(true);
    expect(counter.cleaned).toHaveLength(0);

    counter.gate("second").open();
    expect((await second).body.data.alive).toBe(true);
    await settle();
    expect(counter.cleaned).toHaveLength(1);
  });

  it("D1: the items of a parallel batch share a temporary session too", async () => {
    const counter = new CounterBackend();
    await using server = await testServer({ backends: [counter] });
    const actions = ["a", "b", "c"].map((gate) => ({ action: "counter:hold", params: { gate } }));
    const batch = server.post("/execute/batch", { worker_id: "w1", actions, parallel: true });
    for (const gate of ["a", "b", "c"]) {
      await counter.gate(gate).arrived();
      counter.gate(gate).open();
    }
    const { status, body } = await batch;
    expect(status).toBe(200);
    expect(body.data.results.map((item: { data: { alive: boolean } }) => item.data.alive)).toEqual([true, true, true]);
    expect(counter.initialized.length).toBe(counter.cleaned.length);
  });

  it("D2: a create during a temporary call adopts its session, which outlives the call", async () => {
    const counter = new CounterBackend();
    await using server = await testServer({ backends: [counter] });
    const call = server.execute("counter:hold", { gate: "a" });
    await counter.gate("a").arrived();
    const created = await server.post("/api/v1/session/create", create());
    expect(created.body.data).toMatchObject({ session_status: "active", adopted: true });
    counter.gate("a").open();
    const { body } = await call;
    expect(body.meta).not.toHaveProperty("temporary_session");
    expect(body.meta.session_id).toBe(created.body.data.session_id);
    await settle();
    expect(counter.cleaned).toHaveLength(0);
    expect((await server.execute("counter:get")).body.meta.session_id).toBe(created.body.data.session_id);
  });

  it("D2: a create with a config during a temporary call gets that config, and the call keeps its own session", async () => {
    const counter = new CounterBackend();
    await using server = await testServer({ backends: [counter] });
    const call = server.execute("counter:hold", { gate: "a" });
    await counter.gate("a").arrived();
    await server.post("/api/v1/session/create", create({ session_config: { start: 40 } }));
    expect((await server.execute("counter:incr", { by: 2 })).body.data.value).toBe(42);
    counter.gate("a").open();
    expect((await call).body.data).toEqual({ alive: true, value: 0 });
    expect((await server.execute("counter:get")).body.data.value).toBe(42);
  });

  it("D3: E06: a slow initialize or cleanup of one worker holds up no other worker, list, status or ready", async () => {
    const slow = new CounterBackend();
    const quick = new CounterBackend({ resource: "quick" });
    await using server = await testServer({ backends: [slow, quick] });
    await server.post("/api/v1/session/create", create({ worker_id: "w3" }));
    slow.gates.initialize = new Gate();
    slow.gates.cleanup = new Gate();
    const creating = server.post("/api/v1/session/create", create());
    const destroying = server.post("/api/v1/session/destroy", create({ worker_id: "w3" }));
    await Promise.all([slow.gates.initialize.arrived(), slow.gates.cleanup.arrived()]);

    expect((await server.post("/execute", { worker_id: "w2", action: "quick:incr" })).status).toBe(200);
    // Its temporary session is cleaned up beside the other's slow cleanup.
    await expect.poll(() => quick.cleaned.length).toBe(1);
    const others = await Promise.all([
      server.post("/api/v1/session/list", { worker_id: "w1" }),
      server.post("/api/v1/session/refresh", { worker_id: "w2" }),
      server.post("/api/v1/lifecycle/status", { worker_id: "w1" }),
      server.get("/ready"),
    ]);
    expect(others.map((answer) => answer.status)).toEqual([200, 200, 200, 200]);

    slow.gates.initialize.open();
    slow.gates.cleanup.open();
    expect((await creating).status).toBe(200);
    expect((await destroying).status).toBe(200);
  });

  it("D3: E06: a slow initialize of one worker's holds up no create and no call of another's on the same backend", async () => {
    const backend = new CounterBackend();
    const slow = new Gate();
    backend.onInitialize = async ({ workerId }, { signal }) => {
      if (workerId === "w1") await slow.passedOr(signal);
    };
    await using server = await testServer({ backends: [backend] });
    const creating = server.post("/api/v1/session/create", create());
    await backend.gates.initialize.arrived();
    expect((await server.post("/api/v1/session/create", create({ worker_id: "w2" }))).status).toBe(200);
    expect((await server.post("/execute", { worker_id: "w2", action: "counter:incr" })).body.data.value).toBe(1);
    expect((await server.post("/execute", { worker_id: "w3", action: "counter:incr" })).body.data.value).toBe(1);
    slow.open();
    expect((await creating).status).toBe(200);
  });

  it("D3: E06: a slow cleanup of one worker's holds up no create, no call and no cleanup of another's on the same backend", async () => {
    const backend = new CounterBackend();
    const [slow, cleaning] = [new Gate(), new Gate()];
    backend.onCleanup = async ({ workerId }) => {
      if (workerId !== "w1") return;
      cleaning.arrive();
      await slow.passed;
    };
    await using server = await testServer({ backends: [backend] });
    for (const worker_id of ["w1", "w2"]) await server.post("/api/v1/session/create", create({ worker_id }));
    const destroying = server.post("/api/v1/session/destroy", create());
    await cleaning.arrived();
    expect((await server.post("/api/v1/session/destroy", create({ worker_id: "w2" }))).body.data.message).toBe(
      "Session destroyed",
    );
    expect(backend.cleaned.map(({ workerId }) => workerId)).toEqual(["w2"]);
    // The worker itself has a new one at once.
    expect((await server.post("/api/v1/session/create", create())).body.data.session_status).toBe("active");
    expect((await server.execute("counter:incr")).body.data.value).toBe(1);
    expect((await server.post("/execute", { worker_id: "w3", action: "counter:incr" })).body.data.value).toBe(1);
    slow.open();
    expect((await destroying).status).toBe(200);
  });

  it("D3: a slow warmup of one backend holds up no other backend", async () => {
    const slow = new CounterBackend();
    slow.gates.warmup = new Gate();
    await using server = await testServer({ backends: [slow, new CounterBackend({ resource: "quick" })] });
    const call = server.execute("counter:incr");
    await slow.gates.warmup.arrived();
    expect((await server.execute("quick:incr")).status).toBe(200);
    slow.gates.warmup.open();
    expect((await call).status).toBe(200);
    expect(slow.warmups).toBe(1);
  });

  it("D4: a failed initialize is not kept: its leftovers are cleaned and the next call tries again", async () => {
    const counter = new CounterBackend();
    counter.onInitialize = async () => {
      throw new Error("no machine at 10.0.0.1");
    };
    await using server = await testServer({ backends: [counter] });
    const failed = await server.execute("counter:incr");
    expect(failed.status).toBe(400);
    expect(failed.body).toMatchObject({ code: 4007, data: { resource_type: "counter" } });
    expect(failed.body.meta.outcome).toBe("infra_error");
    const created = await server.post("/api/v1/session/create", create());
    expect(created.status).toBe(500);
    expect(created.body).toMatchObject({ code: 4007, data: { session_status: "error", resource_type: "counter" } });
    expect((await server.post("/api/v1/session/list", { worker_id: "w1" })).body.data.count).toBe(0);
    await settle();
    expect(counter.cleaned.map((session) => session.data)).toEqual([undefined, undefined]);

    counter.onInitialize = undefined;
    expect((await server.execute("counter:incr")).status).toBe(200);
    expect((await server.post("/api/v1/session/create", create())).body.data.session_status).toBe("active");
  });

  it("D5: a call longer than the ttl keeps its session across sweeps", async () => {
    const clock = new ManualClock();
    const counter = new CounterBackend();
    await using server = await testServer({
      backends: [counter],
      clock,
      limits: { sessionTtlMs: 1_000, sweepIntervalMs: 500 },
    });
    await server.post("/api/v1/session/create", create());
    const call = server.execute("counter:hold", { gate: "a" });
    await counter.gate("a").arrived();
    await clock.advance(25_000);
    expect(counter.cleaned).toHaveLength(0);
    counter.gate("a").open();
    expect((await call).body.data.alive).toBe(true);
    // The expiry is counted from the end of the call.
    await clock.advance(999);
    expect(counter.cleaned).toHaveLength(0);
    await clock.advance(500);
    expect(counter.cleaned).toHaveLength(1);
  });

  it("D5: an expired session is gone at its next use, before any sweep", async () => {
    const clock = new ManualClock();
    const counter = new CounterBackend();
    await using server = await testServer({
      backends: [counter],
      clock,
      limits: { sessionTtlMs: 1_000, sweepIntervalMs: 300_000 },
    });
    const { body: created } = await server.post("/api/v1/session/create", create());
    await server.execute("counter:incr", { by: 5 });
    await clock.advance(1_001);
    expect((await server.post("/api/v1/session/list", { worker_id: "w1" })).body.data.sessions).toEqual([]);
    const { body } = await server.execute("counter:incr");
    expect(body.data.value).toBe(1);
    expect(body.meta).toMatchObject({ temporary_session: true, expired_session: created.data.session_id });
  });

  it("D6: calls of one session of a serial backend run one after another, in the order they came", async () => {
    const order: string[] = [];
    const gates = { a: new Gate(), b: new Gate() };
    const probe = new ScriptedBackend({ sessions: true, concurrency: "serial" });
    probe.script = async ({ name }) => {
      order.push(`${String(name)} starts`);
      if (name === "a") {
        gates.a.arrive();
        await gates.a.passed;
      }
      order.push(`${String(name)} ends`);
    };
    await using server = await testServer({ backends: [probe] });
    await server.post("/api/v1/session/create", { worker_id: "w1", resource_type: "probe" });
    const first = server.execute("probe:probe", { name: "a" });
    await gates.a.arrived();
    const second = server.execute("probe:probe", { name: "b" });
    // Another worker's session is not in that line.
    expect((await server.post("/execute", { worker_id: "w2", action: "probe:echo" })).status).toBe(200);
    gates.a.open();
    await Promise.all([first, second]);
    expect(order).toEqual(["a starts", "a ends", "b starts", "b ends"]);
  });

  it("D7: E05: of parallel creates one makes the session and the others are told that theirs did not apply", async () => {
    const counter = new CounterBackend();
    counter.gates.initialize = new Gate();
    await using server = await testServer({ backends: [counter] });
    const creating = [1, 2, 3].map((start) =>
      server.post("/api/v1/session/create", create({ session_config: { start } })),
    );
    await counter.gates.initialize.arrived();
    counter.gates.initialize.open();
    const answers = (await Promise.all(creating)).map(({ body }) => body.data);
    expect(counter.initialized).toHaveLength(1);
    expect(new Set(answers.map((data) => data.session_id)).size).toBe(1);
    expect(answers.filter((data) => data.config_applied === true)).toHaveLength(1);
    expect(answers.filter((data) => data.status === "exists" && data.config_applied === false)).toHaveLength(2);
  });

  it("D9: the answer of a temporary call does not wait for the cleanup", async () => {
    const counter = new CounterBackend();
    counter.gates.cleanup = new Gate();
    await using server = await testServer({ backends: [counter] });
    expect((await server.execute("counter:incr")).body.meta.temporary_session).toBe(true);
    await counter.gates.cleanup.arrived();
    expect(counter.cleaned).toHaveLength(0);
    expect((await server.get("/ready")).body["ending_sessions"]).toBe(1);
    counter.gates.cleanup.open();
  });

  it("D13: workers that have gone leave nothing behind", async () => {
    await using server = await testServer({ backends: [new CounterBackend()] });
    const calls = Array.from({ length: 50 }, (_, index) =>
      server.post("/execute", { worker_id: `one-shot-${index}`, action: "counter:incr" }),
    );
    expect((await Promise.all(calls)).every(({ status }) => status === 200)).toBe(true);
    expect((await server.get("/ready")).body).toMatchObject({ active_workers: 0, total_sessions: 0 });
  });

  it("D14: an initialize that fails half-way is cleaned up under its session's own id", async () => {
    const counter = new CounterBackend();
    counter.onInitialize = async () => {
      throw new Error("acquired, then failed");
    };
    await using server = await testServer({ backends: [counter] });
    await server.execute("counter:incr");
    await settle();
    expect(counter.cleaned.map(({ id, data }) => ({ id, data }))).toEqual([
      { id: counter.initialized[0]?.sessionId, data: undefined },
    ]);
    expect((await server.get("/ready")).body).toMatchObject({ ending_sessions: 0, leaked_sessions: 0 });
  });
});
