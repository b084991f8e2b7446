import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ScriptedBackend } from "../kit/scripted-backend.ts";
import { testServer, type TestServer } from "../kit/test-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await testServer({ backends: [new ScriptedBackend()] });
});
afterAll(() => server.stop({ force: true }));

const POSTS = [
  "/execute",
  "/execute/batch",
  "/api/v1/lifecycle/heartbeat",
  "/api/v1/lifecycle/status",
  "/api/v1/worker/disconnect",
  "/api/v1/session/create",
  "/api/v1/session/destroy",
  "/api/v1/session/list",
  "/api/v1/session/refresh",
  "/api/v1/init/resource",
  "/api/v1/init/batch",
  "/api/v1/init/from-config",
  "/api/v1/warmup",
];

const around = (params: string) => `{"worker_id":"w1","action":"probe:echo","params":${params}}`;

describe("D07: JSON abuse", () => {
  it("refuses 100 MB with 413, at once when it is declared", async () => {
    const { status, body } = await server.post("/execute", "x".repeat(100_000_000));
    expect([status, body.data]).toEqual([413, { limit: "body_bytes", maximum: 33_554_432 }]);
    expect((await server.get("/health")).status).toBe(200);
  });

  it("refuses a depth of 100,000, of arrays or objects, and names the limit", async () => {
    for (const [open, close] of [
      ["[", "]"],
      ['{"a":', "}"],
    ] as const) {
      const { status, body } = await server.post(
        "/execute",
        around(open.repeat(100_000) + "1" + close.repeat(100_000)),
      );
      expect([status, body.data]).toEqual([400, { limit: "body_depth", maximum: 100 }]);
    }
    const braces = await server.post("/execute", around(JSON.stringify({ text: '[{"\\'.repeat(1_000) })));
    expect(braces.status).toBe(200);
  });

  it("refuses a __proto__ key however it is written, and pollutes nothing", async () => {
    for (const key of ["__proto__", "\\u005f_proto__", "__pr\\u006fto__", "\\u005F\\u005Fproto\\u005f\\u005f"]) {
      for (const text of [around(`{"${key}":{"polluted":1}}`), `{"${key}":{"polluted":1},"worker_id":"w1"}`]) {
        const { status, body } = await server.post("/execute", text);
        expect([key, status, body.code]).toEqual([key, 400, 4002]);
      }
    }
    const { status, body } = await server.post("/execute", around('{"constructor":{"prototype":{"polluted":1}}}'));
    expect([status, body.data]).toEqual([200, { constructor: { prototype: { polluted: 1 } } }]);
    expect(Object.getPrototypeOf({})).not.toHaveProperty("polluted");
  });

  it("brings lone surrogates, escapes and the last of two equal keys through", async () => {
    const text = '{"high":"\\ud800","low":"\\udc00x","nul":"\\u0000","twice":1,"twice":2,"":"empty"}';
    const { status, body } = await server.post("/execute", around(text));
    expect([status, body.data]).toEqual([200, { high: "\ud800", low: "\udc00x", nul: "\0", twice: 2, "": "empty" }]);
  });

  it("says that a number past the doubles is no number, and refuses it where a number is asked for", async () => {
    const { body } = await server.post("/execute", around('{"huge":1e400}'));
    expect([body.data, body.meta.lossy]).toEqual([{ huge: null }, ["data.huge: Infinity"]]);
    const timeout = await server.post("/execute", '{"worker_id":"w1","action":"probe:echo","timeout":1e400}');
    expect(timeout.status).toBe(422);
    const ttl = '{"worker_id":"w1","resource_type":"x","ttl":1e400}';
    expect((await server.post("/api/v1/session/create", ttl)).status).toBe(400);
  });

  it("refuses what is not UTF-8, and what is cut off, and says where", async () => {
    const notUtf8 = await fetch(`${server.url}/execute`, {
      method: "POST",
      body: Buffer.concat([Buffer.from('{"worker_id":"w'), Buffer.from([0xc3, 0x28]), Buffer.from('"}')]),
    });
    expect([notUtf8.status, await notUtf8.json()]).toMatchObject([
      400,
      { code: 4002, message: "The body is not UTF-8" },
    ]);
    const whole = around('{"a":[1,"two",{"b":null}]}');
    for (let length = 1; length < whole.length; length += 1) {
      const { status, body } = await server.post("/execute", whole.slice(0, length));
      expect([length, status, body.code]).toEqual([length, 400, 4002]);
    }
    expect((await server.post("/execute", '{"worker_id": w1}')).body.message).toBe(
      "The body is not JSON: unexpected 'w'",
    );
    expect((await server.post("/execute", '{"worker_id": "w1",}')).body.message).toBe(
      "The body is not JSON: the fault is at position 19",
    );
    expect((await server.post("/execute", '{"worker_id":')).body.message).toBe(
      "The body is not JSON: it ends too early",
    );
    // The text around a fault may hold a secret, and is not sent back.
    expect((await server.post("/execute", "hunter2")).body.message).not.toContain("hunter2");
  });

  it("answers any text on any path with JSON, and stays healthy", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...POSTS),
        fc.oneof(
          fc.string({ unit: "binary" }),
          fc.json({ maxDepth: 5 }),
          fc.json().map((text) => text.slice(1)),
        ),
        async (path, text) => {
          const { status } = await server.post(path, text);
          expect(status).toBeLessThan(500);
        },
      ),
      { numRuns: 200 },
    );
    expect((await server.get("/health")).status).toBe(200);
  });

  it("answers any values in the right fields with JSON, and never as its own failure", async () => {
    const value = fc.oneof(fc.jsonValue({ maxDepth: 3 }), fc.constantFrom("w1", "probe", "probe:echo", "default.json"));
    const field = fc.constantFrom(
      "worker_id",
      "action",
      "actions",
      "params",
      "timeout",
      "timeout_ms",
      "session_id",
      "trace_id",
      "resource_type",
      "session_config",
      "custom_name",
      "ttl",
      "auto_extend",
      "target_session_id",
      "force",
      "extend_ttl",
      "init_config",
      "resource_configs",
      "config_path",
      "override_params",
      "backends",
    );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...POSTS), fc.dictionary(field, value), async (path, fields) => {
        const { status, body } = await server.post(path, { worker_id: "w1", ...fields });
        expect(body.meta?.error).not.toBe("internal_error");
        expect([200, 207, 400, 404, 413, 422]).toContain(status === 500 ? (body.code === 5009 ? 200 : 500) : status);
      }),
      { numRuns: 300 },
    );
    expect((await server.get("/health")).status).toBe(200);
  });
});
