import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { UnsafeStartError } from "../../src/server/auth/security.ts";
import { createMemoryStore } from "../../src/store/memory/memory-store.ts";
import { runCli } from "../cli/cli-process.ts";
import { CounterBackend } from "../kit/counter-backend.ts";
import { Gate } from "../kit/gate.ts";
import { keyedServer, makeKeys } from "../kit/keyed-server.ts";
import { ManualClock } from "../kit/manual-clock.ts";
import { rawExchange } from "../kit/raw-http.ts";
import { type Script, ScriptedBackend } from "../kit/scripted-backend.ts";
import { type Answer, testServer } from "../kit/test-server.ts";

const PATHS = ["/health", "/api/v1/tools", "/api/v1/events", "/api/v1/jobs", "/nothing", "/execute"];

/** An answer without what is each answer's own: the trace, the time, and the id that was asked for. */
function comparable({ status, body }: Answer, id: string): string {
  const { trace_id: _, execution_time_ms: __, queued_ms: ___, ...meta } = body.meta;
  return JSON.stringify({ status, ...body, meta }).replaceAll(id, "ID");
}

describe("D01: names and origins of others", () => {
  it("D01: a foreign Host is refused on every path, also of streams, whatever key it brings", async () => {
    await using server = await keyedServer({ a: {} });
    for (const path of PATHS) {
      for (const host of ["evil.com", "localhost.evil.com", "127.0.0.1.evil.com", "10.0.0.5", "[::2]", ""]) {
        const answer = await rawExchange(
          server.port,
          `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nX-API-Key: ${server.holders.a.key}\r\nAccept: text/event-stream\r\nConnection: close\r\n\r\n`,
        );
        expect([path, host, answer.split("\r\n")[0]]).toEqual([path, host, "HTTP/1.1 403 Forbidden"]);
      }
    }
  });

  it("D01: a foreign Origin is refused on every path, also of streams and in a preflight, without CORS headers", async () => {
    await using server = await keyedServer({ a: {} }, { allowedOrigins: ["https://app.example"] });
    for (const path of PATHS) {
      for (const origin of ["http://evil", "null", "https://app.example.evil", "http://app.example"]) {
        for (const method of ["GET", "OPTIONS"]) {
          const headers = {
            origin,
            "x-api-key": server.holders.a.key,
            accept: "text/event-stream",
            "access-control-request-method": "POST",
          };
          const answer = await fetch(server.url + path, { method, headers });
          expect([path, origin, method, answer.status]).toEqual([path, origin, method, 403]);
          expect([...answer.headers.keys()].filter((name) => name.startsWith("access-control"))).toEqual([]);
        }
      }
    }
  });

  it("D01: a server on every address is called by any address, and by no name but its own", async () => {
    await using server = await keyedServer({ a: {} }, { host: "0.0.0.0", allowedHosts: ["tools.example"] });
    const ask = async (host: string) =>
      (await rawExchange(server.port, `GET /health HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)).slice(
        9,
        12,
      );
    expect(await ask("10.1.2.3:18890")).toBe("200");
    expect(await ask("[fd00::1]:18890")).toBe("200");
    expect(await ask("tools.example")).toBe("200");
    expect(await ask("evil.com")).toBe("403");
    expect(await ask("10.1.2.3.evil.com")).toBe("403");
  });
});

describe("D02: a server that would stand open", () => {
  const start = async (options: Parameters<typeof testServer>[0]) => {
    await using server = await testServer(options);
    return server.url;
  };

  it.each(["0.0.0.0", "::", "10.0.0.1", "example.com"])("D02: refuses to start on %s without a key", async (host) => {
    const refusal = expect(start({ host }));
    await refusal.rejects.toBeInstanceOf(UnsafeStartError);
    await expect(start({ host })).rejects.toThrow(/toolyard keys create.*security\.auth\.api_key/);
    await expect(start({ host })).rejects.not.toThrow("\n");
  });

  it("D02: refuses so also with keys that have expired, and where the config turns keys off", async () => {
    const clock = new ManualClock();
    const store = createMemoryStore();
    const { brief } = await makeKeys(store, { brief: { expiresInMs: 1_000 } }, clock);
    await expect(start({ host: "0.0.0.0", store, clock })).resolves.toMatch(/^http/);
    await expect(start({ host: "0.0.0.0", store, clock, security: { authRequired: false } })).rejects.toThrow(
      "enabled: false",
    );
    clock.skip(1_000);
    await expect(start({ host: "0.0.0.0", store, clock })).rejects.toBeInstanceOf(UnsafeStartError);
    // Nor does a server open up because its keys ran out.
    await expect(start({ store, clock })).rejects.toBeInstanceOf(UnsafeStartError);
    expect(brief.status).toBe("active");
  });

  it("D02: refuses so when keys are ordered and there is none, or every web page may call", async () => {
    await expect(start({ security: { authRequired: true } })).rejects.toBeInstanceOf(UnsafeStartError);
    await expect(start({ allowedOrigins: ["*"] })).rejects.toBeInstanceOf(UnsafeStartError);
  });

  it("D02: the command that starts it ends with 1 and one line, and never says that it listens", async () => {
    const args = ["serve", "--config", "configs/fixtures.json", "--port", "0", "--host", "0.0.0.0"];
    const { code, stdout, stderr } = await runCli(args);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(/^toolyard: it does not listen on 0\.0\.0\.0 without an API key: .*\n$/);
  });

  it("D02: one that runs there does not open up when its last key is revoked, and is not started again", async () => {
    await using server = await keyedServer({ only: {} }, { host: "0.0.0.0" });
    const { only } = server.holders;
    expect((await only.get("/ready")).status).toBe(200);
    expect((await only.post(`/api/v1/keys/${only.id}/revoke`, {})).status).toBe(200);
    expect([(await only.get("/ready")).status, (await server.get("/ready")).status]).toEqual([401, 401]);
    expect((await server.execute("counter:incr")).status).toBe(401);
    await server.stop();
    const { store } = server;
    await expect(start({ host: "0.0.0.0", store })).rejects.toBeInstanceOf(UnsafeStartError);
  });

  it("D02: starts there with a key of the config", async () => {
    await expect(start({ host: "0.0.0.0", security: { apiKey: "0123456789abcdef" } })).resolves.toMatch(/^http/);
  });
});

describe("D03: the sessions of another tenant", () => {
  const RESOURCE = "counter";
  const tenants = { a: { tenant: "acme" }, b: { tenant: "blue" } } as const;

  it("D03: no path tells a foreign session from one that is not there, and none touches it", async () => {
    const backend = new CounterBackend({ resource: RESOURCE });
    await using server = await keyedServer(tenants, { backends: [backend] });
    const { a, b } = server.holders;
    const whose = { worker_id: "w1", resource_type: RESOURCE };
    const created = await a.post("/api/v1/session/create", whose);
    const foreign: string = created.body.data.session_id;
    const unknown = foreign.slice(0, -32) + randomUUID().replaceAll("-", "");

    const attempts: readonly ((id: string) => Promise<Answer>)[] = [
      (id) => b.execute("counter:incr", {}, { session_id: id }),
      (id) => b.post("/api/v1/session/destroy", { ...whose, target_session_id: id }),
      (id) => b.post("/api/v1/session/destroy", { ...whose, target_session_id: id, force: true }),
      (id) => b.post("/api/v1/session/refresh", { ...whose, target_session_id: id }),
      (id) => b.execute("counter:incr", {}, { session_id: id, async_mode: false, request_id: `r-${id.slice(-4)}` }),
    ];
    for (const attempt of attempts) {
      const [theirs, nobodys] = [await attempt(foreign), await attempt(unknown)];
      expect(theirs.status).toBe(404);
      expect(comparable(theirs, foreign)).toBe(comparable(nobodys, unknown));
    }
    // By worker id alone, the same name is another worker.
    expect((await b.post("/api/v1/session/list", { worker_id: "w1" })).body.data.sessions).toEqual([]);
    expect((await b.post("/api/v1/lifecycle/status", { worker_id: "w1" })).body.data.sessions).toEqual({});
    expect((await b.post("/api/v1/lifecycle/heartbeat", { worker_id: "w1" })).body.data.active_sessions).toEqual([]);
    expect((await b.post("/api/v1/worker/disconnect", { worker_id: "w1" })).body.data.sessions_cleaned).toBe(0);
    expect((await b.post("/api/v1/session/destroy", whose)).status).toBe(404);
    await b.post("/api/v1/session/create", whose);
    await b.execute("counter:incr", { by: 40 });

    expect((await a.execute("counter:incr", {}, { session_id: foreign })).body.data).toMatchObject({ value: 1 });
    expect(backend.cleaned.map((session) => session.id)).not.toContain(foreign);
  });

  it("D03: a foreign session in a batch fails its item alone, as an unknown one", async () => {
    await using server = await keyedServer(tenants, { backends: [new CounterBackend()] });
    const { a, b } = server.holders;
    const created = await a.post("/api/v1/session/create", { worker_id: "w1", resource_type: RESOURCE });
    const item = { action: "counter:incr", session_id: created.body.data.session_id };
    const { body } = await b.post("/execute/batch", { worker_id: "w1", actions: [item] });
    expect(body.data.results[0].meta.error).toBe("session_not_found");
  });

  it("D03: a foreign job is not there, running or over, and nobody but its tenant ends it", async () => {
    const backend = new CounterBackend();
    await using server = await keyedServer(tenants, { backends: [backend] });
    const { a, b } = server.holders;
    const job = await a.execute("counter:hold", { gate: "a" }, { async_mode: true });
    const foreign: string = job.body.data.job_id;
    const unknown = foreign.slice(0, -8) + randomUUID().slice(0, 8);
    await backend.gate("a").arrived();
    const attempts: readonly ((id: string) => Promise<Answer>)[] = [
      (id) => b.get(`/api/v1/jobs/${id}`),
      // Answered at once, though the job has not ended.
      (id) => b.get(`/api/v1/jobs/${id}/wait?timeout_ms=600000`),
      (id) => b.post(`/api/v1/jobs/${id}/cancel`, {}),
    ];
    const tryAll = async () => {
      for (const attempt of attempts) {
        const [theirs, nobodys] = [await attempt(foreign), await attempt(unknown)];
        expect(theirs.status).toBe(404);
        expect(comparable(theirs, foreign)).toBe(comparable(nobodys, unknown));
      }
      expect((await b.get("/api/v1/jobs")).body.data.jobs).toEqual([]);
    };
    await tryAll();
    expect((await a.get(`/api/v1/jobs/${foreign}`)).body.data.state).toBe("running");
    backend.gate("a").open();
    const { body } = await a.get(`/api/v1/jobs/${foreign}/wait`);
    expect(body.data).toMatchObject({ state: "completed", result: { data: { alive: true } } });
    await tryAll();
  });

  it("D03: a foreign call's stream is not there, running or over, and nobody but its tenant ends it", async () => {
    const backend = new CounterBackend();
    await using server = await keyedServer(tenants, { backends: [backend] });
    const { a, b } = server.holders;
    const call = { worker_id: "w1", action: "counter:hold", params: { gate: "a" }, stream: true };
    const headers = { "x-api-key": a.key };
    const streamed = await fetch(`${server.url}/execute`, { method: "POST", body: JSON.stringify(call), headers });
    const foreign = streamed.headers.get("toolyard-call-id") ?? "";
    expect(foreign).toMatch(/^[0-9a-f-]{36}$/);
    const unknown = randomUUID();
    await backend.gate("a").arrived();
    const ticket = async () => (await b.post("/api/v1/tickets", { purpose: "call" })).body.data.ticket;
    const attempts: readonly ((id: string) => Promise<Answer>)[] = [
      (id) => b.get(`/api/v1/calls/${id}/stream`),
      (id) => b.get(`/api/v1/calls/${id}/stream?after=${id}:1`),
      async (id) => server.get(`/api/v1/calls/${id}/stream?ticket=${await ticket()}`),
      (id) => b.post(`/api/v1/calls/${id}/cancel`, {}),
    ];
    const tryAll = async () => {
      for (const attempt of attempts) {
        const [theirs, nobodys] = [await attempt(foreign), await attempt(unknown)];
        expect(theirs.status).toBe(404);
        expect(comparable(theirs, foreign)).toBe(comparable(nobodys, unknown));
      }
    };
    await tryAll();
    backend.gate("a").open();
    expect(await streamed.text()).toContain('"alive":true');
    await tryAll();
  });

  it("D03: a foreign event to resume after is as unknown as one that never was, by header and by query", async () => {
    await using server = await keyedServer(tenants, { backends: [new CounterBackend()] });
    const { a, b } = server.holders;
    await a.execute("counter:incr");
    await b.execute("counter:incr");
    const page = async (holder: typeof a) =>
      (await holder.get("/api/v1/events?format=json&after=0")).body.data.events as readonly { id: string }[];
    await expect.poll(async () => (await page(a)).length).toBeGreaterThan(0);
    await expect.poll(async () => (await page(b)).length).toBeGreaterThan(0);
    const [foreign] = await page(a);
    const ask = async (id = "") => {
      const byQuery = await b.get(`/api/v1/events?after=${id}`);
      const byPage = await b.get(`/api/v1/events?format=json&after=${id}`);
      const headers = { "x-api-key": b.key, "last-event-id": id };
      const byHeader = await fetch(`${server.url}/api/v1/events`, { headers });
      return [byQuery, byPage, { ...byQuery, status: byHeader.status, body: JSON.parse(await byHeader.text()) }];
    };
    const [theirs, nobodys] = [await ask(foreign?.id), await ask("e_999999")];
    expect(theirs.map(({ status }) => status)).toEqual([404, 404, 404]);
    expect(theirs.map((answer) => comparable(answer, `${foreign?.id}`))).toEqual(
      nobodys.map((answer) => comparable(answer, "e_999999")),
    );
  });

  it("D03: an idempotency key is each tenant's own, while its call runs and once it is over", async () => {
    const begun: string[] = [];
    const gate = new Gate();
    const script: Script = async (_, { tenant }) => {
      begun.push(tenant);
      gate.arrive();
      await gate.passed;
      return { tenant };
    };
    const backend = new ScriptedBackend({ concurrency: "parallel", script });
    await using server = await keyedServer(tenants, { backends: [backend] });
    const { a, b } = server.holders;
    const send = (holder: typeof a) => holder.execute("probe:probe", {}, { request_id: "the-same-key" });
    const running = [send(a), send(b)];
    await gate.arrived(2);
    gate.open();
    const [first, other] = await Promise.all(running);
    expect([first?.body.data, other?.body.data]).toEqual([{ tenant: "acme" }, { tenant: "blue" }]);
    expect([(await send(a)).body, (await send(b)).body]).toEqual([first?.body, other?.body]);
    expect(begun.toSorted()).toEqual(["acme", "blue"]);
  });

  it("D03: who named a foreign session is in the audit trail, once for a flood of it", async () => {
    const clock = new ManualClock();
    await using server = await keyedServer({ ...tenants, admin: {} }, { backends: [new CounterBackend()], clock });
    const { a, b, admin } = server.holders;
    const created = await a.post("/api/v1/session/create", { worker_id: "w1", resource_type: RESOURCE });
    const id: string = created.body.data.session_id;
    for (let time = 0; time < 20; time += 1) await b.execute("counter:incr", {}, { session_id: id });
    await b.execute("counter:incr", {}, { session_id: `${id}x` });
    const crossings = async () => {
      const { entries } = (await admin.get("/api/v1/audit")).body.data;
      return entries.filter((entry: { action: string }) => entry.action === "tenant.crossing");
    };
    const facts = { tenant: "blue", key_id: b.id, outcome: "refused" };
    expect(await crossings()).toMatchObject([{ ...facts, data: { id, owner: "acme", operation: "execute" } }]);
    await clock.advance(60_000);
    expect(await crossings()).toMatchObject([{ ...facts, data: { repeated: 19 } }, facts]);
  });

  it("D03: who named a foreign job or streamed call is there too, and nobody for what nobody has", async () => {
    const backend = new CounterBackend();
    await using server = await keyedServer({ ...tenants, admin: {} }, { backends: [backend] });
    const { a, b, admin } = server.holders;
    const crossings = async () => {
      const { entries } = (await admin.get("/api/v1/audit")).body.data;
      return entries.filter((entry: { action: string }) => entry.action === "tenant.crossing");
    };
    const job = await a.execute("counter:hold", { gate: "a" }, { async_mode: true });
    await backend.gate("a").arrived();
    const body = JSON.stringify({ worker_id: "w1", action: "counter:incr", stream: true });
    const streamed = await fetch(`${server.url}/execute`, { method: "POST", body, headers: { "x-api-key": a.key } });
    await streamed.text();
    const callId = streamed.headers.get("toolyard-call-id");
    await b.get(`/api/v1/jobs/${job.body.data.job_id}x`);
    await b.get(`/api/v1/calls/${randomUUID()}/stream`);
    expect(await crossings()).toEqual([]);
    await b.post(`/api/v1/jobs/${job.body.data.job_id}/cancel`, {});
    const facts = { tenant: "blue", key_id: b.id, outcome: "refused" };
    const ofJob = { ...facts, data: { id: job.body.data.job_id, owner: "acme", operation: "job:cancel" } };
    expect(await crossings()).toMatchObject([ofJob]);
    // A minute's flood of one key is one entry; the next key's is its own.
    const again = (await admin.post("/api/v1/keys", { name: "again", tenant: "blue" })).body.data;
    const headers = { "x-api-key": again.key };
    expect((await fetch(`${server.url}/api/v1/calls/${callId}/stream`, { headers })).status).toBe(404);
    const ofCall = { ...facts, key_id: again.id, data: { id: callId, owner: "acme", operation: "call:stream" } };
    expect(await crossings()).toMatchObject([ofCall, ofJob]);
    backend.gate("a").open();
  });
});
