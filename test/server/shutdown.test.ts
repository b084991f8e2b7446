import { request } from "node:http";
import { describe, expect, it } from "vitest";
import { CounterBackend } from "../kit/counter-backend.ts";
import { testServer } from "../kit/test-server.ts";

const shutdown = "/api/v1/server/shutdown";

describe("POST /api/v1/server/shutdown", () => {
  it("F11: lets calls end, refuses new ones with 503, cleans sessions up, and stops", async () => {
    const counter = new CounterBackend();
    await using server = await testServer({ backends: [counter] });
    await server.post("/api/v1/session/create", { worker_id: "w1", resource_type: "counter" });
    const running = server.execute("counter:hold", { gate: "a" });
    await counter.gate("a").arrived();
    const stopping = server.post(shutdown, {});
    await expect.poll(async () => (await server.get("/ready")).status).toBe(503);

    const refused = await Promise.all([
      server.execute("counter:incr"),
      server.post("/api/v1/session/create", { worker_id: "w2", resource_type: "counter" }),
      server.post("/api/v1/init/resource", { worker_id: "w2", resource_type: "counter" }),
    ]);
    expect(refused.map(({ status }) => status)).toEqual([503, 503, 503]);
    expect(refused.map(({ body }) => body.meta.error)).toEqual(Array(3).fill("shutting_down"));

    counter.gate("a").open();
    expect(await running).toMatchObject({ status: 200, body: { data: { alive: true } } });
    const { status, body } = await stopping;
    expect([status, body]).toEqual([
      200,
      { status: "success", message: "The server is stopping", sessions_cleaned: 1 },
    ]);
    await server.stopped;
    expect([counter.cleaned.length, counter.shutdowns]).toEqual([1, 1]);
    await expect(fetch(`${server.url}/health`)).rejects.toThrow("fetch failed");
  });

  it("cancels running calls when forced, also while another shutdown waits for them", async () => {
    const counter = new CounterBackend();
    await using server = await testServer({ backends: [counter] });
    const running = server.execute("counter:hold", { gate: "a" });
    await counter.gate("a").arrived();
    const patient = server.post(shutdown, {});
    await expect.poll(async () => (await server.get("/ready")).status).toBe(503);
    expect((await server.post(shutdown, { force: true })).status).toBe(200);
    const cut = await running;
    expect(cut).toMatchObject({
      status: 500,
      body: { code: 5032, meta: { error: "unknown_outcome", retryable: false } },
    });
    expect(cut.headers.has("retry-after")).toBe(false);
    expect((await patient).status).toBe(200);
    await server.stopped;
  });

  it("stops even when the client that asked for it has gone", async () => {
    const counter = new CounterBackend();
    await using server = await testServer({ backends: [counter] });
    const running = server.execute("counter:hold", { gate: "a" });
    await counter.gate("a").arrived();
    const client = request(server.url + shutdown, { method: "POST" });
    const gone = new Promise<void>((resolve) => client.on("close", () => resolve()));
    client.on("error", () => undefined);
    client.end("{}");
    await expect.poll(async () => (await server.get("/ready")).status).toBe(503);
    client.destroy();
    await gone;
    counter.gate("a").open();
    expect((await running).status).toBe(200);
    await server.stopped;
  });
});
