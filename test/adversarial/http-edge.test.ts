import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CounterBackend } from "../kit/counter-backend.ts";
import { rawExchange, statusOf } from "../kit/raw-http.ts";
import { ScriptedBackend } from "../kit/scripted-backend.ts";
import { testServer, type TestServer } from "../kit/test-server.ts";

const EXECUTE = '{"worker_id":"w1","action":"probe:echo"}';

let server: TestServer;
beforeAll(async () => {
  server = await testServer({ backends: [new ScriptedBackend(), new CounterBackend()] });
});
afterAll(() => server.stop({ force: true }));

const get = (headers: string) =>
  rawExchange(server.port, `GET /health HTTP/1.1\r\n${headers}Connection: close\r\n\r\n`);

describe("D01: Host and Origin", () => {
  it.each(["localhost", "LOCALHOST:1", "127.0.0.1:18890", "[::1]:80"])("lets the Host %s in", async (host) => {
    expect(statusOf(await get(`Host: ${host}\r\n`))).toBe(200);
  });

  it.each([
    "evil.example",
    "localhost.evil.example",
    "127.0.0.1.nip.io",
    "localhost@evil.example",
    "169.254.169.254",
    "localhost:1:2",
    "",
  ])("refuses the Host '%s'", async (host) => {
    const answer = await get(`Host: ${host}\r\n`);
    expect([400, 403]).toContain(statusOf(answer));
    expect(answer).not.toContain("healthy");
  });

  it("refuses a request without a Host, of either HTTP", async () => {
    expect(statusOf(await get(""))).toBe(400);
    const old = await rawExchange(server.port, "GET /health HTTP/1.0\r\n\r\n");
    expect(old).not.toContain("healthy");
  });

  it.each(["http://evil.example", "null", "http://localhost.evil.example", "file://", "http://localhost:1"])(
    "refuses pages of the Origin %s on every method",
    async (origin) => {
      for (const method of ["GET", "POST", "OPTIONS"]) {
        const response = await fetch(`${server.url}/execute`, {
          method,
          headers: { origin },
          ...(method === "POST" && { body: EXECUTE }),
        });
        expect([method, response.status]).toEqual([method, 403]);
        expect(response.headers.get("access-control-allow-origin")).toBeNull();
      }
    },
  );

  it("lets pages of the server's own origin in", async () => {
    const response = await fetch(`${server.url}/health`, { headers: { origin: server.url } });
    expect(response.status).toBe(200);
  });

  it("takes the Host that counts from the header, whatever the request line says", async () => {
    const line = "GET http://localhost/health HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n";
    expect(statusOf(await rawExchange(server.port, line))).toBe(403);
  });
});

describe("D06: names", () => {
  const names = [
    "__proto__",
    "constructor",
    "prototype",
    "",
    "x".repeat(10_240),
    "a\nb",
    "a\0b",
    "wörker",
    "w\u202e1",
    "\ud800",
  ];

  it("refuses them as worker, resource and tool, on every path, and is not polluted", async () => {
    for (const name of names) {
      const answers = await Promise.all([
        server.post("/execute", { worker_id: name, action: "probe:echo" }),
        server.post("/execute", { worker_id: "w1", action: name }),
        server.post("/execute/batch", { worker_id: name, actions: [] }),
        server.post("/api/v1/lifecycle/heartbeat", { worker_id: name }),
        server.post("/api/v1/lifecycle/status", { worker_id: name }),
        server.post("/api/v1/worker/disconnect", { worker_id: name }),
        server.post("/api/v1/session/create", { worker_id: name, resource_type: "counter" }),
        server.post("/api/v1/session/create", { worker_id: "w1", resource_type: name }),
        server.post("/api/v1/session/destroy", { worker_id: "w1", resource_type: name }),
        server.post("/api/v1/session/list", { worker_id: name }),
        server.post("/api/v1/session/refresh", { worker_id: "w1", resource_type: name }),
        server.post("/api/v1/init/resource", { worker_id: "w1", resource_type: name }),
      ]);
      expect([name.slice(0, 20), answers.map(({ status }) => status)]).toEqual([
        name.slice(0, 20),
        answers.map(() => 400),
      ]);
      for (const { body } of answers) expect(JSON.stringify(body).length).toBeLessThan(2_000);
    }
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
    expect((await server.get("/ready")).body).toMatchObject({ active_workers: 0, total_sessions: 0 });
  });

  it("takes any printable ASCII otherwise", async () => {
    const worker_id = ' a"b\\c/../d;$(e)%00<f>{g} ';
    const { status, body } = await server.post("/execute", { worker_id, action: "counter:get" });
    expect([status, body.data.worker_id]).toEqual([200, worker_id]);
    expect(body.data.session_id).toMatch(/^counter_[A-Za-z0-9_-]+_[0-9a-f]{32}$/);
  });
});

describe("D10: a call that breaks the tool's schema", () => {
  it("is refused before any session is made", async () => {
    const counter = new CounterBackend();
    await using fresh = await testServer({ backends: [counter] });
    const answers = [
      await fresh.execute("counter:incr", { by: "1" }),
      await fresh.execute("counter:hold", {}),
      await fresh.execute("counter:nothing"),
      await fresh.execute("counter:hold", { gate: null }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([400, 400, 400, 400]);
    expect(answers.map(({ body }) => body.code)).toEqual([4004, 4003, 4002, 4004]);
    expect([counter.warmups, counter.initialized.length]).toEqual([0, 0]);
  });

  it("is answered in a few lines, however much is wrong", async () => {
    const params = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`unknown_${index}`, index]));
    const { status, body } = await server.execute("probe:plot", { x: 1, ...params });
    expect(status).toBe(400);
    expect(JSON.stringify(body).length).toBeLessThan(5_000);
    expect(body.message).toContain('unknown "unknown_0", "unknown_1", "unknown_2" and 19997 more');
    const actions = Array.from({ length: 20_000 }, () => ({ action: 1 }));
    const batch = await server.post("/execute/batch", { worker_id: "w1", actions });
    expect([batch.status, JSON.stringify(batch.body).length < 5_000]).toEqual([422, true]);
  });
});

describe("a request that is none", () => {
  it.each([
    ["big headers", `GET /health HTTP/1.1\r\nHost: localhost\r\nX-Big: ${"x".repeat(20_000)}\r\n\r\n`, 431],
    [
      "two lengths",
      "POST /execute HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
      400,
    ],
    [
      "a length and an encoding (D08)",
      "POST /execute HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      400,
    ],
    ["a space before the colon", "GET /health HTTP/1.1\r\nHost : localhost\r\n\r\n", 400],
    ["a bare line feed in a header", "GET /health HTTP/1.1\r\nHost: localhost\r\nX: a\nb\r\n\r\n", 400],
    ["a wrong chunk", "POST /execute HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400],
    ["no HTTP", "\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", 400],
  ])("with %s is refused", async (_name, request, status) => {
    expect(statusOf(await rawExchange(server.port, request))).toBe(status);
    expect((await server.get("/health")).status).toBe(200);
  });

  it.each([
    "//evil.example/health",
    "/api/v1/tools/%ZZ/schema",
    "/api/v1/tools?include_hidden=%ZZ",
    "/%2e%2e/%2e%2e/etc/passwd",
    "*",
  ])("with the path %s gets a typed answer", async (path) => {
    const answer = await rawExchange(
      server.port,
      `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
    );
    expect([400, 404, 422]).toContain(statusOf(answer));
    expect(JSON.parse(answer.slice(answer.indexOf("\r\n\r\n")))).toMatchObject({
      message: expect.any(String),
    });
  });

  it("with a port that is none in its Host gets a typed answer on every path", async () => {
    for (const path of ["/api/v1/tools?x=1", "/nothing"]) {
      const answer = await rawExchange(
        server.port,
        `GET ${path} HTTP/1.1\r\nHost: localhost:99999\r\nConnection: close\r\n\r\n`,
      );
      expect([path, statusOf(answer)]).toEqual([path, 400]);
      expect(JSON.parse(answer.slice(answer.indexOf("\r\n\r\n")))).toMatchObject({
        meta: { error: "invalid_request" },
      });
    }
  });
});
