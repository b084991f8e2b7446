import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { UnsafeStartError } from "../../src/server/auth/security.ts";
import { createMemoryStore } from "../../src/store/memory/memory-store.ts";
import { CounterBackend } from "../kit/counter-backend.ts";
import { keyedServer, makeKeys } from "../kit/keyed-server.ts";
import { ManualClock } from "../kit/manual-clock.ts";
import { rawExchange } from "../kit/raw-http.ts";
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

  it("D02: refuses so also with keys that are revoked or expired, and where the config turns keys off", async () => {
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

  it("D03: a foreign job is not there, and an idempotency key is each tenant's own", async () => {
    const backend = new CounterBackend();
    await using server = await keyedServer(tenants, { backends: [backend] });
    const { a, b } = server.holders;
    const job = await a.execute("counter:incr", {}, { async_mode: true });
    const foreign: string = job.body.data.job_id;
    const unknown = foreign.slice(0, -8) + randomUUID().slice(0, 8);
    for (const path of [(id: string) => `/api/v1/jobs/${id}`, (id: string) => `/api/v1/jobs/${id}/wait?timeout_ms=0`]) {
      const [theirs, nobodys] = [await b.get(path(foreign)), await b.get(path(unknown))];
      expect(theirs.status).toBe(404);
      expect(comparable(theirs, foreign)).toBe(comparable(nobodys, unknown));
    }
    const cancel = (id: string) => b.post(`/api/v1/jobs/${id}/cancel`, {});
    expect(comparable(await cancel(foreign), foreign)).toBe(comparable(await cancel(unknown), unknown));
    expect((await b.get("/api/v1/jobs")).body.data.jobs).toEqual([]);
    expect((await a.get(`/api/v1/jobs/${foreign}/wait`)).body.data.state).toBe("completed");

    const once = { request_id: "the-same-key" };
    const first = await a.execute("counter:incr", {}, once);
    const other = await b.execute("counter:incr", {}, once);
    expect(other.headers.get("idempotency-replayed")).toBeNull();
    expect(other.body.meta.trace_id).not.toBe(first.body.meta.trace_id);
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
});
