import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { HttpServiceClient } from "../../src/client/http-client.ts";
import { defaultHttpLimits } from "../../src/server/http-limits.ts";
import { openStore } from "../../src/store/open-store.ts";
import { CounterBackend } from "../kit/counter-backend.ts";
import { type Fault, startFaultyProxy } from "../kit/faulty-proxy.ts";
import { createFaultyStore, DISK_FULL } from "../kit/faulty-store.ts";
import { ManualClock, settle } from "../kit/manual-clock.ts";
import { ScriptedBackend } from "../kit/scripted-backend.ts";
import { type TestServer, testServer } from "../kit/test-server.ts";
import { createMemoryStore } from "../../src/store/memory/memory-store.ts";
import { Gate } from "../kit/gate.ts";

const HOUR_MS = 3_600_000;
const worker_id = "w1";
const keyed = (key: string) => ({ "idempotency-key": key });

/** A tool that counts how often it ran. */
function counting() {
  let runs = 0;
  const backend = new ScriptedBackend({ script: () => ({ runs: (runs += 1) }) });
  return { backend, runs: () => runs };
}

/** Tells how many requests this process's servers were sent from now on. */
function countRequests(): () => number {
  let count = 0;
  const onRequest = () => void (count += 1);
  subscribe("http.server.request.start", onRequest);
  onTestFinished(() => void unsubscribe("http.server.request.start", onRequest));
  return () => count;
}

/** Sends and reads the answer as the bytes that it is. */
async function sendRaw(server: TestServer, body: object, key?: string): Promise<{ text: string; replayed: boolean }> {
  const response = await fetch(`${server.url}/execute`, {
    method: "POST",
    body: JSON.stringify({ worker_id, ...body }),
    ...(key !== undefined && { headers: keyed(key) }),
  });
  return { text: await response.text(), replayed: response.headers.get("idempotency-replayed") === "true" };
}

async function dataFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "toolyard-once-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

describe("E01: the same key and body", () => {
  it("E01: run once for 100 parallel sends and after an hour, with one answer to the byte", async () => {
    const gate = new Gate();
    let begun = 0;
    const script = async () => {
      begun += 1;
      await gate.passed;
      return { begun };
    };
    const runs = () => begun;
    const clock = new ManualClock();
    const backend = new ScriptedBackend({ concurrency: "parallel", script });
    await using server = await testServer({ backends: [backend], clock });
    const come = countRequests();
    const body = { action: "probe:probe", params: { b: 1, a: { d: 1, c: [1, 2] } } };
    const sending = Array.from({ length: 100 }, () => sendRaw(server, body, "key-1"));
    // It runs until all of them have come.
    await expect.poll(come).toBe(100);
    await settle();
    gate.open();
    const answers = await Promise.all(sending);
    // With all that is done by the minute.
    await clock.advance(HOUR_MS);
    answers.push(await sendRaw(server, body, "key-1"));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1);
    expect(runs()).toBe(1);
    // The order of keys is no part of a request, and the id may stand in the body.
    const turned = { action: "probe:probe", params: { a: { c: [1, 2], d: 1 }, b: 1 }, request_id: "key-1" };
    expect((await sendRaw(server, turned)).text).toBe(answers[0]?.text);
    expect(runs()).toBe(1);
  });

  it("E01: run once also when the server is another one on the same data folder", async () => {
    const { backend, runs } = counting();
    const dataDir = await dataFolder();
    const texts: string[] = [];
    for (let start = 0; start < 2; start += 1) {
      const store = await openStore({ driver: "sqlite", dataDir });
      const server = await testServer({ backends: [backend], store });
      texts.push((await sendRaw(server, { action: "probe:probe" }, "key-1")).text);
      await server.stop();
      await store.close();
    }
    expect(texts[1]).toBe(texts[0]);
    expect(runs()).toBe(1);
  });

  it("E01: run again when nothing ran the first time, whatever it was refused for", async () => {
    const { backend, runs } = counting();
    await using server = await testServer({ backends: [backend, new CounterBackend()] });
    expect(await server.post("/execute", { worker_id, action: "probe:plot" }, keyed("k"))).toMatchObject({
      status: 400,
    });
    const pinned = { worker_id, action: "counter:incr", session_id: "counter_w1_001_gone" };
    expect(await server.post("/execute", pinned, keyed("k"))).toMatchObject({ status: 404 });
    const done = await server.post("/execute", { worker_id, action: "probe:probe" }, keyed("k"));
    expect([done.status, runs()]).toEqual([200, 1]);
  });

  it("E01: keep failures, too, and forget after the retention", async () => {
    let runs = 0;
    const backend = new ScriptedBackend({
      script: () => {
        runs += 1;
        throw new Error("no");
      },
    });
    const clock = new ManualClock();
    await using server = await testServer({ backends: [backend], clock, limits: { idempotencyRetentionMs: HOUR_MS } });
    const send = () => server.post("/execute", { worker_id, action: "probe:probe" }, keyed("k"));
    const first = await send();
    expect((await send()).body).toEqual(first.body);
    expect(runs).toBe(1);
    await clock.advance(HOUR_MS + 120_000);
    await send();
    expect(runs).toBe(2);
  });

  it("E01: in a batch, each item runs once under the batch's key", async () => {
    const { backend, runs } = counting();
    await using server = await testServer({ backends: [backend] });
    const batch = { worker_id, actions: Array.from({ length: 5 }, () => ({ action: "probe:probe" })), parallel: true };
    const first = await server.post("/execute/batch", batch, keyed("batch"));
    const again = await server.post("/execute/batch", batch, keyed("batch"));
    expect(again.body).toEqual(first.body);
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    expect(runs()).toBe(5);
    // The id may stand in the body, here too, and the header wins.
    const named = await server.post("/execute/batch", { ...batch, request_id: "batch" });
    expect(named.body).toEqual(first.body);
    const both = await server.post("/execute/batch", { ...batch, request_id: "another" }, keyed("batch"));
    expect(both.body).toEqual(first.body);
    expect(runs()).toBe(5);
    await server.post("/execute/batch", { ...batch, request_id: "another" });
    expect(runs()).toBe(10);
    expect((await server.post("/execute/batch", { ...batch, request_id: "not a key" })).status).toBe(400);
  });

  it("E01: an answer that is too large to keep is told so, and not run again", async () => {
    let runs = 0;
    const backend = new ScriptedBackend({ script: () => ({ text: "x".repeat(5_000), runs: (runs += 1) }) });
    await using server = await testServer({ backends: [backend], limits: { keptAnswerBytes: 1_000 } });
    const send = () => server.post("/execute", { worker_id, action: "probe:probe" }, keyed("k"));
    expect(await send()).toMatchObject({ status: 200 });
    expect((await send()).body).toMatchObject({
      meta: { error: "limit_exceeded", outcome: "infra_error", retryable: false },
      data: { limit: "kept_answer_bytes" },
    });
    expect(runs).toBe(1);
  });

  it("E01: the oldest answers go first when they are more than is kept, but none that may be asked for soon", async () => {
    let runs = 0;
    const backend = new ScriptedBackend({ script: () => ({ text: "x".repeat(5_000), runs: (runs += 1) }) });
    const clock = new ManualClock();
    await using server = await testServer({ backends: [backend], clock, limits: { keptAnswersBytes: 50_000 } });
    const send = (key: string) => server.post("/execute", { worker_id, action: "probe:probe" }, keyed(key));
    for (let index = 0; index < 20; index += 1) {
      await send(`k${index}`);
      clock.skip(120_000);
    }
    expect([(await send("k19")).body.data.runs, runs]).toEqual([20, 20]);
    expect((await send("k0")).body.data.runs).toBe(21);
    const burst = Array.from({ length: 20 }, (_, index) => `b${index}`);
    for (const key of burst) expect((await send(key)).status).toBe(200);
    const again = await Promise.all(burst.map(send));
    expect(runs).toBe(41);
    const refused = again.filter(({ status }) => status !== 200);
    expect(refused.length).toBeGreaterThan(0);
    for (const { body } of refused) expect(body).toMatchObject({ data: { limit: "kept_answers_bytes" } });
  });

  it("takes no key that is empty, too long or not visible ASCII", async () => {
    const { backend, runs } = counting();
    await using server = await testServer({ backends: [backend] });
    for (const request_id of ["", "a b", "x".repeat(256), "naïve", "a\nb"]) {
      const answer = await server.execute("probe:probe", {}, { request_id });
      expect(answer).toMatchObject({ status: 400, body: { meta: { error: "invalid_input" } } });
    }
    expect(runs()).toBe(0);
  });
});

describe("E02: the same key with another body", () => {
  it("E02: is a conflict, while the first runs and once it is over", async () => {
    const gate = new Gate();
    const begun: unknown[] = [];
    const backend = new ScriptedBackend({
      concurrency: "parallel",
      script: async (params) => {
        begun.push(params);
        gate.arrive();
        await gate.passed;
        return {};
      },
    });
    await using server = await testServer({ backends: [backend] });
    const send = (body: object) => server.post("/execute", { worker_id, action: "probe:probe", ...body }, keyed("k"));
    const first = send({ params: { a: 1 } });
    await gate.arrived();
    const others = [
      { params: { a: 2 } },
      { params: { a: "1" } },
      { params: { a: 1, b: null } },
      { action: "probe:echo", params: { a: 1 } },
      { worker_id: "w2", params: { a: 1 } },
      { session_id: "probe_w1_001_another", params: { a: 1 } },
      { async_mode: true, params: { a: 1 } },
      { stream: true, params: { a: 2 } },
    ];
    for (const other of others) {
      expect(await send(other)).toMatchObject({ status: 409, body: { code: 4090, meta: { error: "conflict" } } });
    }
    gate.open();
    expect((await first).status).toBe(200);
    for (const other of others) expect((await send(other)).status).toBe(409);
    expect((await send({ params: { a: 1 } })).status).toBe(200);
    expect(begun).toEqual([{ a: 1 }]);
  });

  it("E02: is a conflict of its item alone in a batch, whose other items run", async () => {
    const begun: unknown[] = [];
    const backend = new ScriptedBackend({ script: ({ index }) => void begun.push(index) });
    await using server = await testServer({ backends: [backend] });
    const send = (...indexes: number[]) => {
      const actions = indexes.map((index) => ({ action: "probe:probe", params: { index } }));
      return server.post("/execute/batch", { worker_id, actions, stop_on_error: false }, keyed("k"));
    };
    expect((await send(0, 1, 2)).status).toBe(200);
    const { status, body } = await send(0, 9, 2, 3);
    expect(status).toBe(207);
    expect(body.data.results.map((item: { code: number }) => item.code)).toEqual([0, 4090, 0, 0]);
    expect(begun).toEqual([0, 1, 2, 3]);
  });
});

describe("E03: a way on which answers get lost", () => {
  const faults: readonly Fault[] = ["drop", "cut", "early", "duplicate"];
  it.each(faults)("E03: the effect of a call is one, when the proxy does %s to it", async (fault) => {
    const counter = new CounterBackend();
    await using server = await testServer({ backends: [counter] });
    await using proxy = await startFaultyProxy(server.url, (index, path) =>
      path.endsWith("/execute") && index % 2 === 0 ? fault : "none",
    );
    const client = new HttpServiceClient({ baseUrl: proxy.url, workerId: "w1", retryDelayMs: 1 });
    await client.connect();
    await client.createSession("counter");
    for (let value = 1; value <= 20; value += 1) {
      expect(await client.call("counter:incr")).toMatchObject({ ok: true, data: { value } });
    }
    // A doubled request is no fault that the client meets: every other one of the twenty was.
    expect(proxy.faults).toBe(fault === "duplicate" ? 10 : 20);
  });

  it("E03: a call whose connection breaks while it runs is found again, and not cancelled", async () => {
    const counter = new CounterBackend();
    await using server = await testServer({ backends: [counter] });
    await using proxy = await startFaultyProxy(server.url, (index, path) =>
      path.endsWith("/execute") && index === 0 ? "early" : "none",
    );
    const client = new HttpServiceClient({ baseUrl: proxy.url, workerId: "w1", retryDelayMs: 1 });
    await client.connect();
    const running = client.call("counter:hold", { gate: "a" });
    await counter.gate("a").arrived();
    counter.gate("a").open();
    expect(await running).toMatchObject({ ok: true, data: { alive: true } });
    expect(counter.initialized).toHaveLength(1);
  });

  it("E03: an answer that comes after the client gave up is kept for the next try", async () => {
    const { backend, runs } = counting();
    await using server = await testServer({ backends: [backend] });
    await using proxy = await startFaultyProxy(server.url, (index) => (index === 0 ? "delay" : "none"));
    const signal = new AbortController();
    const body = JSON.stringify({ worker_id, action: "probe:probe", request_id: "k", on_disconnect: "detach" });
    const lost = fetch(`${proxy.url}/execute`, { method: "POST", body, signal: signal.signal }).catch(() => "gave up");
    await expect.poll(runs).toBe(1);
    signal.abort();
    expect(await lost).toBe("gave up");
    const again = await fetch(`${proxy.url}/execute`, { method: "POST", body });
    expect(await again.json()).toMatchObject({ code: 0, data: { runs: 1 } });
    proxy.release();
  });

  it("E12: a call that nobody comes back for is cancelled after the grace", async () => {
    const counter = new CounterBackend();
    const clock = new ManualClock();
    await using server = await testServer({ backends: [counter], clock, limits: { disconnectGraceMs: 2_000 } });
    const gone = new AbortController();
    const body = JSON.stringify({ worker_id, action: "counter:hold", params: { gate: "a" }, request_id: "k" });
    const call = fetch(`${server.url}/execute`, { method: "POST", body, signal: gone.signal }).catch(() => "gone");
    await counter.gate("a").arrived();
    const timers = clock.pending;
    gone.abort();
    await call;
    await expect.poll(() => clock.pending).toBe(timers + 1);
    await clock.advance(1_999);
    expect(server.engine.executor.activeCount).toBe(1);
    await clock.advance(1);
    await expect.poll(() => server.engine.executor.activeCount).toBe(0);
    // What is stored is what happened.
    expect((await server.post("/execute", JSON.parse(body))).body.meta.error).toBe("cancelled");
  });
});

describe("D10: a client that knows no keys and repeats a POST that took too long", () => {
  it.each([
    ["runs it again, the first told to stop, by default", 0, 2],
    ["finds the first still running, where the config says so", 10_000, 1],
  ])("D10: %s", async (_, dedupeUnkeyedMs, initialized) => {
    const counter = new CounterBackend();
    await using server = await testServer({ backends: [counter], limits: { dedupeUnkeyedMs } });
    const body = JSON.stringify({ worker_id, action: "counter:hold", params: { gate: "a" } });
    const send = (signal?: AbortSignal) =>
      fetch(`${server.url}/execute`, { method: "POST", body, ...(signal && { signal }) });
    const impatience = new AbortController();
    const first = send(impatience.signal).catch(() => "gave up");
    await counter.gate("a").arrived();
    impatience.abort();
    expect(await first).toBe("gave up");
    if (initialized > 1) await expect.poll(() => counter.cleaned.length).toBe(1);
    else await expect.poll(() => server.engine.orphans.count).toBe(1);
    const second = send();
    if (initialized > 1) await counter.gate("a").arrived(2);
    counter.gate("a").open();
    expect(await (await second).json()).toMatchObject({ code: 0, data: { alive: true } });
    expect(counter.initialized).toHaveLength(initialized);
  });

  it("D10: equal calls whose clients wait are all meant", async () => {
    const counter = new CounterBackend();
    await using server = await testServer({ backends: [counter], limits: { dedupeUnkeyedMs: 10_000 } });
    await server.post("/api/v1/session/create", { worker_id, resource_type: "counter" });
    await Promise.all(Array.from({ length: 20 }, () => server.execute("counter:incr")));
    expect((await server.execute("counter:get")).body.data.value).toBe(20);
  });
});

describe("E11: a kept connection that the server closes as a request is on its way", () => {
  it("E11: loses no call and runs none twice", async () => {
    const counter = new CounterBackend();
    await using server = await testServer({ backends: [counter] });
    await using proxy = await startFaultyProxy(server.url, (index, path) =>
      path.endsWith("/execute") && index % 3 === 1 ? "undelivered" : "none",
    );
    const client = new HttpServiceClient({ baseUrl: proxy.url, workerId: "w1", retryDelayMs: 1 });
    await client.connect();
    await client.createSession("counter");
    for (let value = 1; value <= 50; value += 1) {
      expect(await client.call("counter:incr")).toMatchObject({ ok: true, data: { value } });
    }
    expect(proxy.faults).toBeGreaterThanOrEqual(25);
    // The server keeps idle connections longer than the client's 30 s, so that this is rare.
    const answer = await fetch(`${server.url}/health`);
    const told = /timeout=(\d+)/.exec(answer.headers.get("keep-alive") ?? "")?.[1];
    expect(Number(told) * 1_000).toBe(defaultHttpLimits.keepAliveTimeoutMs);
    expect(defaultHttpLimits.keepAliveTimeoutMs).toBeGreaterThan(30_000 + 15_000);
  });
});

describe("a store that fails", () => {
  it("refuses a keyed call whose record cannot be written, and runs nothing", async () => {
    const { backend, runs } = counting();
    const store = createFaultyStore(createMemoryStore());
    await using server = await testServer({ backends: [backend], store });
    store.inject("idempotency.begin", DISK_FULL);
    const send = () => server.post("/execute", { worker_id, action: "probe:probe" }, keyed("k"));
    expect((await send()).body.meta).toMatchObject({
      error: "dependency_failed",
      outcome: "infra_error",
      retryable: true,
    });
    expect(runs()).toBe(0);
    store.heal();
    expect((await send()).status).toBe(200);
  });

  it("answers the caller when the answer cannot be kept, and a repeat with unknown_outcome", async () => {
    const { backend, runs } = counting();
    const store = createFaultyStore(createMemoryStore());
    await using server = await testServer({ backends: [backend], store });
    store.inject("idempotency.finish", DISK_FULL);
    const send = () => server.post("/execute", { worker_id, action: "probe:probe" }, keyed("k"));
    expect((await send()).body.data).toEqual({ runs: 1 });
    expect((await send()).body.meta).toMatchObject({ error: "unknown_outcome", outcome: "infra_error" });
    expect(runs()).toBe(1);
  });
});
