import { expect, test } from "vitest";
import { HttpServiceClient } from "../../src/client/http-client.ts";
import { ServerError } from "../../src/client/errors/server-error.ts";
import { CounterBackend } from "../kit/counter-backend.ts";
import { testServer } from "../kit/test-server.ts";

async function connected(backends = [new CounterBackend()]) {
  const server = await testServer({ backends });
  const client = new HttpServiceClient({ baseUrl: server.url, workerId: "w1", retryDelayMs: 1 });
  await client.connect();
  return { server, client, [Symbol.asyncDispose]: () => server.stop({ force: true }) };
}

test("reads health, readiness, tools and their schemas", async () => {
  await using it = await connected();
  await expect(it.client.health()).resolves.toMatchObject({ status: "healthy" });
  await expect(it.client.ready()).resolves.toMatchObject({ status: "ready", backends: { counter: { up: true } } });
  const tools = await it.client.listTools({ includeHidden: true });
  expect(tools.find((tool) => tool.full_name === "counter:incr")).toMatchObject({
    resource_type: "counter",
    stateless: false,
    parameters: { properties: { by: { default: 1 } } },
  });
  await expect(it.client.getToolSchema("counter:incr")).resolves.toMatchObject({ full_name: "counter:incr" });
  await expect(it.client.getToolSchema("counter:nope")).rejects.toMatchObject({ error: "unknown_name", status: 404 });
});

test("warms up one backend or all, and says which are warm", async () => {
  await using it = await connected([new CounterBackend(), new CounterBackend({ resource: "tally" })]);
  await expect(it.client.warmup(["counter"])).resolves.toMatchObject({ status: "success", results: { counter: true } });
  await expect(it.client.warmupStatus()).resolves.toMatchObject({
    backends: { counter: { warmed_up: true }, tally: { warmed_up: false } },
  });
  await expect(it.client.warmup()).resolves.toMatchObject({ status: "success", results: { tally: true } });
});

test("initialises one resource, several with some that fail, and reads a config", async () => {
  const broken = new CounterBackend({ resource: "broken" });
  broken.onInitialize = () => Promise.reject(new Error("no disk"));
  await using it = await connected([new CounterBackend(), broken]);
  await expect(it.client.initResource("counter", { start: 3 })).resolves.toMatchObject({ session_status: "active" });
  await expect(it.client.call("counter:get")).resolves.toMatchObject({ data: { value: 3 } });
  await expect(it.client.initResource("broken")).rejects.toBeInstanceOf(ServerError);
  await expect(it.client.initBatch({ counter: {}, broken: {} })).resolves.toMatchObject({
    success_count: 1,
    results: { broken: { session_id: null } },
  });
  await expect(it.client.initBatch({ broken: {} })).resolves.toMatchObject({ success_count: 0 });
  await expect(it.client.initFromConfig("default.json")).resolves.toMatchObject({ config_loaded: "default.json" });
  await expect(it.client.initFromConfig("../package.json")).rejects.toBeInstanceOf(ServerError);
});

test("makes, lists, refreshes and ends sessions, one or all", async () => {
  await using it = await connected([new CounterBackend(), new CounterBackend({ resource: "tally" })]);
  const { session_id: sessionId } = await it.client.createSession("counter", {}, { customName: "a", ttlMs: 90_000 });
  await it.client.createSession("tally");
  await expect(it.client.listSessions("counter")).resolves.toMatchObject([{ session_id: sessionId }]);
  await expect(it.client.refreshSession("counter", { ttlMs: 1_000, sessionId })).resolves.toMatchObject({
    session_id: sessionId,
  });
  await expect(it.client.getStatus()).resolves.toMatchObject({ worker_id: "w1" });
  await expect(it.client.destroySession("counter", { sessionId: "another" })).rejects.toMatchObject({
    error: "session_not_found",
  });
  await it.client.close({ destroySessions: true });
  await expect(it.client.listSessions()).resolves.toEqual([]);
});

test("runs a batch in order, stops at an error and gives each result", async () => {
  await using it = await connected();
  await it.client.createSession("counter");
  const calls = [{ action: "counter:incr" }, { action: "no:tool" }, { action: "counter:incr" }];
  const stopped = await it.client.executeBatch(calls);
  expect(stopped).toMatchObject({ ok: false, total: 3, executed: 2, successCount: 1 });
  const all = await it.client.executeBatch(calls, { stopOnError: false, parallel: true, maxConcurrency: 2 });
  expect(all.results.map((result) => (result.ok ? result.data : result.error.error))).toEqual([
    { value: 2 },
    "tool_not_found",
    { value: 3 },
  ]);
  await expect(it.client.executeBatch([])).resolves.toMatchObject({ ok: true, results: [] });
});

test("aborting a call ends its work on the server, unless it is detached", async () => {
  const counter = new CounterBackend();
  await using it = await connected([counter]);
  await it.client.createSession("counter");
  const leave = async (gate: string, onDisconnect: "cancel" | "detach") => {
    const abort = new AbortController();
    const left = it.client.call("counter:hold", { gate }, { signal: abort.signal, onDisconnect });
    await counter.gate(gate).arrived();
    abort.abort(new Error("enough"));
    await expect(left).rejects.toThrow("enough");
  };
  const active = async () => (await it.client.ready())["active_calls"];
  await leave("a", "cancel");
  // After the grace in which a client whose connection broke comes back for its call.
  await expect.poll(active, { timeout: 30_000 }).toBe(0);
  await leave("b", "detach");
  expect(await active()).toBe(1);
  counter.gate("b").open();
  await expect.poll(active).toBe(0);
});

test("stops the server", async () => {
  await using it = await connected();
  await expect(it.client.shutdownServer()).resolves.toMatchObject({ status: "success" });
  await it.server.stopped;
});
