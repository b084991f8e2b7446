import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { HttpServiceClient } from "../../src/client/http-client.ts";
import { openStore } from "../../src/store/open-store.ts";
import { createMemoryStore } from "../../src/store/memory/memory-store.ts";
import { CounterBackend } from "../kit/counter-backend.ts";
import { createFaultyStore, DISK_FULL } from "../kit/faulty-store.ts";
import { Gate } from "../kit/gate.ts";
import { ManualClock } from "../kit/manual-clock.ts";
import { keyedServer } from "../kit/keyed-server.ts";
import { ScriptedBackend } from "../kit/scripted-backend.ts";
import { testServer } from "../kit/test-server.ts";

const UNKNOWN = `job_${"0".repeat(32)}`;

/** A tool that reports progress and waits at a gate. */
function gated() {
  const gate = new Gate();
  const backend = new ScriptedBackend({
    concurrency: "parallel",
    script: async (params, context) => {
      context.progress({ half: true });
      gate.arrive();
      await gate.passedOr(context.signal);
      return { done: params["n"] ?? null };
    },
  });
  return { gate, backend };
}

describe("a job", () => {
  it("is answered at once, tells its progress, and ends with the call's own envelope", async () => {
    const { gate, backend } = gated();
    await using server = await testServer({ backends: [backend] });
    const started = await server.execute("probe:probe", { n: 1 }, { async_mode: true, trace_id: "t-1" });
    const { job_id: id } = started.body.data;
    expect(id).toMatch(/^job_[0-9a-f]{32}$/);
    expect([started.status, started.headers.get("location")]).toEqual([202, `/api/v1/jobs/${id}`]);
    expect(started.body.data).toMatchObject({ worker_id: "w1", action: "probe:probe", ended_at: null, result: null });
    await gate.arrived();
    expect((await server.get(`/api/v1/jobs/${id}`)).body.data).toMatchObject({
      state: "running",
      progress: { half: true },
      result: null,
    });
    const waiting = server.get(`/api/v1/jobs/${id}/wait`);
    gate.open();
    const over = (await waiting).body.data;
    expect(over).toMatchObject({
      state: "completed",
      result: { code: 0, data: { done: 1 }, meta: { trace_id: "t-1" } },
    });
    expect((await server.get(`/api/v1/jobs/${id}`)).body.data).toEqual(over);
  });

  it("is waited for during timeout seconds, and tells how it is when they are over", async () => {
    const { gate, backend } = gated();
    await using server = await testServer({ backends: [backend] });
    const { job_id: id } = (await server.execute("probe:probe", {}, { async_mode: true })).body.data;
    await gate.arrived();
    expect((await server.get(`/api/v1/jobs/${id}/wait?timeout=0.01`)).body.data.state).toBe("running");
    for (const wrong of ["timeout=soon", "timeout=-1", "timeout_ms=1.5"]) {
      expect((await server.get(`/api/v1/jobs/${id}/wait?${wrong}`)).status).toBe(400);
    }
    gate.open();
    expect((await server.get(`/api/v1/jobs/${id}/wait?timeout=5`)).body.data.state).toBe("completed");
  });

  it("goes on when its client has gone, and is told to whoever asks later", async () => {
    const { gate, backend } = gated();
    await using server = await testServer({ backends: [backend] });
    const client = new HttpServiceClient({ baseUrl: server.url, workerId: "w1" });
    const { id } = await client.startJob("probe:probe", { n: 2 });
    await client.close();
    await gate.arrived();
    gate.open();
    const other = new HttpServiceClient({ baseUrl: server.url, workerId: "w2" });
    expect(await other.findJob(id).result()).toEqual({ done: 2 });
    expect(await other.findJob(id).state()).toBe("completed");
  });

  it("is cancelled, which ends its tool; one that is over stays as it is", async () => {
    const { gate, backend } = gated();
    await using server = await testServer({ backends: [backend] });
    const client = new HttpServiceClient({ baseUrl: server.url, workerId: "w1" });
    const job = await client.startJob("probe:probe");
    await gate.arrived();
    expect(await job.cancel()).toMatchObject({ state: "cancelled", result: { meta: { error: "cancelled" } } });
    expect(server.engine.executor.activeCount).toBe(0);
    await expect(job.result()).rejects.toMatchObject({ error: "cancelled" });
    const echo = await client.startJob("probe:echo", { a: 1 });
    expect(await echo.result()).toEqual({ a: 1 });
    expect(await echo.cancel()).toMatchObject({ state: "completed" });
  });

  it("waits no longer than asked", async () => {
    const { gate, backend } = gated();
    await using server = await testServer({ backends: [backend] });
    const job = await new HttpServiceClient({ baseUrl: server.url }).startJob("probe:probe");
    expect(await job.wait({ timeoutMs: 5 })).toMatchObject({ ended_at: null });
    gate.open();
    expect(await job.wait()).toMatchObject({ state: "completed" });
  });

  it("is the same one for the same key, and starts once", async () => {
    const { gate, backend } = gated();
    await using server = await testServer({ backends: [backend] });
    const start = () => server.execute("probe:probe", {}, { async_mode: true, request_id: "k" });
    const answers = await Promise.all(Array.from({ length: 20 }, start));
    gate.open();
    answers.push(await start());
    expect(new Set(answers.map(({ body }) => body.data.job_id)).size).toBe(1);
    expect((await server.get("/api/v1/jobs")).body.data.count).toBe(1);
    // A call is not the job of the same key.
    expect((await server.execute("probe:probe", {}, { request_id: "k" })).status).toBe(409);
  });

  it("is refused at once for what is wrong with it, and then there is none", async () => {
    await using server = await testServer({ backends: [new ScriptedBackend()] });
    for (const [action, params] of [
      ["probe:plot", {}],
      ["probe:nothing", {}],
    ] as const) {
      expect((await server.execute(action, params, { async_mode: true })).status).toBe(400);
    }
    expect((await server.get("/api/v1/jobs")).body.data.jobs).toEqual([]);
  });

  it("F11: is let end by a stop, or cancelled at its deadline, and none is begun any more", async () => {
    const { gate, backend } = gated();
    const store = createMemoryStore();
    const clock = new ManualClock();
    const server = await testServer({ backends: [backend], store, clock, limits: { drainMs: 1_000 } });
    const { job_id: id } = (await server.execute("probe:probe", {}, { async_mode: true })).body.data;
    await gate.arrived();
    const stopping = server.stop();
    const late = await server.execute("probe:probe", {}, { async_mode: true });
    expect([late.status, late.body.meta.error]).toEqual([503, "shutting_down"]);
    await clock.advance(2_000);
    await stopping;
    const ended = await store.jobs.get("default", id);
    expect(ended).toMatchObject({ state: "unknown", answer: expect.stringContaining("unknown_outcome") });
    expect(await store.jobs.list("default", { limit: 10 })).toHaveLength(1);
  });

  it("is one of a bounded number", async () => {
    const { gate, backend } = gated();
    await using server = await testServer({ backends: [backend], limits: { jobsPerWorker: 2, jobsPerTenant: 3 } });
    const start = (worker_id: string) =>
      server.post("/execute", { worker_id, action: "probe:probe", async_mode: true });
    expect((await start("w1")).status).toBe(202);
    expect((await start("w1")).status).toBe(202);
    expect(await start("w1")).toMatchObject({ status: 429, body: { data: { limit: "jobs_per_worker" } } });
    expect((await start("w2")).status).toBe(202);
    expect(await start("w3")).toMatchObject({ status: 429, body: { data: { limit: "jobs_per_tenant" } } });
    gate.open();
    await expect.poll(async () => (await start("w1")).status).toBe(202);
  });

  it("holds no more bytes of params, with the streamed calls, than the server bears", async () => {
    const { gate, backend } = gated();
    await using server = await testServer({ backends: [backend], limits: { heldParamsBytes: 200_000 } });
    const send = (bytes: number, more: object) =>
      fetch(`${server.url}/execute`, {
        method: "POST",
        body: JSON.stringify({ worker_id: "w1", action: "probe:probe", params: { pad: "x".repeat(bytes) }, ...more }),
      });
    const refused = { status: 429, body: { data: { limit: "held_params_bytes" } } };
    const job = { async_mode: true, request_id: "k" };
    expect((await send(90_000, job)).status).toBe(202);
    const stream = await send(90_000, { stream: true });
    expect(stream.status).toBe(200);
    expect((await send(90_000, job)).status).toBe(202); // the same one
    const big = { pad: "x".repeat(90_000) };
    expect(await server.execute("probe:probe", big, { async_mode: true })).toMatchObject(refused);
    expect(await server.execute("probe:probe", big, { stream: true })).toMatchObject(refused);
    expect((await send(1_000, { async_mode: true })).status).toBe(202);
    gate.open();
    await stream.text();
    await expect.poll(async () => (await send(190_000, { async_mode: true })).status).toBe(202);
  });

  it("lists newest first, by worker, and takes no limit that is none", async () => {
    await using server = await testServer({ backends: [new ScriptedBackend()] });
    const client = new HttpServiceClient({ baseUrl: server.url, workerId: "w1" });
    const mine = await client.startJob("probe:echo");
    await client.forWorker("w2").startJob("probe:echo");
    expect(await client.listJobs()).toHaveLength(2);
    expect(await client.listJobs({ workerId: "w1" })).toMatchObject([{ job_id: mine.id }]);
    expect(await client.listJobs({ limit: 1 })).toHaveLength(1);
    expect((await server.get("/api/v1/jobs?limit=-1")).status).toBe(400);
    expect((await server.get("/api/v1/jobs?worker_id=%00")).status).toBe(400);
  });

  it("D03: is to another tenant what never was", async () => {
    const { gate, backend } = gated();
    await using server = await keyedServer({ a: { tenant: "a" }, b: { tenant: "b" } }, { backends: [backend] });
    const { a, b } = server.holders;
    const { job_id: id } = (await a.execute("probe:probe", {}, { async_mode: true })).body.data;
    const without = ({ body }: { body: { meta: object } }) => ({ ...body, meta: { ...body.meta, trace_id: "" } });
    for (const path of ["", "/wait"]) {
      const foreign = await b.get(`/api/v1/jobs/${id}${path}`);
      const unknown = await b.get(`/api/v1/jobs/${UNKNOWN}${path}`);
      expect([foreign.status, without(foreign)]).toEqual([404, without(unknown)]);
    }
    expect((await b.post(`/api/v1/jobs/${id}/cancel`, {})).status).toBe(404);
    expect((await b.get("/api/v1/jobs")).body.data.jobs).toEqual([]);
    gate.open();
    await expect.poll(async () => (await a.get(`/api/v1/jobs/${id}`)).body.data.state).toBe("completed");
    // Nor does a key of one tenant mean anything to another.
    const send = { request_id: "k" };
    expect((await a.execute("probe:echo", { n: 1 }, send)).status).toBe(200);
    expect((await b.execute("probe:echo", { n: 2 }, send)).status).toBe(200);
  });

  it("outlives the server, with its result", async () => {
    const dataDir = await mkdtemp(join(tmpdir(), "toolyard-jobs-"));
    onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
    const serve = async () => {
      const store = await openStore({ driver: "sqlite", dataDir });
      const server = await testServer({ backends: [new ScriptedBackend()], store });
      return {
        client: new HttpServiceClient({ baseUrl: server.url }),
        stop: () => server.stop().then(() => store.close()),
      };
    };
    const first = await serve();
    const { id } = await first.client.startJob("probe:echo", { kept: true });
    await first.client.findJob(id).wait();
    await first.stop();
    const second = await serve();
    expect(await second.client.findJob(id).result()).toEqual({ kept: true });
    await second.stop();
  });

  it("is not begun when it cannot be written, and told from memory when only its end cannot", async () => {
    const store = createFaultyStore(createMemoryStore());
    await using server = await testServer({ backends: [new CounterBackend(), new ScriptedBackend()], store });
    store.inject("jobs.put", DISK_FULL);
    const refused = await server.execute("probe:echo", {}, { async_mode: true });
    expect(refused.body.meta).toMatchObject({ error: "dependency_failed", outcome: "infra_error" });
    store.inject("jobs.put", { kind: "hold", until: Promise.resolve() });
    store.inject("jobs.put", DISK_FULL);
    const job = await new HttpServiceClient({ baseUrl: server.url }).startJob("probe:echo", { a: 1 });
    expect(await job.result()).toEqual({ a: 1 });
  });
});
