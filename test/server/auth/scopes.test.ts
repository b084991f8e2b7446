import { describe, expect, it } from "vitest";
import { isScope, Scopes, VERBS } from "../../../src/core/scopes.ts";
import { CounterBackend } from "../../kit/counter-backend.ts";
import { type KeyHolder, keyedServer } from "../../kit/keyed-server.ts";
import { ScriptedBackend } from "../../kit/scripted-backend.ts";

const W = { worker_id: "w1" };
const COUNTER = { ...W, resource_type: "counter" };

/** What a key asks for, and the scopes of which one lets it. */
const REQUESTS: readonly (readonly [string, (holder: KeyHolder) => Promise<{ status: number }>, readonly string[]])[] =
  [
    ["POST /execute", (key) => key.execute("counter:incr"), ["counter:execute"]],
    ["POST /execute, keyed", (key) => key.execute("counter:incr", {}, { request_id: "r1" }), ["counter:execute"]],
    ["POST /execute, a job", (key) => key.execute("counter:incr", {}, { async_mode: true }), ["counter:execute"]],
    ["POST session/create", (key) => key.post("/api/v1/session/create", COUNTER), ["counter:session"]],
    ["POST session/refresh", (key) => key.post("/api/v1/session/refresh", COUNTER), ["counter:session"]],
    ["POST session/destroy", (key) => key.post("/api/v1/session/destroy", COUNTER), ["counter:session"]],
    ["POST init/resource", (key) => key.post("/api/v1/init/resource", COUNTER), ["counter:session"]],
    [
      "POST init/batch",
      (key) => key.post("/api/v1/init/batch", { ...W, resource_configs: { counter: {} } }),
      ["counter:session"],
    ],
    ["POST warmup", (key) => key.post("/api/v1/warmup", { backends: ["counter"] }), ["counter:session"]],
    [
      "POST lifecycle/heartbeat",
      (key) => key.post("/api/v1/lifecycle/heartbeat", W),
      ["counter:session", "probe:session"],
    ],
    ["GET tools", (key) => key.get("/api/v1/tools"), ["counter:execute", "probe:read", "server:read"]],
    ["GET /ready", (key) => key.get("/ready"), ["counter:execute", "probe:read", "server:read"]],
    ["GET keys", (key) => key.get("/api/v1/keys"), ["server:admin"]],
    ["GET audit", (key) => key.get("/api/v1/audit"), ["server:admin"]],
    ["POST keys", (key) => key.post("/api/v1/keys", { name: "n" }), ["server:admin"]],
    [
      "POST init/from-config",
      (key) => key.post("/api/v1/init/from-config", { ...W, config_path: "default.json" }),
      ["server:read", "server:admin"],
    ],
  ];

const SCOPES = ["counter:execute", "counter:session", "probe:session", "probe:read", "server:read", "server:admin"];

describe("scopes", () => {
  it("let a key do what they say, and nothing else", async () => {
    const wanted = Object.fromEntries(SCOPES.map((scope) => [scope, { scopes: [scope] }]));
    await using server = await keyedServer<string>(
      { ...wanted, all: {} },
      { backends: [new CounterBackend(), new ScriptedBackend()] },
    );
    for (const [name, ask, lets] of REQUESTS) {
      for (const scope of SCOPES) {
        const isAnyKey = name.startsWith("GET tools") || name === "GET /ready";
        const allowed = isAnyKey || lets.includes(scope);
        // What is destroyed or refreshed must be there.
        await server.holders["all"]?.post("/api/v1/session/create", COUNTER);
        const holder = server.holders[scope];
        const status = holder === undefined ? 0 : (await ask(holder)).status;
        const expected = !allowed ? 403 : name === "POST /execute, a job" ? 202 : 200;
        expect([name, scope, status]).toEqual([name, scope, expected]);
      }
    }
  });

  it("name the scope that is missing", async () => {
    await using server = await keyedServer(
      { key: { scopes: ["probe:execute"] } },
      { backends: [new CounterBackend(), new ScriptedBackend()] },
    );
    const { status, body } = await server.holders.key.execute("counter:incr");
    expect(status).toBe(403);
    expect(body).toMatchObject({ code: 4030, data: { scope: "counter:execute" }, meta: { outcome: "rejected" } });
    const { body: batch } = await server.holders.key.post("/execute/batch", {
      ...W,
      stop_on_error: false,
      actions: [{ action: "counter:incr" }, { action: "probe:echo" }],
    });
    expect(batch.data.results.map((item: { code: number }) => item.code)).toEqual([4030, 0]);
  });

  it("name the narrow scope that is missing, also when the key can do nothing of the kind", async () => {
    await using server = await keyedServer({ key: { scopes: ["probe:read"] } }, { backends: [new CounterBackend()] });
    const { key } = server.holders;
    const { status, body } = await key.post("/api/v1/session/create", { ...W, resource_type: "counter" });
    expect([status, body.data.scope]).toEqual([403, "counter:session"]);
    expect(body.meta.suggestion).toBe("Use a key with the scope counter:session.");
    expect((await key.execute("counter:incr")).body.data).toEqual({ scope: "counter:execute" });
    const unsaid = await key.post("/api/v1/worker/disconnect", W);
    expect(unsaid.body.meta.suggestion).toBe(
      "Use a key with session on the resource that is meant, such as code:session.",
    );
  });

  it("hold for the calls that a tool makes, too", async () => {
    const script = async (_: object, { call }: { call: (action: string) => Promise<unknown> }) => call("counter:incr");
    const probe = new ScriptedBackend({
      script: (params, context) => script(params, { call: (a) => context.call(a) }),
    });
    await using server = await keyedServer(
      { narrow: { scopes: ["probe:execute"] }, wide: { scopes: ["*:execute"] } },
      { backends: [new CounterBackend(), probe] },
    );
    expect((await server.holders.narrow.execute("probe:probe")).body.data).toMatchObject({
      ok: false,
      error: { error: "forbidden" },
    });
    expect((await server.holders.wide.execute("probe:probe")).body.data).toMatchObject({ ok: true });
  });

  it("hide the sessions of other resources from lists, and keep them from a disconnect", async () => {
    const backends = [new CounterBackend(), new CounterBackend({ resource: "other" })];
    await using server = await keyedServer({ all: {}, one: { scopes: ["counter:session"] } }, { backends });
    const { all, one } = server.holders;
    for (const resource_type of ["counter", "other"]) await all.post("/api/v1/session/create", { ...W, resource_type });
    const list = async (holder: KeyHolder) => {
      const { sessions } = (await holder.post("/api/v1/session/list", W)).body.data;
      return sessions.map((session: { resource_type: string }) => session.resource_type).toSorted();
    };
    expect(await list(one)).toEqual(["counter"]);
    expect((await one.post("/api/v1/worker/disconnect", W)).body.data.sessions_cleaned).toBe(1);
    expect(await list(all)).toEqual(["other"]);
  });

  it("keep a stored answer and a job from a key that may not run its tool", async () => {
    const backends = [new CounterBackend(), new ScriptedBackend()];
    await using server = await keyedServer({ all: {}, probe: { scopes: ["probe:*"] } }, { backends });
    const { all, probe } = server.holders;
    await all.execute("counter:incr", {}, { request_id: "r1" });
    expect((await probe.execute("counter:incr", {}, { request_id: "r1" })).status).toBe(403);
    const job = (await all.execute("counter:incr", {}, { async_mode: true })).body.data.job_id;
    expect((await probe.get(`/api/v1/jobs/${job}`)).status).toBe(403);
    expect((await probe.get(`/api/v1/jobs/${job}/wait`)).status).toBe(403);
    expect((await probe.post(`/api/v1/jobs/${job}/cancel`, {})).status).toBe(403);
    expect((await probe.get("/api/v1/jobs")).body.data.count).toBe(0);
  });

  it("of another tenant than default never reach the server itself", async () => {
    await using server = await keyedServer({ foreign: { tenant: "acme", scopes: ["*", "*:admin"] }, admin: {} });
    const { foreign, admin } = server.holders;
    expect((await foreign.get("/api/v1/keys")).status).toBe(403);
    expect((await foreign.get("/api/v1/audit")).status).toBe(403);
    expect((await foreign.post("/api/v1/server/shutdown", {})).status).toBe(403);
    expect((await foreign.post(`/api/v1/keys/${admin.id}/revoke`, {})).status).toBe(403);
    expect((await admin.post("/api/v1/server/shutdown", {})).status).toBe(200);
    await server.stopped;
    const [last] = await server.store.audit.list({ limit: 1 });
    expect(last).toMatchObject({ action: "server.shutdown", keyId: admin.id, tenant: "default" });
  });
});

describe("Scopes", () => {
  it.each([
    ["*", [..."ab"], [...VERBS]],
    ["*:*", [..."ab"], [...VERBS]],
    ["a:*", ["a"], [...VERBS]],
    ["*:execute", [..."ab"], ["execute", "read"]],
    ["a:session", ["a"], ["session", "read"]],
    ["a:read", ["a"], ["read"]],
  ])("%s grants %j %j", (pattern, resources, verbs) => {
    const scopes = new Scopes([pattern]);
    for (const resource of ["a", "b"]) {
      for (const verb of VERBS) {
        const expected = resources.includes(resource) && verbs.includes(verb);
        expect([resource, verb, scopes.allows(verb, resource)]).toEqual([resource, verb, expected]);
      }
    }
    for (const verb of VERBS) expect(scopes.allowsSome(verb)).toBe(verbs.includes(verb));
  });

  it("take no pattern that is not one", () => {
    for (const wrong of [
      "",
      "a",
      ":",
      "a:",
      ":read",
      "a:b:c",
      "a:write",
      "a:READ",
      "**",
      "a:read ",
      "__proto__:x",
      "a b:read",
    ]) {
      expect([wrong, isScope(wrong)]).toEqual([wrong, false]);
      expect(new Scopes([wrong]).allows("read", "a")).toBe(false);
    }
  });
});
