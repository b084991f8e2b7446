import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { CounterBackend } from "../kit/counter-backend.ts";
import { ScriptedBackend } from "../kit/scripted-backend.ts";
import { testServer } from "../kit/test-server.ts";

const HAND_PARSED = [
  "/api/v1/lifecycle/heartbeat",
  "/api/v1/lifecycle/status",
  "/api/v1/session/create",
  "/api/v1/session/destroy",
  "/api/v1/session/list",
  "/api/v1/session/refresh",
];

async function configFolder(files: Readonly<Record<string, string>>) {
  const folder = await mkdtemp(join(tmpdir(), "toolyard-config-"));
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  return { folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
}

describe("known defects of the HTTP door", () => {
  it("D15: a body above the limit is refused with 413, declared or not, and the limit is named", async () => {
    await using server = await testServer({ backends: [new ScriptedBackend()], http: { bodyBytes: 1_000 } });
    const declared = await server.execute("probe:echo", { text: "x".repeat(1_000) });
    expect(declared.status).toBe(413);
    expect(declared.body.message).toContain("limits.body_bytes");
    expect(declared.body).toMatchObject({ code: 4130, data: { limit: "body_bytes", maximum: 1_000 } });
    const streamed = await fetch(`${server.url}/execute`, {
      method: "POST",
      body: new Blob(["x".repeat(2_000)]).stream(),
      duplex: "half",
    });
    expect(streamed.status).toBe(413);
    expect((await server.execute("probe:echo")).status).toBe(200);
  });

  it("D15: a client that reads no answer before its whole body is sent, as Python's, is told of a limit, too", async () => {
    await using server = await testServer({ http: { bodyBytes: 16 * 1024 * 1024 } });
    const body = Buffer.alloc(28 * 1024 * 1024, "x");
    const chunked = Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from("\r\n0\r\n\r\n")]);
    for (const [header, bytes] of [
      [`Content-Length: ${body.length}`, body],
      ["Transfer-Encoding: chunked", chunked],
    ] as const) {
      const socket = connect(server.port, "127.0.0.1").pause();
      const answer = new Promise<string>((resolve, reject) => {
        socket.on("error", reject).on("data", (data) => resolve(data.toString()));
      });
      socket.write(`POST /execute HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${header}\r\n\r\n`);
      socket.write(bytes, () => socket.resume());
      expect(await answer).toMatch(/^HTTP\/1.1 413 /);
      socket.destroy();
    }
  });

  it("D15: a result above the limit is a typed error, and the limit is named", async () => {
    const probe = new ScriptedBackend({ script: () => "x".repeat(2_000) });
    await using server = await testServer({ backends: [probe], limits: { resultBytes: 1_000 } });
    const { status, body } = await server.execute("probe:probe");
    expect(status).toBe(500);
    expect(body).toMatchObject({ code: 5014, data: { limit: "result_bytes" }, meta: { outcome: "limit" } });
  });

  it("D18: a foreign origin is refused, not reflected; a listed one is let in by name", async () => {
    await using server = await testServer({ allowedOrigins: ["https://app.example"] });
    const foreign = await fetch(`${server.url}/health`, { headers: { origin: "https://evil.example" } });
    expect(foreign.status).toBe(403);
    expect(foreign.headers.get("access-control-allow-origin")).toBeNull();
    const listed = await fetch(`${server.url}/health`, { headers: { origin: "https://app.example" } });
    expect(listed.status).toBe(200);
    expect(listed.headers.get("access-control-allow-origin")).toBe("https://app.example");
    expect(listed.headers.get("access-control-allow-credentials")).toBeNull();
  });

  it("D19: init/from-config reads JSON inside the config folder only, with secrets masked", async () => {
    const secret = "sk-live-1";
    const ours = JSON.stringify({
      server: { port: 1 },
      apis: { search: { api_key: secret, base_url: "${URL}", nested: { password: secret } } },
    });
    await using inside = await configFolder({ "ours.json": ours, "notes.txt": "{}", "list.json": "[]" });
    await using outside = await configFolder({ "theirs.json": '{"key": "value"}' });
    await symlink(join(outside.folder, "theirs.json"), join(inside.folder, "link.json"));
    await using server = await testServer({ configDir: inside.folder });
    const read = (config_path: string, override_params: object = {}) =>
      server.post("/api/v1/init/from-config", { worker_id: "w1", config_path, override_params });

    const { status, body } = await read("ours.json", { server: { port: 2 }, unknown: 1 });
    expect(status).toBe(200);
    expect(body.data.config.server).toEqual({ port: 2 });
    expect(body.data.config).not.toHaveProperty("unknown");
    expect(body.data.config.apis.search.base_url).toBe("${URL}");
    expect(JSON.stringify(body)).not.toContain(secret);

    const refusals = await Promise.all(
      [
        join(outside.folder, "theirs.json"),
        "../theirs.json",
        "/etc/passwd",
        "link.json",
        "notes.txt",
        "list.json",
        "none.json",
        "ours.json\0.txt",
        ".",
        "",
      ].map((path) => read(path)),
    );
    expect(new Set(refusals.map((answer) => answer.status))).toEqual(new Set([404]));
    expect(new Set(refusals.map((answer) => answer.body.message)).size).toBe(1);
    expect(refusals[0]?.body.code).toBe(4002);
  });

  it("D21: D09: an error's text, stack and paths stay in the log, whichever hook or tool threw it", async () => {
    const secret = "hunter2 at /srv/keys.pem";
    const fail = async () => {
      throw new Error(secret);
    };
    const [tool, init, cleanup, warmup] = [
      new ScriptedBackend({ script: fail }),
      new CounterBackend({ resource: "init" }),
      new CounterBackend({ resource: "cleanup" }),
      new CounterBackend({ resource: "warmup" }),
    ];
    init.onInitialize = fail;
    cleanup.onCleanup = fail;
    warmup.onWarmup = fail;
    await using server = await testServer({ backends: [tool, init, cleanup, warmup] });
    const session = { worker_id: "w1", resource_type: "init" };
    const answers = await Promise.all([
      server.execute("probe:probe"),
      server.execute("init:incr"),
      server.execute("cleanup:incr"),
      server.execute("warmup:incr"),
      server.post("/execute/batch", { worker_id: "w1", actions: [{ action: "probe:probe" }] }),
      server.post("/api/v1/session/create", session),
      server.post("/api/v1/init/resource", session),
      server.post("/api/v1/init/batch", { worker_id: "w1", resource_configs: { init: {}, warmup: {} } }),
      server.post("/api/v1/warmup", {}),
    ]);
    for (const { body } of [...answers, await server.get("/ready")]) {
      const text = JSON.stringify(body);
      expect(text).not.toMatch(/hunter2|keys\.pem|\.ts:|node:|at async/);
    }
    const logged = server.logger.lines.filter((line) => String(line.facts["err"]).includes("hunter2"));
    expect(logged.length).toBeGreaterThan(0);
  });

  it("D09: an unexpected error has one code and an id that finds it in the log, by whichever way it was called", async () => {
    const secret = "hunter2 at /srv/keys.pem";
    const backend = new ScriptedBackend({
      sessions: true,
      concurrency: "parallel",
      script: async () => {
        throw Object.assign(new Error(secret), { details: { secret }, suggestion: secret, cause: new Error(secret) });
      },
    });
    await using server = await testServer({ backends: [backend] });
    const call = { worker_id: "w1", action: "probe:probe" };
    const streamed = await fetch(`${server.url}/execute`, {
      method: "POST",
      body: JSON.stringify({ ...call, stream: true }),
    });
    const stream = await streamed.text();
    const job = (await server.execute("probe:probe", {}, { async_mode: true })).body.data.job_id;
    const seen = [
      (await server.execute("probe:probe")).body,
      (await server.execute("probe:probe", {}, { request_id: "k" })).body,
      (await server.execute("probe:probe", {}, { request_id: "k" })).body,
      (await server.post("/execute/batch", { worker_id: "w1", actions: [call] })).body.data.results[0],
      (await server.get(`/api/v1/jobs/${job}/wait`)).body.data.result,
      JSON.parse(stream.split("event: result\ndata: ")[1] ?? ""),
    ];
    const failed = () => server.logger.lines.filter(({ message }) => message === "a tool failed unexpectedly");
    for (const { code, data, message, meta } of seen) {
      expect([code, data, message]).toEqual([5005, null, "probe:probe failed unexpectedly"]);
      expect(meta).toMatchObject({ error: "unexpected_error", outcome: "tool_error" });
      expect(meta.suggestion).toContain(meta.trace_id);
      expect(failed().filter(({ facts }) => facts["trace_id"] === meta.trace_id)).toHaveLength(1);
    }
    expect(failed()).toHaveLength(5);
    const told = async () => JSON.stringify((await server.get("/api/v1/events?format=json&after=0&limit=1000")).body);
    await expect.poll(async () => (await told()).match(/"type":"call.failed"/g)?.length).toBe(5);
    for (const text of [stream, JSON.stringify(seen), await told()]) {
      expect(text).not.toMatch(/hunter2|keys\.pem|\.ts:|node:|at async/);
    }
  });

  it("D28: malformed JSON and a wrong body are typed answers on every hand-parsed path", async () => {
    await using server = await testServer();
    for (const path of HAND_PARSED) {
      for (const body of ['{"worker_id": ', "[]", "null", "{}", '{"worker_id": 7}']) {
        const answer = await server.post(path, body);
        expect([path, answer.status, answer.body.code]).toEqual([path, 400, 4002]);
        expect(answer.body.meta.error).toBe("invalid_request");
      }
    }
  });

  it("D28: a shutdown, a warmup and an init that fail are JSON too", async () => {
    await using server = await testServer();
    for (const path of ["/api/v1/server/shutdown", "/api/v1/warmup", "/api/v1/init/resource"]) {
      const answer = await server.post(path, '{"force": ');
      expect([path, answer.status, answer.body.code]).toEqual([path, 400, 4002]);
    }
  });

  it("D30: an action is found by maps, so hostile names cost no more than known ones", async () => {
    await using server = await testServer({ backends: [new ScriptedBackend()] });
    const { status, body } = await server.execute("probe:ecko");
    expect(status).toBe(400);
    expect(body.data).toEqual({ action: "probe:ecko", suggestions: ["probe:echo"] });
  });

  it("D31: tools, parameters and the API are described for machines", async () => {
    await using server = await testServer({ backends: [new ScriptedBackend()] });
    const { body } = await server.get("/api/v1/tools/plot/schema");
    expect(body["parameters"]).toMatchObject({
      type: "object",
      properties: { x: { type: "integer" } },
      required: ["x"],
      additionalProperties: false,
    });
    expect((await server.get("/openapi.json")).body["components"].schemas["probe.plot.params"]).toMatchObject({
      title: "probe:plot",
    });
  });
});
