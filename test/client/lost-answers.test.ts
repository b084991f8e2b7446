import { expect, test } from "vitest";
import { HttpServiceClient } from "../../src/client/http-client.ts";
import { CounterBackend } from "../kit/counter-backend.ts";
import { testServer } from "../kit/test-server.ts";
import { startLossyProxy } from "./lossy-proxy.ts";
import { type ScriptedServer, sendJson, startScriptedServer } from "./scripted-server.ts";

test("D10: a tool whose answer is lost on the way runs once, and its answer comes after all", async () => {
  await using server = await testServer({ backends: [new CounterBackend()] });
  await using proxy = await startLossyProxy(server.url);
  const client = new HttpServiceClient({ baseUrl: proxy.url, workerId: "w1", retryDelayMs: 1 });
  await client.createSession("counter");
  proxy.loseNextAnswer();
  // What the server can do is asked for only now, where it matters.
  await expect(client.call("counter:incr")).resolves.toMatchObject({ ok: true, data: { value: 1 } });
  await expect(client.call("counter:get")).resolves.toMatchObject({ ok: true, data: { value: 1 } });
});

test("D10: a cut call is not sent again to a server that keeps no keys, and its caller is told that it may have run", async () => {
  await using server = await startScriptedServer((response, { path }) => {
    if (path === "/health") sendJson(response, { status: "healthy" });
    else response.destroy();
  });
  const client = new HttpServiceClient({ baseUrl: server.url, workerId: "w1", retryDelayMs: 1 });
  for (let time = 0; time < 2; time += 1) {
    // oxlint-disable-next-line no-await-in-loop -- the second call knows what the first one asked
    await expect(client.call("counter:incr")).rejects.toMatchObject({ failure: "interrupted", mayHaveRun: true });
  }
  expect(server.seen.map(({ path }) => path)).toEqual(["/api/v1/execute", "/health", "/api/v1/execute"]);
});

test("D10: a call that was cut, and whose server is then gone, is told to have perhaps run", async () => {
  const running: { server?: ScriptedServer } = {};
  await using server = await startScriptedServer((response, { path }) => {
    if (path === "/health") return sendJson(response, { status: "healthy", features: ["idempotency"] });
    // Nobody listens by the time that the call is sent again.
    void running.server?.[Symbol.asyncDispose]();
    response.destroy();
  });
  running.server = server;
  const client = new HttpServiceClient({ baseUrl: server.url, workerId: "w1", retryDelayMs: 50 });
  await client.connect();
  const error: unknown = await client.call("counter:incr").catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ name: "ConnectionError", failure: "interrupted", mayHaveRun: true });
  expect(String(error)).toContain("ECONNREFUSED");
});

test("D10: a streamed call whose server is gone after its first event is told to have perhaps run", async () => {
  const running: { server?: ScriptedServer } = {};
  await using server = await startScriptedServer((response) => {
    response.writeHead(200, { "content-type": "text/event-stream", "toolyard-call-id": "c1" });
    response.write('id: c1:1\nevent: call.started\ndata: {"call_id":"c1","trace_id":"t","action":"counter:incr"}\n\n');
    setImmediate(() => {
      void running.server?.[Symbol.asyncDispose]();
      response.destroy();
    });
  });
  running.server = server;
  const client = new HttpServiceClient({ baseUrl: server.url, workerId: "w1", retryDelayMs: 50 });
  const read = async () => {
    for await (const event of client.streamUntyped("counter:incr", {}, { onDisconnect: "detach" }))
      expect(event.type).toBe("call.started");
  };
  await expect(read()).rejects.toMatchObject({ name: "ConnectionError", failure: "interrupted", mayHaveRun: true });
});

test("a list or a heartbeat whose answer is lost is asked for again unnoticed", async () => {
  await using server = await testServer({ backends: [new CounterBackend()] });
  await using proxy = await startLossyProxy(server.url);
  const client = new HttpServiceClient({ baseUrl: proxy.url, workerId: "w1", retryDelayMs: 1 });
  await client.createSession("counter");
  for (const ask of [() => client.listSessions(), () => client.heartbeat(), () => client.listTools()]) {
    proxy.loseNextAnswer();
    await expect(ask()).resolves.toBeDefined();
  }
});
