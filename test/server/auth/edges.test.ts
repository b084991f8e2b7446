import { describe, expect, it } from "vitest";
import { TicketBox } from "../../../src/server/auth/ticket-box.ts";
import { TokenBuckets } from "../../../src/server/auth/token-buckets.ts";
import { ANYONE } from "../../../src/server/auth/identity.ts";
import { CounterBackend } from "../../kit/counter-backend.ts";
import { keyedServer } from "../../kit/keyed-server.ts";
import { ManualClock } from "../../kit/manual-clock.ts";
import { testServer } from "../../kit/test-server.ts";

describe("one-time tickets", () => {
  it("stand for their caller once, for 30 s, for one purpose", () => {
    const clock = new ManualClock();
    const box = new TicketBox(clock);
    const { ticket, expiresAt } = box.issue(ANYONE, "events");
    expect(Buffer.from(ticket, "base64url").length * 8).toBeGreaterThanOrEqual(128);
    expect(expiresAt.getTime() - clock.date().getTime()).toBe(30_000);
    expect(box.redeem(ticket, "events")).toBe(ANYONE);
    expect(() => box.redeem(ticket, "events")).toThrow("not valid");

    const other = box.issue(ANYONE, "session-1");
    expect(() => box.redeem(other.ticket, "events")).toThrow("not valid");
    expect(() => box.redeem(other.ticket, "session-1")).toThrow("not valid");

    const late = box.issue(ANYONE, "events");
    clock.skip(30_000);
    expect(() => box.redeem(late.ticket, "events")).toThrow("not valid");
    expect(() => box.redeem("", "events")).toThrow("not valid");
  });

  it("are bounded in number, and those that expired make room", () => {
    const clock = new ManualClock();
    const box = new TicketBox(clock);
    const issueAll = () => {
      for (let count = 0; count < 1_024; count += 1) box.issue(ANYONE, "events");
    };
    issueAll();
    expect(() => box.issue(ANYONE, "events")).toThrow("Too many tickets");
    clock.skip(30_000);
    issueAll();
    expect(box.size).toBe(1_024);
  });

  it("are issued over HTTP to who has a key, and go with it", async () => {
    await using server = await keyedServer({ a: {}, b: { tenant: "blue", scopes: ["code:read"] } });
    expect((await server.post("/api/v1/tickets", {})).status).toBe(401);
    const { body } = await server.holders.b.post("/api/v1/tickets", { purpose: "events" });
    expect(body.data).toMatchObject({ ticket: expect.any(String), purpose: "events", expires_at: expect.any(String) });
    // A path that is no stream takes none.
    expect((await fetch(`${server.url}/api/v1/tools?ticket=${body.data.ticket}`)).status).toBe(401);
    expect((await server.holders.a.post("/api/v1/tickets", { purpose: "" })).status).toBe(400);
  });
});

describe("event streams", () => {
  /** Opens a stream, and reads it to its end. */
  const open = async (url: string, headers: Record<string, string> = {}) => {
    const response = await fetch(url, { headers: { accept: "text/event-stream", ...headers } });
    return {
      response,
      ended: response.text().then(
        () => "ended",
        () => "cut off",
      ),
    };
  };

  it("open with a key, or once with a ticket of their purpose", async () => {
    await using server = await keyedServer({ a: { scopes: ["code:read"] }, b: { scopes: ["server:read"] } });
    const { a } = server.holders;
    const events = `${server.url}/api/v1/events`;
    const ticketFor = async (purpose: string) => (await a.post("/api/v1/tickets", { purpose })).body.data.ticket;
    const statusOf = async (url: string, headers?: Record<string, string>) => {
      const { response } = await open(url, headers);
      return response.status;
    };
    expect(await statusOf(events)).toBe(401);
    expect(await statusOf(events, { "x-api-key": a.key })).toBe(200);
    const ticket = await ticketFor("events");
    expect(await statusOf(`${events}?type=call.started&ticket=${ticket}`)).toBe(200);
    expect(await statusOf(`${events}?ticket=${ticket}`)).toBe(401);
    const other = await ticketFor("call");
    expect(await statusOf(`${events}?ticket=${other}`)).toBe(401);
    expect(await statusOf(`${events}?ticket=${other}`)).toBe(401);
    expect(await statusOf(`${events}?ticket=`)).toBe(401);
    expect(await statusOf(`${events}?ticket=${a.key}`)).toBe(401);
  });

  it("end with the key that opened them, revoked or expired", async () => {
    const clock = new ManualClock();
    await using server = await keyedServer({ admin: {}, a: {}, brief: { expiresInMs: 60_000 } }, { clock });
    const { admin, a, brief } = server.holders;
    const events = `${server.url}/api/v1/events`;
    const ticket = (await a.post("/api/v1/tickets", {})).body.data.ticket;
    const unused = (await a.post("/api/v1/tickets", {})).body.data.ticket;
    const byKey = await open(events, { "x-api-key": a.key });
    const byTicket = await open(`${events}?ticket=${ticket}`);
    const timed = await open(events, { "x-api-key": brief.key });
    expect([byKey, byTicket, timed].map(({ response }) => response.status)).toEqual([200, 200, 200]);
    await admin.post(`/api/v1/keys/${a.id}/revoke`, {});
    expect(await Promise.all([byKey.ended, byTicket.ended])).toEqual(["cut off", "cut off"]);
    expect((await open(`${events}?ticket=${unused}`)).response.status).toBe(401);
    await clock.advance(66_000);
    expect(await timed.ended).toBe("cut off");
  });

  it("D03: show each tenant its own events alone", async () => {
    const backends = [new CounterBackend()];
    await using server = await keyedServer({ a: { tenant: "acme" }, b: { tenant: "blue" } }, { backends });
    const { a, b } = server.holders;
    await a.execute("counter:incr");
    const page = async (holder: typeof a) => {
      const { body } = await holder.get("/api/v1/events?format=json&after=0");
      return body.data.events.map((event: { type: string }) => event.type);
    };
    await expect.poll(() => page(a)).toContain("call.completed");
    expect(await page(b)).toEqual([]);
  });
});

describe("rate limits", () => {
  it("refill token by token, and tell when there is one again", () => {
    const clock = new ManualClock();
    const buckets = new TokenBuckets({ requestsPerMinute: 60, burst: 2 }, clock);
    expect([buckets.take("a"), buckets.take("a"), buckets.take("a"), buckets.take("b")]).toEqual([0, 0, 1_000, 0]);
    clock.skip(500);
    expect(buckets.take("a")).toBe(500);
    clock.skip(500);
    expect([buckets.take("a"), buckets.take("a")]).toEqual([0, 1_000]);
    clock.skip(3_600_000);
    expect([buckets.take("a"), buckets.take("a"), buckets.take("a")]).toEqual([0, 0, 1_000]);
  });

  it("hold a bounded number of callers in mind", () => {
    const buckets = new TokenBuckets({ requestsPerMinute: 60, burst: 2 }, new ManualClock());
    for (let address = 0; address < 50_000; address += 1) buckets.take(`${address}`);
    expect(buckets.size).toBeLessThanOrEqual(10_000);
  });

  it("answer 429 with Retry-After and the limit's name, for each key by itself, and not for /health", async () => {
    const clock = new ManualClock();
    const security = { rateLimit: { requestsPerMinute: 30, burst: 3 } };
    await using server = await keyedServer({ a: {}, b: {} }, { clock, security, backends: [new CounterBackend()] });
    const { a, b } = server.holders;
    for (let call = 0; call < 3; call += 1) expect((await a.execute("counter:incr")).status).toBe(200);
    const refused = await a.execute("counter:incr");
    expect(refused.status).toBe(429);
    expect(refused.headers.get("retry-after")).toBe("2");
    expect(refused.body).toMatchObject({
      code: 4291,
      data: { limit: "requests_per_minute", maximum: 30, retry_after_ms: 2_000 },
      meta: { error: "rate_limited", outcome: "rejected", retryable: true },
    });
    expect((await b.get("/ready")).status).toBe(200);
    for (let call = 0; call < 10; call += 1) expect((await fetch(`${server.url}/health`)).status).toBe(200);
    clock.skip(2_000);
    expect((await a.execute("counter:incr")).status).toBe(200);
  });

  it("count by address where no key is asked for", async () => {
    const clock = new ManualClock();
    await using server = await testServer({ clock, security: { rateLimit: { requestsPerMinute: 60, burst: 2 } } });
    const statuses = [];
    for (let call = 0; call < 3; call += 1) statuses.push((await server.get("/ready")).status);
    expect(statuses).toEqual([200, 200, 429]);
  });
});

describe("the audit trail", () => {
  it("tells who made, rotated and revoked keys, and who was refused, newest first", async () => {
    const clock = new ManualClock();
    await using server = await keyedServer({ admin: {} }, { clock });
    const { admin } = server.holders;
    const made = (await admin.post("/api/v1/keys", { name: "n", tenant: "acme" })).body.data;
    const successor = (await admin.post(`/api/v1/keys/${made.id}/rotate`, { grace: 0 })).body.data;
    await admin.post(`/api/v1/keys/${successor.id}/revoke`, {});
    for (let attempt = 0; attempt < 50; attempt += 1) await server.get("/ready");
    await clock.advance(60_000);
    const { body } = await admin.get("/api/v1/audit?limit=6");
    const by = { key_id: admin.id, tenant: "default", outcome: "done" };
    expect(body.data.entries).toMatchObject([
      { action: "auth.failed", outcome: "refused", key_id: null, data: { repeated: 49 } },
      { action: "auth.failed", outcome: "refused", data: { reason: "This server asks for an API key" } },
      { action: "key.revoke", ...by, data: { id: successor.id } },
      { action: "key.rotate", ...by, data: { id: made.id, successor: successor.id, grace_ms: 0 } },
      { action: "key.create", ...by, data: { id: made.id, name: "n", tenant: "acme", scopes: ["*"] } },
      { action: "key.create", key_id: null, tenant: null },
    ]);
    expect((await admin.get("/api/v1/audit?limit=0")).status).toBe(400);
    expect((await admin.get("/api/v1/audit?limit=1")).body.data.count).toBe(1);
  });

  it("holds no key and no secret, nor does any log line or answer", async () => {
    await using server = await keyedServer({ admin: {} }, { backends: [new CounterBackend()] });
    const { admin } = server.holders;
    const made = (await admin.post("/api/v1/keys", { name: "n" })).body.data;
    const ticket = (await admin.post("/api/v1/tickets", {})).body.data.ticket;
    const wrong = `ty_${admin.id}_${"5e".repeat(20)}`;
    const texts: string[] = [];
    for (const headers of [
      { "x-api-key": wrong },
      { authorization: `Bearer ${wrong}` },
      { authorization: `Bearer ${made.key}` },
    ]) {
      for (const path of [`/ready?ticket=${ticket}`, `/api/v1/keys?api_key=${wrong}`, `/nothing/x?token=${made.key}`]) {
        texts.push(await (await fetch(server.url + path, { headers })).text());
      }
    }
    await admin.execute("counter:incr");
    texts.push(
      JSON.stringify((await admin.get("/api/v1/audit")).body),
      JSON.stringify((await admin.get("/api/v1/keys")).body),
    );
    texts.push(JSON.stringify(server.logger.lines));
    for (const secret of [...[admin.key, made.key, wrong].map((text) => text.split("_").at(-1) ?? ""), ticket]) {
      expect(secret.length).toBeGreaterThan(20);
      for (const text of texts) expect(text).not.toContain(secret);
    }
  });
});

describe("CORS", () => {
  const origin = "https://app.example";
  const preflight = { origin, "access-control-request-method": "POST", "access-control-request-headers": "x-api-key" };

  it("answers a preflight without a key, and lets the page read what it needs", async () => {
    await using server = await keyedServer({ a: {} }, { allowedOrigins: [origin] });
    const asked = await fetch(`${server.url}/execute`, { method: "OPTIONS", headers: preflight });
    expect(asked.status).toBe(204);
    expect(asked.headers.get("access-control-allow-origin")).toBe(origin);
    expect(asked.headers.get("access-control-allow-methods")).toContain("POST");
    for (const name of ["authorization", "x-api-key", "content-type", "idempotency-key", "last-event-id"]) {
      expect(asked.headers.get("access-control-allow-headers")).toContain(name);
    }
    expect(asked.headers.get("access-control-max-age")).toBe("600");
    expect(asked.headers.get("vary")).toContain("origin");
    const refused = await fetch(`${server.url}/ready`, { headers: { origin } });
    // A page must be able to read why it was refused.
    expect([refused.status, refused.headers.get("access-control-allow-origin")]).toEqual([401, origin]);
    expect(refused.headers.get("access-control-expose-headers")).toContain("retry-after");
    expect(refused.headers.get("access-control-allow-credentials")).toBeNull();
  });

  it("does not take an OPTIONS request that is no preflight for one", async () => {
    await using server = await keyedServer({ a: {} }, { allowedOrigins: [origin] });
    const options = { method: "OPTIONS", headers: { origin } };
    expect((await fetch(`${server.url}/execute`, options)).status).toBe(401);
  });

  it("allows credentials where the config says so, and never to every origin", async () => {
    const cors = { credentials: true, maxAgeS: 5 };
    await using named = await keyedServer({ a: {} }, { allowedOrigins: [origin], cors });
    await using every = await keyedServer({ a: {} }, { allowedOrigins: ["*"], cors });
    const ask = async (url: string) => (await fetch(`${url}/health`, { headers: { origin } })).headers;
    expect((await ask(named.url)).get("access-control-allow-credentials")).toBe("true");
    const headers = await ask(every.url);
    expect(headers.get("access-control-allow-origin")).toBe("*");
    expect(headers.get("access-control-allow-credentials")).toBeNull();
  });

  it("says nothing to clients that are no pages, or pages of the server's own", async () => {
    await using server = await testServer({ allowedOrigins: [origin] });
    for (const headers of [{}, { origin: server.url }]) {
      const answer = await fetch(`${server.url}/health`, { headers });
      expect([answer.status, answer.headers.get("access-control-allow-origin")]).toEqual([200, null]);
    }
  });
});
