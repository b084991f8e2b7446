import { expect, it } from "vitest";
import type { Store } from "../../src/core/store.ts";
import { event, events, HOSTILE, ids, readAll, session } from "./store-records.ts";

const ALL = { tenant: null };
const FOREVER = Number.MAX_SAFE_INTEGER / 1_000;
const NOW = 1_800_000_000_000;

/** What every event log must do; `open` gives a new, empty store that the suite closes. */
export function describeEventLog(open: () => Promise<Store>): void {
  it("says of an empty log that the first event will have id 1", async () => {
    const { events: log } = await open();
    expect(await log.bounds()).toEqual({ firstId: 1, lastId: 0 });
    expect(await log.read(ALL, { afterId: 0, limit: 10 })).toEqual({ events: [], throughId: 0 });
    expect(await log.get(null, 1)).toBeNull();
    expect(await log.trim({ maxEvents: 0, maxAgeMs: 0 }, NOW)).toEqual({ dropped: 0, firstId: 1 });
    await log.append([]);
  });

  it("gives events back as they were, in order, however they were batched", async () => {
    const store = await open();
    const written = events(1, 700).map((each) => ({ ...each, data: { deep: [each.id, { nothing: null }] } }));
    let start = 0;
    for (const size of [1, 1, 1, 30, 1, 7, 200, 3, 1, 1, 90, 364]) {
      await store.events.append(written.slice(start, start + size));
      start += size;
    }
    expect(await readAll(store, ALL, { pageSize: 50 })).toEqual(written);
    for (const id of [1, 2, 33, 34, 350, 700]) expect(await store.events.get("t1", id)).toEqual(written[id - 1]);
    expect(await store.events.get("t1", 701)).toBeNull();
  });

  it("keeps many single appends in order", async () => {
    const store = await open();
    await Promise.all(events(1, 600).map((each) => store.events.append([each])));
    expect(ids(await readAll(store, ALL))).toEqual(ids(events(1, 600)));
  });

  it("reads after an id, up to a limit, and says how far it came", async () => {
    const { events: log } = await open();
    await log.append(events(1, 100));
    const page = await log.read(ALL, { afterId: 40, limit: 5 });
    expect(ids([...page.events])).toEqual([41, 42, 43, 44, 45]);
    expect(page.throughId).toBe(45);
    expect(await log.read(ALL, { afterId: 100, limit: 5 })).toEqual({ events: [], throughId: 100 });
    expect(await log.read(ALL, { afterId: 500, limit: 5 })).toEqual({ events: [], throughId: 500 });
    expect((await log.read({ tenant: "nobody" }, { afterId: 3, limit: 5 })).throughId).toBe(100);
  });

  it("filters by tenant, worker, session, call and types, all of them together", async () => {
    const store = await open();
    await store.events.append([
      event(1),
      event(2, { tenant: "t2" }),
      event(3, { worker_id: "w2", session_id: "s2", seq: 1 }),
      event(4, { type: "call.completed", call_id: "c1" }),
      { id: 5, type: "backend.health", ts: event(5).ts, data: { session_id: "s1", call_id: "c1" } },
      event(6, { data: { text: '"call_id":"c1"' } }),
    ]);
    const found = async (filter: Parameters<typeof readAll>[1]) => ids(await readAll(store, filter));
    expect(await found({ tenant: null })).toEqual([1, 2, 3, 4, 5, 6]);
    expect(await found({ tenant: "t1" })).toEqual([1, 3, 4, 6]);
    expect(await found({ tenant: "t1", worker_id: "w2" })).toEqual([3]);
    expect(await found({ tenant: null, session_id: "s1" })).toEqual([1, 2, 4, 6]);
    expect(await found({ tenant: null, call_id: "c1" })).toEqual([1, 4]);
    expect(await found({ tenant: "t1", types: ["call.completed", "backend.health"] })).toEqual([4]);
    expect(await found({ tenant: "t1", types: [] })).toEqual([]);
    expect(await found({ tenant: "t2", call_id: "c1" })).toEqual([]);
  });

  it("answers another tenant's event as an unknown one", async () => {
    const { events: log } = await open();
    await log.append([event(1)]);
    expect(await log.get("t2", 1)).toBeNull();
    expect(await log.get("t1", 1)).toEqual(event(1));
    expect(await log.get(null, 1)).toEqual(event(1));
  });

  it("refuses ids that do not ascend, writes nothing of that batch, and allows holes", async () => {
    const store = await open();
    await store.events.append(events(1, 3));
    for (const batch of [[event(3)], [event(4), event(4)], [event(5), event(4)], [event(1.5)]]) {
      await expect(store.events.append(batch)).rejects.toMatchObject({ name: "StoreError", reason: "invalid" });
    }
    await store.events.append([event(4), event(10)]);
    await store.events.append([event(20)]);
    expect(ids(await readAll(store, ALL))).toEqual([1, 2, 3, 4, 10, 20]);
    expect(await store.events.get(null, 7)).toBeNull();
    expect(ids(await readAll(store, ALL, { afterId: 7 }))).toEqual([10, 20]);
  });

  it("keeps the log whole when batches beside the good ones are refused", async () => {
    const store = await open();
    for (let id = 1; id <= 300; id += 1) {
      const batches = (id * id) % 11 < 4 ? [[event(id)], [event(1)]] : [[event(id)]];
      const results = await Promise.allSettled(batches.map((batch) => store.events.append(batch)));
      expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected"].slice(0, batches.length));
    }
    expect(ids(await readAll(store, ALL))).toEqual(ids(events(1, 300)));
  });

  it("trims to a number of events, and says what is first now", async () => {
    const store = await open();
    for (let id = 1; id <= 300; id += 30) await store.events.append(events(id, id + 29));
    expect(await store.events.trim({ maxEvents: 100, maxAgeMs: FOREVER }, NOW)).toEqual({ dropped: 200, firstId: 201 });
    expect(await store.events.bounds()).toEqual({ firstId: 201, lastId: 300 });
    expect(await store.events.get(null, 200)).toBeNull();
    expect(ids(await readAll(store, ALL))).toEqual(ids(events(201, 300)));
    await store.events.append(events(301, 305));
    expect(await store.events.trim({ maxEvents: 7, maxAgeMs: FOREVER }, NOW)).toEqual({ dropped: 98, firstId: 299 });
  });

  it("trims by age", async () => {
    const store = await open();
    await store.events.append(events(1, 50));
    const now = Date.parse(event(40).ts);
    expect(await store.events.trim({ maxEvents: 1_000, maxAgeMs: 10_000 }, now)).toEqual({ dropped: 29, firstId: 30 });
  });

  it("goes on counting ids after everything was trimmed", async () => {
    const { events: log } = await open();
    await log.append(events(1, 9));
    expect(await log.trim({ maxEvents: 0, maxAgeMs: FOREVER }, NOW)).toEqual({ dropped: 9, firstId: 10 });
    expect(await log.bounds()).toEqual({ firstId: 10, lastId: 9 });
    await expect(log.append([event(9)])).rejects.toMatchObject({ reason: "invalid" });
    await log.append([event(10)]);
    expect(await log.bounds()).toEqual({ firstId: 10, lastId: 10 });
  });

  it("knows the newest seq of each session, and of a live one also after a trim", async () => {
    const store = await open();
    await store.sessions.put(session({ id: "live" }));
    await store.events.append([
      event(1, { session_id: "live", seq: 7 }),
      event(2, { session_id: "other", seq: 1, data: { session_id: "live" } }),
      event(3, { session_id: "other", seq: 2 }),
    ]);
    const seqs = async () => Object.fromEntries(await store.events.lastSeqs(["live", "other", "unknown"]));
    expect(await seqs()).toEqual({ live: 7, other: 2 });
    await store.events.trim({ maxEvents: 0, maxAgeMs: FOREVER }, NOW);
    expect(await store.events.lastSeqs(["live"])).toEqual(new Map([["live", 7]]));
    await store.events.append([event(4, { session_id: "live", seq: 8 })]);
    expect(await store.events.lastSeqs(["live"])).toEqual(new Map([["live", 8]]));
  });

  it("takes hostile names and large values as they are", async () => {
    const store = await open();
    const large = "x".repeat(3_000_000);
    const written = HOSTILE.map((name, index) =>
      event(index + 1, { tenant: name, worker_id: name, session_id: name, call_id: name, data: { [name]: name } }),
    );
    await store.events.append([...written, event(100, { data: { large } }), event(101)]);
    for (const [index, name] of HOSTILE.entries()) {
      const filter = { tenant: name, worker_id: name, session_id: name, call_id: name };
      expect(ids(await readAll(store, filter))).toEqual([index + 1]);
      expect(Object.entries((await store.events.get(name, index + 1))?.data ?? {})).toEqual([[name, name]]);
    }
    expect((await store.events.get(null, 100))?.data).toEqual({ large });
    expect(await store.events.lastSeqs([...HOSTILE])).toEqual(new Map(HOSTILE.map((name, index) => [name, index + 1])));
  });
}
