import { afterEach, describe, expect, it } from "vitest";
import type { AuditEntry, KeyRecord, Store } from "../../src/core/store.ts";
import { describeEventLog } from "./store-conformance-events.ts";
import { event, HOSTILE, job, session } from "./store-records.ts";

const begun = { tenant: "t1", key: "k1", fingerprint: "f1", instance: "i1", keptAt: 1_000 };

/** What every driver of the store's port must do; `create` gives a new, empty store. */
export function describeStore(name: string, create: () => Promise<Store>): void {
  const opened: Store[] = [];
  const open = async () => {
    const store = await create();
    opened.push(store);
    return store;
  };
  afterEach(async () => {
    for (const store of opened.splice(0)) await store.close();
  });

  describe(`${name}: events`, () => describeEventLog(open));
  describe(`${name}: idempotency`, () => describeIdempotency(open));
  describe(`${name}: jobs`, () => describeJobs(open));
  describe(`${name}: sessions`, () => describeSessions(open));
  describe(`${name}: keys and audit`, () => describeKeysAndAudit(open));
  describe(`${name}: closing`, () => describeClosing(open));
}

function describeIdempotency(open: () => Promise<Store>): void {
  it("lets exactly one of a hundred callers begin", async () => {
    const { idempotency } = await open();
    const holders = await Promise.all(
      Array.from({ length: 100 }, (_, index) => idempotency.begin({ ...begun, instance: `i${index}` })),
    );
    expect(holders.filter((holder) => holder === null)).toHaveLength(1);
    const winner = `i${holders.indexOf(null)}`;
    expect(new Set(holders.filter((holder) => holder !== null).map(({ instance }) => instance))).toEqual(
      new Set([winner]),
    );
    expect(await idempotency.get("t1", "k1")).toEqual({ ...begun, instance: winner, state: "running", answer: null });
  });

  it("keeps the first answer", async () => {
    const { idempotency } = await open();
    await idempotency.begin(begun);
    await idempotency.finish("t1", "k1", '{"n":1}', 2_000);
    await idempotency.finish("t1", "k1", '{"n":2}', 3_000);
    await idempotency.finish("t1", "nobody", "{}", 2_000);
    expect(await idempotency.begin({ ...begun, fingerprint: "f2" })).toMatchObject({
      state: "done",
      answer: '{"n":1}',
      fingerprint: "f1",
      keptAt: 2_000,
    });
    expect(await idempotency.get("t1", "nobody")).toBeNull();
  });

  it("frees the key of a call that never ran, and of no other", async () => {
    const { idempotency } = await open();
    await idempotency.begin(begun);
    await idempotency.release("t1", "k1");
    expect(await idempotency.begin(begun)).toBeNull();
    await idempotency.finish("t1", "k1", "{}", 2_000);
    await idempotency.release("t1", "k1");
    expect(await idempotency.begin(begun)).toMatchObject({ state: "done" });
  });

  it("marks what another run of the server left, and lets one caller retake it if it may", async () => {
    const { idempotency } = await open();
    await idempotency.begin(begun);
    await idempotency.begin({ ...begun, key: "k2", instance: "i2" });
    expect(await idempotency.markUnknown("i2")).toBe(1);
    expect(await idempotency.markUnknown("i2")).toBe(0);
    const again = { ...begun, instance: "i2", keptAt: 2_000 };
    expect(await idempotency.begin(again)).toMatchObject({ state: "unknown", instance: "i1" });
    expect(await idempotency.begin({ ...again, fingerprint: "f2" }, { retakeUnknown: true })).toMatchObject({
      state: "unknown",
    });
    const holders = await Promise.all(
      Array.from({ length: 20 }, () => idempotency.begin(again, { retakeUnknown: true })),
    );
    expect(holders.filter((holder) => holder === null)).toHaveLength(1);
    expect(await idempotency.get("t1", "k1")).toEqual({ ...again, state: "running", answer: null });
  });

  it("forgets records by when they ended, and no running one", async () => {
    const { idempotency } = await open();
    for (const [key, keptAt] of [
      ["old", 1],
      ["new", 10],
      ["long", 1],
      ["running", 1],
    ] as const) {
      await idempotency.begin({ ...begun, key, keptAt });
    }
    await idempotency.finish("t1", "old", "{}", 2);
    await idempotency.finish("t1", "new", "{}", 10);
    await idempotency.finish("t1", "long", "{}", 10);
    await idempotency.begin({ ...begun, key: "renewed", keptAt: 1 });
    await idempotency.finish("t1", "renewed", "{}", 2);
    await idempotency.renew(
      [
        { tenant: "t1", key: "renewed" },
        { tenant: "t1", key: "nobody" },
      ],
      10,
    );
    expect(await idempotency.prune(10)).toBe(1);
    expect(await idempotency.get("t1", "renewed")).toMatchObject({ state: "done", answer: "{}", keptAt: 10 });
    expect(await idempotency.get("t1", "nobody")).toBeNull();
    expect(await idempotency.get("t1", "old")).toBeNull();
    expect(await idempotency.get("t1", "new")).not.toBeNull();
    expect(await idempotency.get("t1", "long")).not.toBeNull();
    expect(await idempotency.get("t1", "running")).not.toBeNull();
  });

  it("keeps tenants and hostile keys apart", async () => {
    const { idempotency } = await open();
    for (const tenant of HOSTILE) {
      for (const key of HOSTILE) expect(await idempotency.begin({ ...begun, tenant, key })).toBeNull();
    }
    const answer = JSON.stringify({ text: "ü🧪\0".repeat(200_000) });
    await idempotency.finish("__proto__", "nul\0inside", answer, 2_000);
    expect((await idempotency.get("__proto__", "nul\0inside"))?.answer).toBe(answer);
    expect((await idempotency.get("__proto__", "nul"))?.answer).toBeUndefined();
  });
}

function describeJobs(open: () => Promise<Store>): void {
  it("keeps a job's latest state, apart from other tenants'", async () => {
    const { jobs } = await open();
    await jobs.put(job());
    const done = job({ state: "completed", progress: '{"at":1}', answer: "{}", endedAt: 5 });
    await jobs.put(done);
    await jobs.put(job({ tenant: "t2", action: "vm:click" }));
    expect(await jobs.get("t1", "j1")).toEqual(done);
    expect(await jobs.get("t3", "j1")).toBeNull();
    expect(await jobs.get("t1", "j2")).toBeNull();
  });

  it("lists a tenant's jobs newest first", async () => {
    const { jobs } = await open();
    for (const [id, createdAt] of [
      ["a", 1],
      ["b", 3],
      ["c", 2],
      ["d", 3],
    ] as const) {
      await jobs.put(job({ id, createdAt, workerId: id === "a" ? "w2" : "w1" }));
    }
    await jobs.put(job({ id: "x", tenant: "t2" }));
    const listed = async (options: { workerId?: string; limit: number }) =>
      (await jobs.list("t1", options)).map(({ id }) => id);
    expect(await listed({ limit: 10 })).toEqual(["d", "b", "c", "a"]);
    expect(await listed({ limit: 2 })).toEqual(["d", "b"]);
    expect(await listed({ limit: 10, workerId: "w2" })).toEqual(["a"]);
    expect(await listed({ limit: 0 })).toEqual([]);
  });

  it("ends what another run left, and forgets what ended long ago", async () => {
    const { jobs } = await open();
    await jobs.put(job({ id: "running" }));
    await jobs.put(job({ id: "queued", state: "queued" }));
    await jobs.put(job({ id: "own", instance: "i2" }));
    await jobs.put(job({ id: "done", state: "completed", endedAt: 5 }));
    expect(await jobs.markUnknown("i2", 9)).toBe(2);
    expect(await jobs.get("t1", "queued")).toMatchObject({ state: "unknown", endedAt: 9 });
    expect(await jobs.prune(9)).toBe(1);
    expect((await jobs.list("t1", { limit: 10 })).map(({ id }) => id)).toEqual(
      ["running", "queued", "own"].toSorted().reverse(),
    );
  });
}

function describeSessions(open: () => Promise<Store>): void {
  it("keeps a session's row and lists the live ones, oldest first", async () => {
    const { sessions } = await open();
    await sessions.put(session({ id: "b", createdAt: 2, handle: '{"pid":1}' }));
    await sessions.put(session({ id: "a", createdAt: 2 }));
    await sessions.put(session({ id: "c", createdAt: 1, config: '{"x":"ü"}' }));
    expect((await sessions.live()).map(({ id }) => id)).toEqual(["c", "a", "b"]);
    expect(await sessions.get("t1", "b")).toEqual(session({ id: "b", createdAt: 2, handle: '{"pid":1}' }));
    expect(await sessions.get("t2", "b")).toBeNull();
  });

  it("lists those that ended for a reason, the newest oldest first, and takes another reason of them", async () => {
    const { sessions } = await open();
    for (const [index, id] of ["d", "b", "c", "a", "live"].entries())
      await sessions.put(session({ id, createdAt: index }));
    for (const id of ["d", "b", "a"]) await sessions.end(id, "lost", 9);
    await sessions.end("c", "shutdown", 9);
    const ids = async (reasons: string[], limit = 10) => (await sessions.ended(reasons, limit)).map(({ id }) => id);
    expect(await ids(["lost", "shutdown"])).toEqual(["d", "b", "c", "a"]);
    expect(await ids(["lost"], 2)).toEqual(["b", "a"]);
    expect(await ids(["live"])).toEqual([]);
    await sessions.restate("b", "told");
    await sessions.restate("live", "told");
    await sessions.restate("unknown", "told");
    expect(await ids(["lost"])).toEqual(["d", "a"]);
    expect(await sessions.get("t1", "b")).toMatchObject({ state: "told", endedAt: 9 });
    expect((await sessions.live()).map(({ id }) => id)).toEqual(["live"]);
  });

  it("keeps the first reason of an end, also against a late write", async () => {
    const { sessions } = await open();
    await sessions.put(session());
    await sessions.end("s1", "expired", 5);
    await sessions.end("s1", "cleaned", 6);
    await sessions.end("unknown", "expired", 6);
    await sessions.put(session());
    await sessions.renew(new Map([["s1", 99]]));
    expect(await sessions.get("t1", "s1")).toEqual(session({ state: "expired", endedAt: 5 }));
    expect(await sessions.live()).toEqual([]);
    expect(await sessions.prune(5)).toBe(0);
    expect(await sessions.prune(6)).toBe(1);
    expect(await sessions.get("t1", "s1")).toBeNull();
  });

  it("renews many at once", async () => {
    const { sessions } = await open();
    await sessions.put(session({ id: "a" }));
    await sessions.put(session({ id: "b" }));
    await sessions.renew(
      new Map([
        ["a", 70_000],
        ["gone", 1],
      ]),
    );
    expect((await sessions.live()).map(({ id, expiresAt }) => [id, expiresAt])).toEqual([
      ["a", 70_000],
      ["b", 61_000],
    ]);
  });
}

function describeKeysAndAudit(open: () => Promise<Store>): void {
  it("keeps keys, hostile names included", async () => {
    const { keys } = await open();
    const made = HOSTILE.map(
      (name, index): KeyRecord => ({
        id: name,
        hash: `h${index}`,
        name,
        tenant: name,
        scopes: [name, "*"],
        createdAt: index,
        expiresAt: index === 0 ? null : 5,
        revokedAt: null,
      }),
    );
    for (const key of made) await keys.put(key);
    expect(await keys.list()).toEqual(made);
    for (const key of made) {
      await keys.put({ ...key, revokedAt: 9 });
      expect(await keys.get(key.id)).toEqual({ ...key, revokedAt: 9 });
    }
    expect(await keys.get("unknown")).toBeNull();
  });

  it("keeps the audit trail, newest first, and trims it", async () => {
    const { audit } = await open();
    const entry = (action: string, tenant: string | null): AuditEntry => ({
      ts: "2026-01-01T00:00:00.000Z",
      tenant,
      keyId: null,
      action,
      outcome: "refused",
      data: { text: "'\0🧪" },
    });
    for (const each of [entry("a", "t1"), entry("b", null), entry("c", "t2"), entry("d", "t1")])
      await audit.append(each);
    const listed = async (options: { tenant?: string; limit: number }) =>
      (await audit.list(options)).map(({ action }) => action);
    expect(await audit.list({ limit: 1 })).toEqual([entry("d", "t1")]);
    expect(await listed({ limit: 10 })).toEqual(["d", "c", "b", "a"]);
    expect(await listed({ limit: 10, tenant: "t1" })).toEqual(["d", "a"]);
    expect(await audit.trim(2)).toBe(2);
    expect(await audit.trim(2)).toBe(0);
    expect(await listed({ limit: 10 })).toEqual(["d", "c"]);
  });
}

function describeClosing(open: () => Promise<Store>): void {
  it("finishes what is under way, closes once, and rejects what comes later", async () => {
    const store = await open();
    const pending = [store.events.append([event(1)]), store.idempotency.begin(begun), store.sessions.put(session())];
    await Promise.all([store.close(), store.close()]);
    await Promise.all(pending);
    await store.close();
    const late = [
      () => store.events.append([event(2)]),
      () => store.events.read({ tenant: null }, { afterId: 0, limit: 1 }),
      () => store.events.get(null, 1),
      () => store.events.bounds(),
      () => store.events.lastSeqs([]),
      () => store.events.trim({ maxEvents: 1, maxAgeMs: 1 }, 0),
      () => store.idempotency.begin(begun),
      () => store.jobs.put(job()),
      () => store.sessions.live(),
      () => store.sessions.ended(["lost"], 1),
      () => store.sessions.restate("s1", "told"),
      () => store.keys.list(),
      () => store.audit.list({ limit: 1 }),
    ];
    for (const each of late) await expect(each()).rejects.toMatchObject({ name: "StoreError", reason: "closed" });
  });
}
