import { describe, expect, it } from "vitest";
import { ToolyardError } from "../../src/core/errors.ts";
import { CounterBackend } from "../kit/counter-backend.ts";
import { Gate } from "../kit/gate.ts";
import { ManualClock } from "../kit/manual-clock.ts";
import { ScriptedBackend } from "../kit/scripted-backend.ts";
import { testServer, type TestServer } from "../kit/test-server.ts";

const batch = (server: TestServer, actions: readonly object[], more: object = {}) =>
  server.post("/api/v1/execute/batch", { worker_id: "w1", actions, ...more });

const echo = (index: number) => ({ action: "probe:echo", params: { index } });

describe("POST /api/v1/execute/batch", () => {
  it("runs items one after another and answers them in order", async () => {
    await using server = await testServer({ backends: [new CounterBackend()] });
    await server.post("/api/v1/session/create", { worker_id: "w1", resource_type: "counter" });
    const { status, body } = await batch(
      server,
      [1, 10, 100].map((by) => ({ action: "counter:incr", params: { by } })),
    );
    expect(status).toBe(200);
    expect(body).toMatchObject({
      code: 0,
      message: "success",
      data: { total: 3, executed: 3, success_count: 3 },
      meta: { tool: "batch:execute", session_id: null, outcome: "ok" },
    });
    expect(body.data.results.map((item: { data: unknown }) => item.data)).toEqual([
      { value: 1 },
      { value: 11 },
      { value: 111 },
    ]);
  });

  it("takes an empty list", async () => {
    await using server = await testServer();
    const { status, body } = await batch(server, []);
    expect([status, body.code, body.data]).toEqual([200, 0, { results: [], total: 0, executed: 0, success_count: 0 }]);
  });

  it("stops at the first failure unless told to go on, and says what came of it in code and status", async () => {
    await using server = await testServer({ backends: [new ScriptedBackend()] });
    const actions = [echo(0), { action: "none" }, echo(2)];
    const stopped = await batch(server, actions);
    expect([stopped.status, stopped.body.code]).toEqual([207, 5010]);
    expect(stopped.body.data).toMatchObject({ total: 3, executed: 2, success_count: 1 });
    expect(stopped.body.data.results).toHaveLength(2);
    const whole = await batch(server, actions, { stop_on_error: false });
    expect(whole.body.data).toMatchObject({ executed: 3, success_count: 2 });
    const failed = await batch(server, [{ action: "none" }]);
    expect([failed.status, failed.body.code, failed.body.data.success_count]).toEqual([500, 5009, 0]);
  });

  it("takes the worst outcome of the failed items for the sum's: infra_error, limit, tool_error, rejected", async () => {
    const bad = new CounterBackend({ resource: "bad" });
    bad.onInitialize = () => Promise.reject(new Error("no"));
    const probe = new ScriptedBackend();
    probe.script = ({ error }) => {
      if (error === "limit") throw new ToolyardError("limit_exceeded", "too much");
      throw new Error("no");
    };
    await using server = await testServer({ backends: [probe, bad] });
    const rejected = { action: "none" };
    const tool = { action: "probe:probe" };
    const limit = { action: "probe:probe", params: { error: "limit" } };
    const infra = { action: "bad:incr" };
    for (const [actions, status, outcome] of [
      [[rejected, rejected], 500, "rejected"],
      [[rejected, tool], 500, "tool_error"],
      [[tool, limit, rejected], 500, "limit"],
      [[rejected, infra, limit], 500, "infra_error"],
      [[echo(0), rejected], 207, "rejected"],
      [[echo(0), infra, tool], 207, "infra_error"],
    ] as const) {
      const answer = await batch(server, actions, { stop_on_error: false });
      expect([answer.status, answer.body.meta.outcome]).toEqual([status, outcome]);
      expect(answer.body.meta.error).toBe(status === 500 ? "all_failed" : "partial_failure");
    }
  });

  it("E10: answers a thousand items in their order, some of which fail, no more than so many at a time", async () => {
    const probe = new ScriptedBackend();
    let [running, most] = [0, 0];
    probe.script = async ({ index }) => {
      most = Math.max(most, (running += 1));
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      if (Number(index) % 100 === 7) throw new Error("no");
      return { index };
    };
    await using server = await testServer({ backends: [probe], limits: { batchConcurrency: 8 } });
    const actions = Array.from({ length: 1_000 }, (_, index) => ({ action: "probe:probe", params: { index } }));
    const more = { parallel: true, stop_on_error: false, max_concurrency: 500 };
    const { status, body } = await batch(server, actions, more);
    expect([status, body.data.executed, body.data.success_count]).toEqual([207, 1_000, 990]);
    for (const [index, item] of body.data.results.entries()) {
      if (index % 100 === 7) expect(item.code).toBe(5005);
      else expect(item.data).toEqual({ index });
    }
    expect(most).toBe(8);
  });

  it("starts nothing further in a parallel batch that stops, lets the rest end, and keeps every item's place", async () => {
    const probe = new ScriptedBackend();
    const [slow, failed] = [new Gate(), new Gate()];
    probe.script = async ({ index }) => {
      if (index === 1) {
        failed.arrive();
        throw new Error("no");
      }
      slow.arrive();
      await slow.passed;
      return { index };
    };
    await using server = await testServer({ backends: [probe] });
    const actions = [0, 1, 2, 3].map((index) => ({ action: "probe:probe", params: { index } }));
    const answering = batch(server, actions, { parallel: true, max_concurrency: 2 });
    await Promise.all([slow.arrived(), failed.arrived()]);
    slow.open();
    const { body } = await answering;
    expect(body.data).toMatchObject({ total: 4, executed: 2, success_count: 1 });
    expect(body.data.results.map((item: { code: number }) => item.code)).toEqual([0, 5005, 4990, 4990]);
    for (const item of body.data.results) expect(item.meta.trace_id).toMatch(/^[0-9a-f-]{36}$/);
  });

  it("gives each item its own time", async () => {
    const clock = new ManualClock();
    const counter = new CounterBackend();
    await using server = await testServer({ backends: [counter], clock });
    const actions = [
      { action: "counter:hold", params: { gate: "a" }, timeout: 1 },
      { action: "counter:incr", timeout_ms: 5 },
    ];
    const answering = batch(server, actions, { stop_on_error: false });
    await counter.gate("a").arrived();
    await clock.advance(1_000);
    const { body } = await answering;
    expect(body.data.results).toMatchObject([{ code: 5006, data: { timeout: 1 } }, { code: 0 }]);
  });

  it("refuses more items than the limit, and bodies of another shape", async () => {
    await using server = await testServer({ backends: [new ScriptedBackend()], limits: { batchItems: 2 } });
    const { status, body } = await batch(server, [echo(0), echo(1), echo(2)]);
    expect([status, body.data]).toEqual([413, { limit: "batch_items", maximum: 2 }]);
    for (const wrong of [
      {},
      { worker_id: "w1" },
      { worker_id: "w1", actions: {} },
      { worker_id: "w1", actions: [1] },
    ]) {
      const refused = await server.post("/execute/batch", wrong);
      expect(refused.status).toBe(422);
      expect(refused.body["detail"]).not.toHaveLength(0);
    }
  });

  it("is neither a job nor a stream, nor is an item: what asks for that is refused, and runs nothing", async () => {
    let runs = 0;
    const probe = new ScriptedBackend({ script: () => (runs += 1) });
    await using server = await testServer({ backends: [probe] });
    const action = { action: "probe:probe" };
    for (const wish of [{ async_mode: true }, { stream: true }]) {
      for (const refused of [
        await batch(server, [action], wish),
        await batch(server, [action, { ...action, ...wish }]),
      ])
        expect(refused).toMatchObject({ status: 400, body: { meta: { error: "invalid_input" } } });
    }
    expect(runs).toBe(0);
    const plain = { async_mode: false, stream: null };
    expect((await batch(server, [{ ...action, ...plain }], plain)).status).toBe(200);
  });

  it("watches the client once for the whole batch", async () => {
    const warnings: string[] = [];
    const onWarning = (warning: Error) => warnings.push(warning.name);
    process.on("warning", onWarning);
    await using server = await testServer({ backends: [new CounterBackend()] });
    const counted = Array.from({ length: 40 }, () => ({ action: "counter:incr" }));
    expect((await batch(server, counted, { parallel: true })).status).toBe(200);
    process.off("warning", onWarning);
    expect(warnings).not.toContain("MaxListenersExceededWarning");
  });
});
