import { describe, expect, it } from "vitest";
import { CounterBackend } from "../kit/counter-backend.ts";
import { testServer } from "../kit/test-server.ts";

const worker_id = "w1";

function failing(resource: string): CounterBackend {
  const backend = new CounterBackend({ resource });
  backend.onInitialize = () => Promise.reject(new Error("secret"));
  return backend;
}

describe("POST /api/v1/init/resource", () => {
  it("makes the worker's session with the config, or gets the one it has", async () => {
    const counter = new CounterBackend();
    await using server = await testServer({ backends: [counter] });
    const request = { worker_id, resource_type: "counter", init_config: { start: 5 } };
    const { status, body } = await server.post("/api/v1/init/resource", request);
    expect(status).toBe(200);
    const { session_id } = body.data;
    expect(body.data).toEqual({
      session_id,
      resource_type: "counter",
      session_status: "active",
      error: null,
      config_applied: true,
    });
    expect(body.meta).toMatchObject({ tool: "init:resource", session_id, resource_type: "counter" });
    expect((await server.post("/api/v1/init/resource", request)).body.data.session_id).toBe(session_id);
    expect((await server.execute("counter:get")).body.data.value).toBe(5);
  });

  it("D7: says that it kept the session as it was, and whether the config is in force", async () => {
    await using server = await testServer({ backends: [new CounterBackend()] });
    const initialize = async (init_config?: object) =>
      (await server.post("/api/v1/init/resource", { worker_id, resource_type: "counter", init_config })).body.data;
    const { session_id } = await initialize({ start: 5 });
    expect(await initialize({ start: 7 })).toMatchObject({ session_id, status: "exists", config_applied: false });
    for (const same of [undefined, { start: 5 }])
      expect(await initialize(same)).toMatchObject({ session_id, status: "exists", config_applied: true });
  });

  it("answers 500 with code 4007 when the session cannot be made, and 422 for a wrong body", async () => {
    await using server = await testServer({ backends: [failing("counter")] });
    const { status, body } = await server.post("/api/v1/init/resource", { worker_id, resource_type: "counter" });
    expect([status, body.code]).toEqual([500, 4007]);
    expect(body.data).toMatchObject({ session_id: null, resource_type: "counter", session_status: "error" });
    expect((await server.post("/api/v1/init/resource", { worker_id })).status).toBe(422);
  });
});

describe("POST /api/v1/init/batch", () => {
  it("makes several sessions, with the config bare or under content", async () => {
    await using server = await testServer({
      backends: [new CounterBackend(), new CounterBackend({ resource: "other" })],
    });
    const resource_configs = { counter: { start: 1 }, other: { content: { start: 2 } } };
    const { status, body } = await server.post("/api/v1/init/batch", { worker_id, resource_configs });
    expect(status).toBe(200);
    expect(body.data).toMatchObject({
      worker_id,
      total: 2,
      success_count: 2,
      results: { counter: { status: "success", session_status: "active", error: null }, other: { status: "success" } },
    });
    expect(body.meta.tool).toBe("init:batch");
    expect((await server.execute("counter:get")).body.data.value).toBe(1);
    expect((await server.execute("other:get")).body.data.value).toBe(2);
  });

  it("D7: says which sessions it kept as they were, and whether their configs are in force", async () => {
    await using server = await testServer({
      backends: [new CounterBackend(), new CounterBackend({ resource: "other" })],
    });
    await server.post("/api/v1/session/create", { worker_id, resource_type: "counter" });
    const resource_configs = { counter: { start: 1 }, other: { start: 2 } };
    const { body } = await server.post("/api/v1/init/batch", { worker_id, resource_configs });
    expect(body.data.results).toMatchObject({
      counter: { status: "success", existed: true, config_applied: false },
      other: { status: "success", config_applied: true },
    });
    expect(body.data.results.other).not.toHaveProperty("existed");
  });

  it("answers 207 with code 5010 when some fail, and 500 with code 5009 when all do", async () => {
    await using server = await testServer({ backends: [new CounterBackend(), failing("bad")] });
    const some = await server.post("/api/v1/init/batch", { worker_id, resource_configs: { counter: {}, bad: {} } });
    expect([some.status, some.body.code]).toEqual([207, 5010]);
    expect(some.body.data.results.bad).toMatchObject({ status: "error", session_id: null, session_status: "error" });
    const none = await server.post("/api/v1/init/batch", { worker_id, resource_configs: { bad: {} } });
    expect([none.status, none.body.code]).toEqual([500, 5009]);
    expect([some.body.meta.outcome, none.body.meta.outcome]).toEqual(["infra_error", "infra_error"]);
    const empty = await server.post("/api/v1/init/batch", { worker_id, resource_configs: {} });
    expect([empty.status, empty.body.data.total]).toEqual([200, 0]);
  });

  it("makes no session at all when one of the names is none", async () => {
    const counter = new CounterBackend();
    await using server = await testServer({ backends: [counter] });
    const resource_configs = { counter: {}, "bad\nname": {} };
    expect((await server.post("/api/v1/init/batch", { worker_id, resource_configs })).status).toBe(400);
    expect(counter.initialized).toHaveLength(0);
  });
});

describe("POST /api/v1/init/from-config", () => {
  it("reads a file of the config folder, and answers 404 with code 4002 for any other", async () => {
    await using server = await testServer();
    const path = "/api/v1/init/from-config";
    const { status, body } = await server.post(path, { worker_id, config_path: "default.json" });
    expect([status, body.data.config_loaded, body.meta.tool]).toEqual([200, "default.json", "init:from_config"]);
    expect(body.data.config).toBeTypeOf("object");
    const none = await server.post(path, { worker_id, config_path: "none.json" });
    expect([none.status, none.body.code]).toEqual([404, 4002]);
    expect((await server.post(path, { worker_id })).status).toBe(422);
  });
});
