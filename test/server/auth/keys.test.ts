import { timingSafeEqual } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { StoreError } from "../../../src/core/store.ts";
import { digestOf, formatKey, mintKey } from "../../../src/server/auth/api-key.ts";
import { KeyRing } from "../../../src/server/auth/key-ring.ts";
import { createMemoryStore } from "../../../src/store/memory/memory-store.ts";
import { CounterBackend } from "../../kit/counter-backend.ts";
import { holderOf, keyedServer, makeKeys } from "../../kit/keyed-server.ts";
import { ManualClock } from "../../kit/manual-clock.ts";
import { testServer } from "../../kit/test-server.ts";

const HOUR_MS = 3_600_000;

describe("API keys", () => {
  it("are taken as a bearer token or as X-API-Key, and never from the query", async () => {
    await using server = await keyedServer({ a: {} });
    const { key } = server.holders.a;
    const ask = async (headers: Record<string, string>, query = "") =>
      (await fetch(`${server.url}/ready${query}`, { headers })).status;
    expect(await ask({ authorization: `Bearer ${key}` })).toBe(200);
    expect(await ask({ authorization: `bearer  ${key}` })).toBe(200);
    expect(await ask({ "x-api-key": key })).toBe(200);
    for (const name of ["api_key", "key", "token", "ticket", "access_token", "x-api-key"]) {
      expect(await ask({}, `?${name}=${key}`)).toBe(401);
    }
    expect(await ask({ authorization: `Basic ${btoa(`${key}:`)}` })).toBe(401);
    expect(await ask({ authorization: key })).toBe(401);
    // A bad bearer token is not made good by another header.
    expect(await ask({ authorization: "Bearer no", "x-api-key": key })).toBe(401);
    expect(await ask({ "x-api-key": "x".repeat(10_000) })).toBe(401);
  });

  it("are asked for on every path but /health, also on paths that are not there", async () => {
    await using server = await keyedServer({ a: {} });
    const document: { paths: Record<string, Record<string, unknown>> } = (await server.holders.a.get("/openapi.json"))
      .body as never; // checked by what follows
    const paths = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => [method, path.replaceAll(/\{\w+\}/g, "x")] as const),
    );
    expect(paths.length).toBeGreaterThan(20);
    for (const [method, path] of [
      ...paths,
      ["get", "/nothing"],
      ["post", "/openapi.json"],
      ["put", "/execute"],
    ] as const) {
      const response = await fetch(server.url + path, { method, ...(method === "post" && { body: "{}" }) });
      const body = await response.text();
      expect([method, path, response.status]).toEqual([method, path, path === "/health" ? 200 : 401]);
      if (path === "/health") continue;
      expect(response.headers.get("www-authenticate")).toMatch(/^Bearer/);
      expect(JSON.parse(body)).toMatchObject({ code: 4010, meta: { error: "unauthenticated", outcome: "rejected" } });
    }
    expect((await fetch(`${server.url}/health?x=1`)).status).toBe(200);
  });

  it("are not asked for on loopback while there are none; the first one that is made closes the server", async () => {
    await using server = await testServer({ backends: [new CounterBackend()] });
    expect((await server.execute("counter:incr")).status).toBe(200);
    const made = await server.post("/api/v1/keys", { name: "first" });
    expect(made.body.data).toMatchObject({ tenant: "default", scopes: ["*"], closes_server: true });
    expect((await server.execute("counter:incr")).status).toBe(401);
    expect((await holderOf(server, made.body.data).execute("counter:incr")).status).toBe(200);
  });

  it("stay unasked for where the config says so, on loopback", async () => {
    await using server = await keyedServer({ a: {} }, { security: { authRequired: false } });
    expect((await server.get("/ready")).status).toBe(200);
    await server.post("/api/v1/keys", { name: "b" });
    expect((await server.get("/ready")).status).toBe(200);
  });

  it("may be one of the config, of the tenant default with every scope", async () => {
    const apiKey = "a key of the config's own".replaceAll(" ", "-");
    await using server = await testServer({ security: { apiKey }, backends: [new CounterBackend()] });
    const holder = holderOf(server, { key: apiKey, id: "config" });
    expect((await server.get("/ready")).status).toBe(401);
    expect((await holder.execute("counter:incr")).status).toBe(200);
    expect((await holder.get("/api/v1/keys")).body.data).toEqual({ keys: [], count: 0 });
    expect((await holderOf(server, { key: `${apiKey}x`, id: "" }).get("/ready")).status).toBe(401);
  });

  it("D05: prefix-right, unknown and misshapen keys are compared as whole digests, and answered alike", async () => {
    const store = createMemoryStore();
    const { a } = await makeKeys(store, { a: {} });
    const lengths: number[][] = [];
    const ring = new KeyRing({
      keys: store.keys,
      clock: new ManualClock(),
      compare: (left, right) => {
        lengths.push([left.length, right.length]);
        return timingSafeEqual(left, right);
      },
    });
    const refusal = async (key: string) => {
      try {
        await ring.identify(key);
      } catch (error) {
        return error;
      }
      throw new Error("it was taken");
    };
    const last = a.key.at(-1) === "0" ? "1" : "0";
    const wrong = [
      a.key.slice(0, -1) + last,
      a.key.slice(0, -1),
      a.key.slice(0, 20),
      `${a.key}0`,
      formatKey(mintKey()),
      formatKey({ id: a.id, secret: mintKey().secret }),
      `ty_${a.id}_${(await store.keys.get(a.id))?.hash}`,
      "ty__",
      "",
    ];
    const refusals = await Promise.all(wrong.map(refusal));
    expect(new Set(refusals.map(String))).toEqual(new Set(["ToolyardError: The API key is not valid"]));
    // One comparison for each, known or not, of digests alone.
    expect(lengths).toEqual(wrong.map(() => [32, 32]));
    expect(await ring.identify(a.key)).toMatchObject({ keyId: a.id, tenant: "default" });
  });

  it("are believed for a second without a look into the store, and no longer", async () => {
    const store = createMemoryStore();
    const { a } = await makeKeys(store, { a: {} });
    let reads = 0;
    const clock = new ManualClock();
    const get = (id: string) => {
      reads += 1;
      return store.keys.get(id);
    };
    const ring = new KeyRing({ keys: { ...store.keys, get }, clock });
    await ring.identify(a.key);
    for (let use = 0; use < 1_000; use += 1) expect(ring.identify(a.key)).not.toBeInstanceOf(Promise);
    expect(reads).toBe(1);
    const record = await store.keys.get(a.id);
    if (record !== null) await store.keys.put({ ...record, revokedAt: 1 });
    clock.skip(1_001);
    await expect(ring.identify(a.key)).rejects.toThrow("revoked");
  });

  it("are kept as hashes only", async () => {
    const store = createMemoryStore();
    const { a } = await makeKeys(store, { a: {} });
    const record = await store.keys.get(a.id);
    const secret = a.key.split("_")[2] ?? "";
    expect(secret).toMatch(/^[0-9a-f]{40}$/);
    expect(JSON.stringify(record)).not.toContain(secret);
    expect(record?.hash).toBe(digestOf(secret).toString("hex"));
  });

  it("expire by the wall clock", async () => {
    const clock = new ManualClock();
    await using server = await keyedServer({ admin: {}, brief: { expiresInMs: HOUR_MS } }, { clock });
    const { admin, brief } = server.holders;
    clock.skip(HOUR_MS - 1);
    expect((await brief.get("/ready")).status).toBe(200);
    clock.skip(1);
    const late = await brief.get("/ready");
    expect([late.status, late.body.message]).toEqual([401, "The API key has expired"]);
    const list = await admin.get("/api/v1/keys");
    expect(list.body.data.keys.map((key: { status: string }) => key.status).toSorted()).toEqual(["active", "expired"]);
  });

  it("are revoked at once, and for good", async () => {
    await using server = await keyedServer({ admin: {}, other: {} });
    const { admin, other } = server.holders;
    expect((await other.get("/ready")).status).toBe(200);
    expect((await admin.post(`/api/v1/keys/${other.id}/revoke`, {})).body.data).toMatchObject({ status: "revoked" });
    expect((await other.get("/ready")).body.message).toBe("The API key was revoked");
    expect((await admin.post(`/api/v1/keys/${other.id}/revoke`, {})).status).toBe(200);
    expect((await admin.post(`/api/v1/keys/${other.id}/rotate`, {})).status).toBe(409);
    expect((await admin.post("/api/v1/keys/000000000000/revoke", {})).status).toBe(404);
  });

  it("are rotated with a grace in which both are good", async () => {
    const clock = new ManualClock();
    await using server = await keyedServer({ admin: {}, old: { tenant: "acme", scopes: ["code:execute"] } }, { clock });
    const { admin, old } = server.holders;
    const rotated = await admin.post(`/api/v1/keys/${old.id}/rotate`, { grace: 60 });
    expect(rotated.body.data).toMatchObject({
      name: "old",
      tenant: "acme",
      scopes: ["code:execute"],
      replaces: old.id,
    });
    const successor = holderOf(server, rotated.body.data);
    expect([(await old.get("/ready")).status, (await successor.get("/ready")).status]).toEqual([200, 200]);
    clock.skip(60_000);
    expect([(await old.get("/ready")).status, (await successor.get("/ready")).status]).toEqual([401, 200]);
  });

  it("are refused, whatever text stands in their place", async () => {
    await using server = await keyedServer({ a: {} });
    const text = fc.string({ unit: fc.constantFrom(..."ty_0aF \t\u00e9,;=\"'$%{}[]*/\\"), maxLength: 80 });
    const header = fc.constantFrom("x-api-key", "authorization");
    const scheme = fc.constantFrom("", "Bearer ", "bearer ty_", `Bearer ty_${server.holders.a.id}_`);
    await fc.assert(
      fc.asyncProperty(header, scheme, text, async (name, prefix, rest) => {
        const response = await fetch(`${server.url}/ready`, { headers: { [name]: prefix + rest } });
        await response.text();
        // 429 once there were too many.
        expect([401, 429]).toContain(response.status);
      }),
      { numRuns: 300 },
    );
    expect((await server.holders.a.get("/ready")).status).toBe(200);
  });

  it("that cannot be looked up are an error of the server's, not of the caller's, and let nobody in", async () => {
    const store = createMemoryStore();
    const { a } = await makeKeys(store, { a: {} });
    const get = async () => {
      throw new StoreError("failed", "the disk under /srv is on fire");
    };
    await using server = await testServer({
      store: { ...store, keys: { ...store.keys, list: () => store.keys.list(), get } },
    });
    const answer = await holderOf(server, a).get("/ready");
    expect(answer.status).toBe(500);
    expect(answer.body.meta).toMatchObject({ error: "dependency_failed", outcome: "infra_error", retryable: true });
    expect(JSON.stringify(answer.body)).not.toContain("/srv");
    expect(JSON.stringify(server.logger.lines)).not.toContain(a.key);
  });

  it("are refused at birth when their request is wrong", async () => {
    await using server = await keyedServer({ admin: {} });
    const create = (body: object) => server.holders.admin.post("/api/v1/keys", body);
    for (const body of [
      {},
      { name: "" },
      { name: "n\n" },
      { name: "n", tenant: "__proto__" },
      { name: "n", scopes: [] },
      { name: "n", scopes: ["code:write"] },
      { name: "n", scopes: ["code"] },
      { name: "n", tenant: "acme", scopes: ["server:admin"] },
      { name: "n", expires_in: -1 },
    ]) {
      expect([body, (await create(body)).status]).toEqual([body, 400]);
    }
    expect((await create({ name: "n", tenant: "acme", scopes: ["*:read", "code:*"], expires_in: 1 })).status).toBe(200);
  });
});
