import { request } from "node:http";
import { describe, expect, it } from "vitest";
import { Gate } from "../kit/gate.ts";
import { settle } from "../kit/manual-clock.ts";
import { ScriptedBackend } from "../kit/scripted-backend.ts";
import { type Answer, testServer } from "../kit/test-server.ts";

/** A backend whose calls wait at one gate and note their number. */
function gated() {
  const gate = new Gate();
  const ran: unknown[] = [];
  const script = async (params: Readonly<Record<string, unknown>>) => {
    gate.arrive();
    await gate.passed;
    ran.push(params["n"]);
    return params;
  };
  return { gate, ran, backend: new ScriptedBackend({ script }) };
}

describe("a server under more than it can bear", () => {
  it("E08: takes what its queue holds, refuses the rest with 429 and when to come back, and loses none", async () => {
    const { gate, ran, backend } = gated();
    const limits = { maxConcurrentCalls: 10, maxQueuedCalls: 40 };
    await using server = await testServer({ backends: [backend], limits });
    let refused = 0;
    const all = new Gate();
    const send = async (n: number): Promise<Answer> => {
      const answer = await server.execute("probe:probe", { n }, { worker_id: `w${n % 25}` });
      if (answer.status === 429) refused += 1;
      if (refused === 450) all.open();
      return answer;
    };
    const sending = Array.from({ length: 500 }, (_, n) => send(n));
    await all.passed;
    const ready = await server.get("/ready");
    expect(ready.body["admission"]).toMatchObject({
      running: 10,
      queued: 40,
      backends: { probe: { running: 10, queued: 40 } },
    });
    gate.open();
    const answers = await Promise.all(sending);
    const served = answers.filter(({ status }) => status === 200);
    const turnedAway = answers.filter(({ status }) => status === 429);
    expect([served.length, turnedAway.length]).toEqual([50, 450]);
    expect(ran.toSorted()).toEqual(served.map(({ body }) => body.data.n).toSorted());
    expect(new Set(ran).size).toBe(50);
    for (const { body, headers } of turnedAway) {
      expect(body.meta).toMatchObject({ error: "overloaded", outcome: "rejected", retryable: true });
      expect(body.data).toMatchObject({ limit: "max_queued_calls", maximum: 40, queued: 40 });
      expect(headers.get("retry-after")).toBe(String(Math.ceil(body.data.retry_after_ms / 1000)));
      expect(Number(headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    }
    expect((await server.get("/ready")).body["admission"]).toMatchObject({ running: 0, queued: 0 });
    expect(server.engine.admission.workerCount).toBe(0);
  });

  it("E09: serves a worker's ten calls in turn with the hundreds that another one sent before", async () => {
    const order: string[] = [];
    const gate = new Gate();
    const backend = new ScriptedBackend({
      script: async (_params, { workerId }) => {
        await gate.passed;
        order.push(workerId);
        return {};
      },
    });
    await using server = await testServer({ backends: [backend], limits: { maxConcurrentCalls: 1 } });
    const { admission } = server.engine;
    const sending: Promise<Answer>[] = [];
    const send = async (worker: string, count: number) => {
      const before = admission.report().running + admission.report().queued;
      for (let index = 0; index < count; index += 1)
        sending.push(server.execute("probe:probe", {}, { worker_id: worker }));
      while (admission.report().running + admission.report().queued < before + count) await settle();
    };
    await send("greedy", 300);
    await send("polite", 10);
    gate.open();
    await Promise.all(sending);
    // One ran already; then they take turns.
    expect(order.slice(0, 21).filter((worker) => worker === "polite")).toHaveLength(10);
  });

  it("E12: a client that goes away takes its waiting call along", async () => {
    const { gate, ran, backend } = gated();
    await using server = await testServer({ backends: [backend], limits: { maxConcurrentCalls: 1 } });
    const { admission } = server.engine;
    const first = server.execute("probe:probe", { n: 1 });
    await gate.arrived();
    const leaving = request(`${server.url}/execute`, { method: "POST" });
    leaving.on("error", () => undefined);
    leaving.end(JSON.stringify({ worker_id: "w2", action: "probe:probe", params: { n: 2 } }));
    while (admission.report().queued === 0) await settle();
    leaving.destroy();
    while (admission.report().queued > 0) await settle();
    gate.open();
    await first;
    expect(ran).toEqual([1]);
  });

  it("E10: a batch's items are admitted one by one, and a full queue refuses items, not the batch", async () => {
    const { gate, backend } = gated();
    await using server = await testServer({
      backends: [backend],
      limits: { maxConcurrentCalls: 2, maxQueuedPerWorker: 3 },
    });
    const actions = Array.from({ length: 8 }, (_, n) => ({ action: "probe:probe", params: { n } }));
    const body = { worker_id: "w1", actions, parallel: true, stop_on_error: false };
    const sending = server.post("/execute/batch", body);
    await gate.arrived(2);
    while (server.engine.admission.report().queued < 3) await settle();
    gate.open();
    const { status, body: answer } = await sending;
    expect([status, answer.data.success_count]).toEqual([207, 5]);
    expect(JSON.stringify(answer.data.results[7])).toContain("max_queued_per_worker");
  });

  it("holds no more bytes of bodies than limits.body_bytes_in_flight, and gives them back", async () => {
    const { gate, backend } = gated();
    await using server = await testServer({ backends: [backend], http: { bodyBytesInFlight: 10_000 } });
    const padding = "x".repeat(6_000);
    const first = server.execute("probe:probe", { padding });
    await gate.arrived();
    const refused = await server.execute("probe:echo", { padding });
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"]);
    expect(refused.body.data).toMatchObject({ limit: "body_bytes_in_flight", maximum: 10_000 });
    expect((await server.execute("probe:echo", { small: true })).status).toBe(200);
    gate.open();
    expect((await first).status).toBe(200);
    expect((await server.execute("probe:echo", { padding })).status).toBe(200);
  });

  it("answers with Retry-After while it stops, and when there are too many sessions", async () => {
    const { gate, backend } = gated();
    const kept = new ScriptedBackend({ resource: "kept", sessions: true });
    await using server = await testServer({ backends: [backend, kept], limits: { maxSessions: 1 } });
    await server.post("/api/v1/session/create", { worker_id: "w1", resource_type: "kept" });
    const create = await server.post("/api/v1/session/create", { worker_id: "w2", resource_type: "kept" });
    expect([create.status, create.headers.get("retry-after")]).toEqual([429, "5"]);
    expect(create.body.data).toMatchObject({ limit: "max_sessions", maximum: 1 });
    const running = server.execute("probe:probe");
    await gate.arrived();
    const stopping = server.engine.stop();
    const late = await server.execute("probe:echo");
    expect([late.status, late.headers.get("retry-after")]).toEqual([503, "5"]);
    gate.open();
    expect((await running).status).toBe(200);
    await stopping;
  });
});
