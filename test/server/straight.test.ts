import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createMemoryStore } from "../../src/store/memory/memory-store.ts";
import { CrossingWatch } from "../../src/server/auth/crossing-watch.ts";
import { createSecurity } from "../../src/server/auth/security.ts";
import { Front } from "../../src/server/front.ts";
import { HostGuard } from "../../src/server/guard.ts";
import { defaultHttpLimits } from "../../src/server/http-limits.ts";
import { route } from "../../src/server/route.ts";
import { RouteRunner } from "../../src/server/route-runner.ts";
import { StraightRoutes } from "../../src/server/straight.ts";
import { rawExchange, statusOf } from "../kit/raw-http.ts";
import { recordingLogger } from "../kit/recording-logger.ts";
import { ScriptedBackend } from "../kit/scripted-backend.ts";
import { type TestServer, testServer } from "../kit/test-server.ts";

/** What a request of this line and these headers is, with a body or without. */
const request = (line: string, headers: readonly string[] = [], body = "") =>
  [line, "Host: localhost", ...headers, "", body].join("\r\n");
const lengthOf = (body: string) => `Content-Length: ${Buffer.byteLength(body)}`;
const CLOSE = "Connection: close";

/** A POST of JSON to /execute; the server closes the connection behind the answer. */
const execute = (query: string, body: object, headers: readonly string[] = [CLOSE]) => {
  const text = JSON.stringify({ worker_id: "w1", action: "probe:echo", trace_id: "t", ...body });
  return request(`POST /execute${query} HTTP/1.1`, [lengthOf(text), ...headers], text);
};

/** An answer without what differs between any two: ids, times, sizes, and the order and the case of headers. */
function likeOf(answer: string): string {
  return answer
    .replace(/HTTP\/1\.1 [^]*?\r\n\r\n/g, (head) =>
      head
        .split("\r\n")
        .filter((line) => !/^(?:date|content-length):/i.test(line))
        .map((line) => line.replace(/^[\w-]+:/, (name) => name.toLowerCase()))
        .sort()
        .join("\n"),
    )
    .replace(/[0-9a-f]{8}-[0-9a-f-]{27}|\w+_[0-9a-f]{32}/g, "ID")
    .replace(/^[0-9a-f]+\r$/gm, "SIZE")
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME")
    .replace(/"(?:execution_time|queued)_ms":[\d.]+/g, "MS");
}

const plain: readonly [string, number, (query: string) => string][] = [
  ["a call", 200, (query) => execute(query, { params: { said: "ü" } })],
  ["a call by HTTP/1.0", 200, (query) => execute(query, {}, []).replace("HTTP/1.1", "HTTP/1.0")],
  ["a call in a temporary session", 200, (query) => execute(query, { action: "held:echo" })],
  ["a call that throws", 500, (query) => execute(query, { action: "probe:probe" })],
  ["a call without its params", 400, (query) => execute(query, { action: "probe:plot" })],
  ["a call of a tool that is none", 400, (query) => execute(query, { action: "probe:none" })],
  ["a streamed call", 200, (query) => execute(query, { stream: true })],
  ["a streamed call by HTTP/1.0", 200, (query) => execute(query, { stream: true }, []).replace("P/1.1", "P/1.0")],
  ["a job", 202, (query) => execute(query, { async_mode: true })],
  ["a key that is none", 400, (query) => execute(query, {}, [CLOSE, "Idempotency-Key: \u00ff"])],
  ["no body", 422, (query) => request(`POST /execute${query} HTTP/1.1`, [CLOSE])],
  [
    "a body that is no JSON",
    400,
    (query) => request(`POST /execute${query} HTTP/1.1`, [CLOSE, lengthOf("{a}")], "{a}"),
  ],
  ["a body above the limit", 413, (query) => request(`POST /execute${query} HTTP/1.1`, ["Content-Length: 20000"])],
  [
    "chunks above the limit",
    413,
    (query) =>
      request(`POST /execute${query} HTTP/1.1`, ["Transfer-Encoding: chunked"], `4000\r\n${"x".repeat(0x4000)}\r\n`),
  ],
  ["a client that asks before its body", 100, (query) => execute(query, {}, [CLOSE, "Expect: 100-continue"])],
  ["a body that ends too early", 408, (query) => request(`POST /execute${query} HTTP/1.1`, ["Content-Length: 9"], "{")],
  ["HEAD", 200, (query) => request(`HEAD /health${query} HTTP/1.1`, [CLOSE])],
  ["HEAD of a path for POST", 405, (query) => request(`HEAD /execute${query} HTTP/1.1`, [CLOSE])],
  ["a method of none", 405, (query) => request(`DELETE /execute${query} HTTP/1.1`, [CLOSE])],
  ["GET with a body", 200, (query) => request(`GET /health${query} HTTP/1.1`, [CLOSE, "Content-Length: 3"], "abc")],
  ["a list", 200, (query) => request(`GET /api/v1/tools${query} HTTP/1.1`, [CLOSE])],
  ["a page", 200, (query) => request(`GET /docs${query} HTTP/1.1`, [CLOSE])],
  ["a foreign origin", 403, (query) => execute(query, {}, [CLOSE, "Origin: http://evil.example"])],
  ["a foreign host", 403, (query) => execute(query, {}).replace("localhost", "evil.example")],
  ["no host", 403, (query) => `GET /health${query} HTTP/1.0\r\n\r\n`],
  [
    "several requests at once",
    200,
    (query) =>
      execute(query, { params: { n: 1 } }, []) +
      request(`GET /health${query} HTTP/1.1`) +
      execute(query, { action: "probe:none" }, []) +
      execute(query, { stream: true }, []) +
      execute(query, { params: { n: 2 } }),
  ],
];

describe("a request that is answered straight on node's objects", () => {
  let server: TestServer;
  beforeAll(async () => {
    const script = () => {
      throw new Error("a secret");
    };
    server = await testServer({
      backends: [new ScriptedBackend({ script }), new ScriptedBackend({ resource: "held", sessions: true })],
      http: { bodyBytes: 10_000 },
    });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it.each(plain)("gets the answer that the app gives: %s", async (_name, status, toRequest) => {
    const [straight, throughApp] = await Promise.all([
      rawExchange(server.port, toRequest("")),
      rawExchange(server.port, toRequest("?by=app")),
    ]);
    expect(statusOf(straight)).toBe(status);
    expect(likeOf(straight)).toBe(likeOf(throughApp).replaceAll("?by=app", ""));
  });

  it.each([
    ["was refused", 403, "POST /execute", "evil.example"],
    ["is a GET", 200, "GET /health", "localhost"],
    ["is a GET for the app", 200, "GET /health?by=app", "localhost"],
  ])("is cut off when it %s and its body never ends", async (_how, status, line, host) => {
    // Node alone would read on for as long as an upload may take, which is an hour.
    await using hasty = await testServer({ http: { requestTimeoutMs: 500 } });
    const socket = connect(hasty.port, "127.0.0.1");
    const closed = new Promise<void>((resolve) => socket.on("close", () => resolve()));
    let answer = "";
    socket.on("error", () => undefined);
    socket.on("data", (chunk) => (answer += String(chunk)));
    socket.write(`${line} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 1000000\r\n\r\n`);
    await closed;
    expect(statusOf(answer)).toBe(status);
  });

  it("leaves nothing behind when a thousand clients go away at every stage of it", async () => {
    const whole = execute("", { action: "held:echo" }, []);
    const gone = Array.from({ length: 1_000 }, (_, index) => {
      const cut = Math.ceil((whole.length * (index + 1)) / 1_000);
      return new Promise<void>((resolve) => {
        const socket = connect(server.port, "127.0.0.1", () => {
          socket.write(whole.slice(0, cut), () => socket.destroy());
        });
        socket.on("error", () => undefined);
        socket.on("close", () => resolve());
      });
    });
    await Promise.all(gone);
    await expect.poll(() => server.engine.executor.activeCount, { timeout: 30_000 }).toBe(0);
    await expect
      .poll(async () => (await server.get("/api/v1/sessions")).body["data"], { timeout: 30_000 })
      .toMatchObject({ count: 0 });
    expect((await server.execute("held:echo")).status).toBe(200);
  });
});

it("an answer that cannot be written is answered as the server's own failure", async () => {
  const logger = recordingLogger();
  const store = createMemoryStore();
  const { door, streams, audit } = await createSecurity({}, { store, logger, host: "127.0.0.1", allowedOrigins: [] });
  const routes = [
    route({
      method: "get",
      path: "/unwritable",
      operation: "test:unwritable",
      summary: "What JSON has no word for",
      access: "anyone",
      enveloped: false,
      handle: () => ({ status: 200, body: 1n }),
    }),
  ];
  const guard = new HostGuard({ host: "127.0.0.1", allowedHosts: [], allowedOrigins: [] });
  const front = new Front({ routes, guard, door, logger });
  const crossings = new CrossingWatch(() => undefined, audit);
  const runner = new RouteRunner({ crossings, streams, limits: defaultHttpLimits, logger });
  const straight = new StraightRoutes({ routes, runner, front });
  const server = createServer((incoming, outgoing) => void straight.takes(incoming, outgoing));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const { port } = server.address() as AddressInfo; // it listens on TCP
    const answer = await rawExchange(port, request("GET /unwritable HTTP/1.1", [CLOSE]));
    expect(statusOf(answer)).toBe(500);
    expect(answer).toContain('"error":"internal_error"');
    expect(logger.lines.map(({ level, message }) => [level, message])).toEqual([
      ["error", "a request failed unexpectedly"],
    ]);
  } finally {
    server.close();
    await store.close();
  }
});
