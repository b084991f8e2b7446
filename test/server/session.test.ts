import { describe, expect, it } from "vitest";
import { CounterBackend } from "../kit/counter-backend.ts";
import { ManualClock } from "../kit/manual-clock.ts";
import { ScriptedBackend } from "../kit/scripted-backend.ts";
import { testServer, type TestServer } from "../kit/test-server.ts";

const session = (more: object = {}) => ({ worker_id: "w1", resource_type: "counter", ...more });
const START = "2026-01-01T00:00:00.000Z";
const ENDS = "2026-01-01T00:05:00.000Z";

describe("POST /api/v1/session/create", () => {
  it("makes a session and tells its id, name and expiry", async () => {
    await using server = await testServer({ backends: [new CounterBackend()], clock: new ManualClock() });
    const { status, body } = await server.post("/api/v1/session/create", session({ custom_name: "mine" }));
    expect(status).toBe(200);
    expect(body).toMatchObject({
      code: 0,
      data: {
        session_name: "counter_w1_001_mine",
        resource_type: "counter",
        session_status: "active",
        error: null,
        config_applied: true,
        expires_at: ENDS,
      },
      meta: { tool: "session:create", resource_type: "counter", session_id: body.data.session_id, outcome: "ok" },
    });
    expect(body.data.session_id).toMatch(/^counter_w1_001_mine_[0-9a-f]{32}$/);
  });

  it("keeps an existing session and its config, and says so", async () => {
    await using server = await testServer({ backends: [new CounterBackend()] });
    const { body: first } = await server.post("/api/v1/session/create", session({ session_config: { start: 1 } }));
    const { body: second } = await server.post("/api/v1/session/create", session({ session_config: { start: 2 } }));
    expect(second.data).toMatchObject({
      status: "exists",
      session_id: first.data.session_id,
      session_name: first.data.session_name,
      config_applied: false,
    });
    expect((await server.execute("counter:get")).body.data.value).toBe(1);
    // Sent again, as by a client that lost the answer: what it asks for is in force.
    const { body: again } = await server.post("/api/v1/session/create", session({ session_config: { start: 1 } }));
    expect(again.data).toMatchObject({ status: "exists", session_id: first.data.session_id, config_applied: true });
  });

  it("says of an existing session whether it has the name, ttl and project that are asked for, too", async () => {
    await using server = await testServer({ backends: [new CounterBackend()] });
    const own = { custom_name: "mine", ttl: 600, auto_extend: false, project: "p1" };
    const applied = async (more: object) =>
      (await server.post("/api/v1/session/create", session(more))).body.data.config_applied;
    expect(await applied(own)).toBe(true);
    for (const more of [{}, own, { ttl: 600 }, { custom_name: "mine" }])
      expect([more, await applied(more)]).toEqual([more, true]);
    for (const more of [{ ttl: 60 }, { custom_name: "other" }, { auto_extend: true }, { project: "p2" }]) {
      expect([more, await applied(more)]).toEqual([more, false]);
    }
  });

  it("takes a ttl in seconds, and auto_extend", async () => {
    const clock = new ManualClock();
    await using server = await testServer({ backends: [new CounterBackend()], clock });
    const { body } = await server.post("/api/v1/session/create", session({ ttl: 10, auto_extend: false }));
    expect(body.data.expires_at).toBe("2026-01-01T00:00:10.000Z");
    await clock.advance(9_000);
    await server.post("/api/v1/lifecycle/heartbeat", { worker_id: "w1" });
    await clock.advance(1_000);
    expect((await server.post("/api/v1/session/list", { worker_id: "w1" })).body.data.count).toBe(0);
  });

  it("makes a session where no backend keeps one, and says what that is worth", async () => {
    await using server = await testServer({ backends: [new CounterBackend(), new ScriptedBackend()] });
    const unknown = await server.post("/api/v1/session/create", session({ resource_type: "countre" }));
    expect(unknown.body.data).toMatchObject({
      session_status: "active",
      compatibility_mode: true,
      known_resource: false,
    });
    expect(unknown.body.data.compatibility_message).toContain("did you mean counter");
    const stateless = await server.post("/api/v1/session/create", session({ resource_type: "probe" }));
    expect(stateless.body.data).toMatchObject({ compatibility_mode: true, known_resource: true });
  });

  it("bounds a custom name before it is made part of the session's", async () => {
    await using server = await testServer({ backends: [new CounterBackend()] });
    const refused = await server.post("/api/v1/session/create", session({ custom_name: `a${"-".repeat(200_000)}a` }));
    expect(refused.status).toBe(400);
    const { body } = await server.post("/api/v1/session/create", session({ custom_name: "-_x y/ö".padEnd(60, "z") }));
    expect(body.data.session_name).toMatch(/^counter_w1_001_x-y--z{27}$/);
  });
});

describe("POST /api/v1/session/destroy", () => {
  it("ends the session after its cleanup, and answers 404 when there is none", async () => {
    const counter = new CounterBackend();
    await using server = await testServer({ backends: [counter] });
    const { body: created } = await server.post("/api/v1/session/create", session());
    const { status, body } = await server.post("/api/v1/session/destroy", session());
    expect(status).toBe(200);
    const { session_id, session_name } = created.data;
    expect(body.data).toEqual({ message: "Session destroyed", session_id, session_name, resource_type: "counter" });
    expect(body.meta.tool).toBe("session:destroy");
    expect(counter.cleaned).toHaveLength(1);
    const again = await server.post("/api/v1/session/destroy", session());
    expect([again.status, again.body.code]).toEqual([404, 4007]);
  });

  it("ends only the session that is named, when one is", async () => {
    await using server = await testServer({ backends: [new CounterBackend()] });
    const { body } = await server.post("/api/v1/session/create", session());
    const other = await server.post("/api/v1/session/destroy", session({ target_session_id: "counter_w1_001_0" }));
    expect([other.status, other.body.code]).toEqual([404, 4007]);
    const named = await server.post("/api/v1/session/destroy", session({ target_session_id: body.data.session_id }));
    expect(named.status).toBe(200);
  });

  it("cancels the session's running calls when forced", async () => {
    const counter = new CounterBackend();
    await using server = await testServer({ backends: [counter] });
    await server.post("/api/v1/session/create", session());
    const running = server.execute("counter:hold", { gate: "a" });
    await counter.gate("a").arrived();
    expect((await server.post("/api/v1/session/destroy", session({ force: true }))).status).toBe(200);
    expect(await running).toMatchObject({ status: 499, body: { code: 4990, meta: { outcome: "rejected" } } });
  });
});

describe("POST /api/v1/session/list", () => {
  it("lists a worker's live sessions, of one resource when asked", async () => {
    await using server = await testServer({
      backends: [new CounterBackend(), new CounterBackend({ resource: "other" })],
      clock: new ManualClock(),
    });
    const { body: created } = await server.post("/api/v1/session/create", session());
    await server.post("/api/v1/session/create", session({ resource_type: "other" }));
    await server.post("/api/v1/session/create", session({ worker_id: "w2" }));
    const all = await server.post("/api/v1/session/list", { worker_id: "w1" });
    expect(all.body.data).toMatchObject({ worker_id: "w1", count: 2 });
    expect(all.body.meta.tool).toBe("session:list");
    const { body } = await server.post("/api/v1/session/list", session());
    expect(body.data.sessions).toEqual([
      {
        resource_type: "counter",
        session_id: created.data.session_id,
        session_name: "counter_w1_001",
        status: "active",
        auto_created: false,
        created_at: START,
        last_activity: START,
        expires_at: ENDS,
      },
    ]);
  });

  it("shows a session that is being made, and one made for a call", async () => {
    const counter = new CounterBackend();
    await using server = await testServer({ backends: [counter] });
    const running = server.execute("counter:hold", { gate: "a" });
    await counter.gate("a").arrived();
    const { body } = await server.post("/api/v1/session/list", { worker_id: "w1" });
    expect(body.data.sessions).toMatchObject([{ auto_created: true, status: "active" }]);
    counter.gate("a").open();
    await running;
  });
});

describe("POST /api/v1/session/refresh", () => {
  it("lets one session, or all of a worker's, live longer", async () => {
    const clock = new ManualClock();
    await using server = await testServer({ backends: [new CounterBackend()], clock });
    const { body: created } = await server.post("/api/v1/session/create", session());
    const one = await server.post("/api/v1/session/refresh", session({ extend_ttl: 600 }));
    expect(one.body.data).toEqual({
      message: "Session refreshed",
      resource_type: "counter",
      session_id: created.data.session_id,
      expires_at: "2026-01-01T00:10:00.000Z",
    });
    const all = await server.post("/api/v1/session/refresh", { worker_id: "w1" });
    expect(all.body.data).toMatchObject({
      worker_id: "w1",
      refreshed_count: 1,
      details: { counter: { status: "refreshed", expires_at: ENDS } },
    });
    expect(all.body.meta.tool).toBe("session:refresh");
  });

  it("answers 404 for a session that is not there, or no more", async () => {
    const clock = new ManualClock();
    await using server = await testServer({ backends: [new CounterBackend()], clock });
    await server.post("/api/v1/session/create", session({ ttl: 1 }));
    await clock.advance(1_000);
    for (const more of [{}, { target_session_id: "counter_w1_001_0" }]) {
      const answer = await server.post("/api/v1/session/refresh", session(more));
      expect([answer.status, answer.body.code, answer.body.data]).toEqual([404, 4007, { resource_type: "counter" }]);
    }
    expect((await server.post("/api/v1/session/refresh", { worker_id: "w1" })).body.data.refreshed_count).toBe(0);
  });
});

describe.each(["destroy", "refresh"])("POST /api/v1/session/%s of a session that went by itself", (operation) => {
  const ask = (server: TestServer, id: string, more: object = {}) =>
    server.post(`/api/v1/session/${operation}`, session({ target_session_id: id, ...more }));

  it("says that it expired, to its worker alone", async () => {
    const clock = new ManualClock();
    await using server = await testServer({ backends: [new CounterBackend()], clock });
    const { body: created } = await server.post("/api/v1/session/create", session({ ttl: 1 }));
    await clock.advance(1_000);
    const { session_id } = created.data;
    expect(await ask(server, session_id)).toMatchObject({
      status: 404,
      body: { code: 4007, meta: { tool: `session:${operation}`, error: "session_expired", outcome: "rejected" } },
    });
    const other = await ask(server, session_id, { worker_id: "w2" });
    expect(other.body.meta.error).toBe("session_not_found");
  });

  it("says that it was lost, also when a new one is in its place", async () => {
    await using server = await testServer({ backends: [new CounterBackend()] });
    const { body: created } = await server.post("/api/v1/session/create", session());
    const { router } = server.engine;
    for (const record of router.list({ tenant: "default", workerId: "w1" })) router.lose(record);
    const lost = { status: 410, body: { code: 4009, meta: { error: "session_lost", outcome: "infra_error" } } };
    expect(await ask(server, created.data.session_id)).toMatchObject(lost);
    await server.post("/api/v1/session/create", session());
    expect(await ask(server, created.data.session_id)).toMatchObject(lost);
  });
});
