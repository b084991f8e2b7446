import { request } from "node:http";
import { describe, expect, it } from "vitest";
import { CounterBackend } from "../kit/counter-backend.ts";
import { Gate } from "../kit/gate.ts";
import { ManualClock } from "../kit/manual-clock.ts";
import { ScriptedBackend } from "../kit/scripted-backend.ts";
import { testServer, type TestServer } from "../kit/test-server.ts";

/** A POST whose client can go away. */
function leavingClient(server: TestServer, path: string, body: object) {
  const outgoing = request(server.url + path, { method: "POST" });
  const gone = new Promise<void>((resolve) => outgoing.on("close", resolve));
  outgoing.on("error", () => undefined);
  outgoing.end(JSON.stringify(body));
  return {
    async leave() {
      outgoing.destroy();
      await gone;
    },
  };
}

describe("known defects of calls", () => {
  it("D8: a plugin that blocks the event loop is named", async () => {
    const probe = new ScriptedBackend();
    probe.script = () => {
      const end = performance.now() + 120;
      while (performance.now() < end);
      return {};
    };
    await using server = await testServer({ backends: [probe], limits: { loopLagMs: 50 } });
    // A busy machine holds the loop by itself, too: the last time may be one by no tool.
    const named = async () => {
      await server.execute("probe:probe");
      return (await server.get("/ready")).body["event_loop"].last_block?.tools;
    };
    await expect.poll(named).toEqual(["probe:probe"]);
  });

  it("D11: a client that goes away cancels its call, and the temporary session is cleaned", async () => {
    const counter = new CounterBackend();
    const cleanup = new Gate();
    counter.onCleanup = async () => cleanup.arrive();
    await using server = await testServer({ backends: [counter] });
    const body = { worker_id: "w1", action: "counter:hold", params: { gate: "a" } };
    const client = leavingClient(server, "/execute", body);
    await counter.gate("a").arrived();
    await client.leave();
    await cleanup.arrived();
    expect((await server.get("/ready")).body).toMatchObject({ active_calls: 0, total_sessions: 0 });
  });

  it("D11: a client that detaches may go away; its call goes on", async () => {
    const probe = new ScriptedBackend();
    const [started, finish, finished] = [new Gate(), new Gate(), new Gate()];
    let aborted: boolean | undefined;
    probe.script = async (_params, { signal }) => {
      started.arrive();
      await finish.passed;
      aborted = signal.aborted;
      finished.arrive();
    };
    await using server = await testServer({ backends: [probe] });
    const body = { worker_id: "w1", action: "probe:probe", on_disconnect: "detach" };
    const client = leavingClient(server, "/execute", body);
    await started.arrived();
    await client.leave();
    expect((await server.get("/ready")).body["active_calls"]).toBe(1);
    finish.open();
    await finished.arrived();
    expect(aborted).toBe(false);
  });

  it("D11: E07: a client that goes away while its session is initialized leaves neither session nor slot", async () => {
    const counter = new CounterBackend();
    const [aborted, cleaned] = [new Gate(), new Gate()];
    counter.onInitialize = async (_request, { signal }) => {
      signal.addEventListener("abort", () => aborted.arrive());
      if (signal.aborted) aborted.arrive();
      await new Gate().passedOr(signal);
    };
    counter.onCleanup = async () => cleaned.arrive();
    await using server = await testServer({ backends: [counter] });
    for (const [path, body] of [
      ["/api/v1/session/create", { worker_id: "w1", resource_type: "counter" }],
      ["/execute", { worker_id: "w1", action: "counter:incr" }],
    ] as const) {
      const seen = counter.initialized.length;
      const client = leavingClient(server, path, body);
      await counter.gates.initialize.arrived(seen + 1);
      await client.leave();
      await Promise.all([aborted.arrived(seen + 1), cleaned.arrived(seen + 1)]);
      expect((await server.get("/ready")).body).toMatchObject({ total_sessions: 0, active_calls: 0 });
    }
  });

  it("D11: E12: a timeout aborts the work itself, not only the wait", async () => {
    const clock = new ManualClock();
    const counter = new CounterBackend();
    await using server = await testServer({ backends: [counter], clock });
    const call = server.execute("counter:hold", { gate: "a" }, { timeout: 1 });
    await counter.gate("a").arrived();
    await clock.advance(1_000);
    const { status, body } = await call;
    expect(status).toBe(500);
    expect(body).toMatchObject({ code: 5006, data: { timeout: 1 }, meta: { outcome: "limit", error: "timeout" } });
    await clock.advance(0);
    expect(counter.cleaned).toHaveLength(1);
  });

  it("D12: a tool's own timeout error is not taken for the server's", async () => {
    const probe = new ScriptedBackend();
    probe.script = async () => {
      throw new DOMException("upstream took too long", "TimeoutError");
    };
    await using server = await testServer({ backends: [probe] });
    const { status, body } = await server.execute("probe:probe", {}, { timeout: 30 });
    expect(status).toBe(500);
    expect(body).toMatchObject({ code: 5005, meta: { error: "unexpected_error" } });
    expect(body.message).not.toContain("timed out");
  });

  it("D12: a fraction of a second is a timeout, in seconds or milliseconds, and 0 means the default", async () => {
    const clock = new ManualClock();
    const counter = new CounterBackend();
    await using server = await testServer({ backends: [counter], clock, limits: { callTimeoutMs: 5_000 } });
    const spans = [
      [{ timeout: 0.5 }, 500],
      [{ timeout_ms: 250, timeout: 60 }, 250],
      [{ timeout: 0 }, 5_000],
      [{ timeout: null }, 5_000],
      [{}, 5_000],
    ] as const;
    for (const [index, [more, ms]] of spans.entries()) {
      const call = server.execute("counter:hold", { gate: "a" }, more);
      await counter.gate("a").arrived(index + 1);
      await clock.advance(ms - 1);
      expect((await server.get("/ready")).body["active_calls"]).toBe(1);
      await clock.advance(1);
      expect((await call).body.data.timeout).toBe(ms / 1000);
    }
  });

  it("D20: a caller can forge neither worker nor session through params", async () => {
    const probe = new ScriptedBackend({ sessions: true });
    probe.script = (params, { workerId, session }) => ({ params, workerId, sessionWorker: session.workerId });
    await using server = await testServer({ backends: [probe] });
    const forged = { worker_id: "w2", session_id: "s", session_info: { data: {} }, trace_id: "t", kept: 1 };
    const { body } = await server.execute("probe:probe", forged);
    expect(body.data).toEqual({ params: { kept: 1 }, workerId: "w1", sessionWorker: "w1" });
    expect(body.meta.trace_id).not.toBe("t");
  });

  it("D22: a prefixed tool of a backend without sessions makes none, and is listed as stateless", async () => {
    await using server = await testServer({ backends: [new ScriptedBackend()] });
    const { body } = await server.execute("probe:echo", { a: 1 });
    expect(body.meta).toMatchObject({ session_id: null, resource_type: "probe" });
    expect(body.meta).not.toHaveProperty("temporary_session");
    const { body: listing } = await server.get("/api/v1/tools/probe:echo/schema");
    expect(listing).toMatchObject({ stateless: true, full_name: "probe:echo" });
  });

  it("D24: a tool returns plain values; wrong and missing params are typed and name the param", async () => {
    const probe = new ScriptedBackend();
    probe.script = () => "plain";
    await using server = await testServer({ backends: [probe] });
    expect((await server.execute("probe:probe")).body).toMatchObject({ code: 0, data: "plain" });
    const missing = await server.execute("probe:plot", {});
    expect(missing.status).toBe(400);
    expect(missing.body).toMatchObject({ code: 4003, data: { issues: [{ path: "x" }] } });
    const mistyped = await server.execute("probe:plot", { x: "1" });
    expect(mistyped.status).toBe(400);
    expect(mistyped.body).toMatchObject({ code: 4004, data: { issues: [{ path: "x" }] } });
    const { body: refused } = await server.execute("probe:plot", { x: 1, lable: "ab" });
    expect(refused.code).toBe(4000);
    expect(refused.message).toContain("did you mean label");
  });

  it("D25: a given trace_id comes back on results, errors and every item of a batch", async () => {
    await using server = await testServer({ backends: [new ScriptedBackend()] });
    const trace_id = "trace-1";
    expect((await server.execute("probe:echo", {}, { trace_id })).body.meta.trace_id).toBe(trace_id);
    expect((await server.execute("probe:nothing", {}, { trace_id })).body.meta.trace_id).toBe(trace_id);
    const actions = [{ action: "probe:echo" }, { action: "none" }, { action: "probe:echo" }];
    for (const parallel of [false, true]) {
      const more = { worker_id: "w1", actions, trace_id, parallel, max_concurrency: 1 };
      const { body } = await server.post("/execute/batch", more);
      expect(body.meta.trace_id).toBe(trace_id);
      for (const item of body.data.results) expect(item.meta.trace_id).toBe(trace_id);
    }
  });

  it("D25: session_id pins the call to that session", async () => {
    await using server = await testServer({ backends: [new CounterBackend()] });
    const { body } = await server.post("/api/v1/session/create", { worker_id: "w1", resource_type: "counter" });
    const session_id = body.data.session_id;
    expect((await server.execute("counter:incr", {}, { session_id })).status).toBe(200);
    const unknown = await server.execute("counter:incr", {}, { session_id: "counter_w1_001_00" });
    expect(unknown.status).toBe(404);
    expect(unknown.body).toMatchObject({ code: 4007, meta: { error: "session_not_found", outcome: "rejected" } });
  });

  it("D28: every answer's meta is whole, and a result that JSON cannot hold is said to be changed", async () => {
    const probe = new ScriptedBackend();
    probe.script = () => ({ nan: Number.NaN, bytes: new Uint8Array([1, 2, 3]), big: 2n ** 64n });
    await using server = await testServer({ backends: [probe] });
    const { status, body } = await server.execute("probe:probe");
    expect(status).toBe(200);
    expect(body.data).toEqual({ nan: null, bytes: "AQID", big: "18446744073709551616" });
    expect(body.meta.lossy).toHaveLength(3);
    expect(body.meta.execution_time_ms).toBeTypeOf("number");
    expect(body.meta.tool).toBe("probe:probe");
  });

  it("D28: stop_on_error holds in parallel batches, and null params are no params", async () => {
    await using server = await testServer({ backends: [new ScriptedBackend()] });
    const actions = [{ action: "probe:echo", params: null }, { action: "none" }, { action: "probe:echo" }];
    const batch = { worker_id: "w1", actions, parallel: true, max_concurrency: 1 };
    const { status, body } = await server.post("/execute/batch", batch);
    expect(status).toBe(207);
    expect(body.data).toMatchObject({ total: 3, executed: 2, success_count: 1 });
    expect(body.data.results[2].meta).toMatchObject({ error: "cancelled", outcome: "rejected" });
  });

  it("D30: a call writes one line to the log", async () => {
    await using server = await testServer({ backends: [new CounterBackend()] });
    await server.post("/api/v1/session/create", { worker_id: "w1", resource_type: "counter" });
    const before = server.logger.lines.length;
    await server.execute("counter:incr");
    expect(server.logger.lines.slice(before).map(({ level, message }) => [level, message])).toEqual([["info", "call"]]);
  });
});
