import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { HttpServiceClient } from "../../src/client/http-client.ts";
import { Sandbox } from "../../src/client/sandbox.ts";
import { CounterBackend } from "../kit/counter-backend.ts";
import { keyedServer } from "../kit/keyed-server.ts";
import { ManualClock } from "../kit/manual-clock.ts";

beforeEach(() => vi.stubEnv("TOOLYARD_API_KEY", undefined));
afterEach(() => vi.unstubAllEnvs());

const start = () => keyedServer({ a: {}, narrow: { scopes: ["other:execute"] } }, { backends: [new CounterBackend()] });

test("a client sends its key, and its tenant's sessions are its own", async () => {
  await using server = await start();
  await using client = new HttpServiceClient({ baseUrl: server.url, apiKey: server.holders.a.key, workerId: "w1" });
  await client.connect();
  await client.createSession("counter");
  expect(await client.executeUntyped("counter:incr")).toMatchObject({ value: 1 });
  expect(await client.forWorker("w2").listSessions()).toEqual([]);
  expect(await client.ready()).toMatchObject({ status: "ready" });
});

test("a client takes the key of the environment, and its own before it", async () => {
  await using server = await start();
  vi.stubEnv("TOOLYARD_API_KEY", server.holders.a.key);
  const client = new HttpServiceClient({ baseUrl: server.url });
  expect(await client.listTools()).not.toEqual([]);
  await expect(new HttpServiceClient({ baseUrl: server.url, apiKey: "other" }).listTools()).rejects.toMatchObject({
    error: "unauthenticated",
    status: 401,
  });
});

test("a client without a key, or without the scope, is told so at once and does not repeat it", async () => {
  await using server = await start();
  const bare = new HttpServiceClient({ baseUrl: server.url });
  expect(await bare.health()).toMatchObject({ status: "healthy" });
  await expect(bare.executeUntyped("counter:incr")).rejects.toMatchObject({ error: "unauthenticated", status: 401 });
  const narrow = new HttpServiceClient({ baseUrl: server.url, apiKey: server.holders.narrow.key });
  const refusal = narrow.executeUntyped("counter:incr");
  await expect(refusal).rejects.toMatchObject({
    error: "forbidden",
    status: 403,
    details: { scope: "counter:execute" },
  });
  await refusal.catch((error: unknown) => expect(String(error)).not.toContain(server.holders.narrow.key));
});

test("a sandbox sends its key to a server that runs", async () => {
  await using server = await start();
  await using sandbox = new Sandbox({ serverUrl: server.url, apiKey: server.holders.a.key });
  expect(await sandbox.call("counter:incr")).toMatchObject({ ok: true, data: { value: 1 } });
  expect(await sandbox.forWorker("w2").call("counter:incr")).toMatchObject({ ok: true, data: { value: 1 } });
});

test("a client that is over its rate comes back when the server says", async () => {
  const clock = new ManualClock();
  const security = { rateLimit: { requestsPerMinute: 6_000, burst: 1 } };
  await using server = await keyedServer({ a: {} }, { backends: [new CounterBackend()], clock, security });
  const options = { baseUrl: server.url, apiKey: server.holders.a.key, maxRetries: 0 };
  await new HttpServiceClient(options).executeUntyped("counter:incr");
  await expect(new HttpServiceClient(options).executeUntyped("counter:incr")).rejects.toMatchObject({
    error: "rate_limited",
    status: 429,
    retryable: true,
  });
  clock.skip(10);
  await new HttpServiceClient(options).executeUntyped("counter:incr");
});
