import { expect, test } from "vitest";
import { HttpServiceClient } from "../../src/client/http-client.ts";
import { CounterBackend } from "../kit/counter-backend.ts";
import { testServer } from "../kit/test-server.ts";
import { startLossyProxy } from "./lossy-proxy.ts";

test("D10: a tool whose answer is lost on the way ran once, and the caller is told that it may have run", async () => {
  await using server = await testServer({ backends: [new CounterBackend()] });
  await using proxy = await startLossyProxy(server.url);
  const client = new HttpServiceClient({ baseUrl: proxy.url, workerId: "w1", retryDelayMs: 1 });
  await client.createSession("counter");
  proxy.loseNextAnswer();
  await expect(client.call("counter:incr")).rejects.toMatchObject({ failure: "interrupted", mayHaveRun: true });
  await expect(client.call("counter:get")).resolves.toMatchObject({ ok: true, data: { value: 1 } });
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
