import fc from "fast-check";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { EventType } from "../../src/core/events.ts";
import type { Store } from "../../src/core/store.ts";
import { EventBus } from "../../src/engine/bus.ts";
import { EventFeed } from "../../src/engine/event-feed.ts";
import { EventLog } from "../../src/engine/event-log.ts";
import { defaultLimits, type EngineLimits } from "../../src/engine/limits.ts";
import { createMemoryStore } from "../../src/store/memory/memory-store.ts";
import { openStore } from "../../src/store/open-store.ts";
import { createFaultyStore, DISK_FULL } from "../kit/faulty-store.ts";
import { ManualClock, settle } from "../kit/manual-clock.ts";
import { recordingLogger } from "../kit/recording-logger.ts";

const ALL = { tenant: "default" };

async function openLog(store: Store, limits: Partial<EngineLimits> = {}, sessionIds: readonly string[] = []) {
  const clock = new ManualClock();
  const bus = new EventBus();
  const logger = recordingLogger();
  const log = new EventLog({ store: store.events, bus, clock, logger, limits: { ...defaultLimits, ...limits } });
  await log.open(sessionIds);
  const emit = (type: EventType, sessionId?: string, more: object = {}) =>
    bus.emit({ type, ts: clock.date().toISOString(), tenant: "default", session_id: sessionId, data: {}, ...more });
  const stop = async () => {
    const stopping = log.stop();
    await clock.advance(2_000);
    await stopping;
  };
  return { log, bus, clock, logger, emit, stop };
}

const read = (log: EventLog, afterId = 0, filter: object = {}) => log.read({ ...ALL, ...filter }, afterId, 100_000);
const idsOf = (entries: readonly { readonly id: number }[]) => entries.map(({ id }) => id);

describe("ids and seqs", () => {
  it("counts all events by one, and those of each session by one, in whatever order they come", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom("a", "b", "c", undefined), { maxLength: 200 }), async (sessions) => {
        const { log, clock, emit } = await openLog(createMemoryStore());
        for (const session of sessions) emit("call.completed", session);
        await clock.advance(100);
        const { entries } = await read(log);
        expect(idsOf(entries)).toEqual(sessions.map((_, index) => index + 1));
        for (const session of ["a", "b", "c"]) {
          const own = (await read(log, 0, { session_id: session })).entries;
          expect(own.map((event) => "seq" in event && event.seq)).toEqual(own.map((_, index) => index + 1));
        }
      }),
      { numRuns: 50 },
    );
  });

  it("goes on after a restart on the same data folder, in ids and in the sessions that go on", async () => {
    const dataDir = mkdtempSync(join(tmpdir(), "toolyard-log-"));
    onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
    const seen: (number | null | undefined)[] = [];
    for (let run = 0; run < 3; run += 1) {
      const store = await openStore({ driver: "sqlite", dataDir });
      const { log, clock, emit, stop } = await openLog(store, {}, ["kept"]);
      for (let index = 0; index < 5; index += 1) emit("call.completed", index % 2 === 0 ? "kept" : undefined);
      await clock.advance(100);
      await settle();
      await stop();
      if (run === 2) {
        const { entries } = await read(log);
        expect(idsOf(entries)).toEqual(Array.from({ length: 15 }, (_, index) => index + 1));
        const kept = await read(log, 0, { session_id: "kept" });
        seen.push(...kept.entries.map((event) => ("seq" in event ? event.seq : null)));
      }
      await store.close();
    }
    expect(seen).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  it("counts on for a call that is told of after its session", async () => {
    const { log, clock, emit } = await openLog(createMemoryStore());
    for (const type of ["session.created", "session.ended", "call.completed", "call.abandoned"] as const)
      emit(type, "s");
    await clock.advance(100);
    const { entries } = await read(log, 0, { session_id: "s" });
    expect(entries.map((event) => "seq" in event && event.seq)).toEqual([1, 2, 3, 4]);
  });
});

describe("a store that is slow, fails or hangs", () => {
  it("never holds whoever emits, and loses nothing when it comes back", async () => {
    const store = createFaultyStore(createMemoryStore());
    const { log, clock, emit } = await openLog(store);
    store.inject("events.append", DISK_FULL, 5);
    for (let index = 0; index < 1_000; index += 1) emit("call.completed", "s");
    await clock.advance(60_000);
    expect(idsOf((await read(log)).entries)).toEqual(Array.from({ length: 1_000 }, (_, index) => index + 1));
  });

  it("takes a batch whose answer was lost for written", async () => {
    const store = createFaultyStore(createMemoryStore());
    const { log, clock, emit } = await openLog(store);
    store.inject("events.append", { kind: "lose" });
    for (let index = 0; index < 10; index += 1) emit("call.completed");
    await clock.advance(60_000);
    expect(idsOf((await read(log)).entries)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  });

  it("keeps what waits bounded and names what it drops, when it hangs and answers at last", async () => {
    const store = createFaultyStore(createMemoryStore());
    const { log, clock, logger, emit } = await openLog(store, { eventPending: 2_000 });
    const held = Promise.withResolvers<void>();
    store.inject("events.append", { kind: "hold", until: held.promise });
    for (let index = 0; index < 20_000; index += 1) {
      emit("call.completed", "s");
      if (index % 500 === 0) await clock.advance(50);
      expect(log.pending).toBeLessThanOrEqual(2_000);
    }
    expect(store.count("events.append")).toBe(1);
    held.resolve();
    await clock.advance(1_000);
    const { entries } = await read(log);
    const gaps = entries.filter((entry) => "gap" in entry);
    expect(gaps).toHaveLength(1);
    // Every id is either held or inside the gap.
    let next = 1;
    for (const entry of entries) {
      expect("gap" in entry ? entry.fromId : entry.id).toBe(next);
      next = entry.id + 1;
    }
    expect(next).toBe(20_001);
    expect(logger.lines.some(({ message }) => message?.includes("too slow"))).toBe(true);
    expect(logger.lines.some(({ message }) => message?.includes("is back"))).toBe(true);
  });

  it("tells a reader of the gap whatever its filter, also after a restart", async () => {
    const inner = createMemoryStore();
    const store = createFaultyStore(inner);
    const { clock, emit, stop } = await openLog(store, { eventPending: 600 });
    store.inject("events.append", DISK_FULL, 3);
    for (let index = 0; index < 3_000; index += 1) emit("call.completed", "s", { tenant: "other" });
    await clock.advance(60_000);
    await stop();
    const again = await openLog(inner);
    const { entries } = await again.log.read({ tenant: "third", session_id: "none" }, 0, 10);
    expect(entries).toMatchObject([{ gap: "dropped", fromId: 1 }]);
  });

  it("tells a reader of what the store has lost, whatever its filter", async () => {
    const inner = createMemoryStore();
    const lost = [{ fromId: 3, id: 5 }];
    const store: Store = {
      ...inner,
      events: {
        append: (batch) => inner.events.append(batch),
        get: (tenant, id) => inner.events.get(tenant, id),
        bounds: () => inner.events.bounds(),
        lastSeqs: (sessionIds) => inner.events.lastSeqs(sessionIds),
        trim: (keep, now) => inner.events.trim(keep, now),
        read: async (filter, options) => ({ ...(await inner.events.read(filter, options)), lost }),
      },
    };
    const { clock, emit, log } = await openLog(store);
    for (let index = 0; index < 10; index += 1) emit("call.completed", "s", { tenant: "other" });
    await clock.advance(1_000);
    const { entries } = await log.read({ tenant: "third", session_id: "none" }, 0, 10);
    expect(entries).toEqual([{ gap: "damaged", fromId: 3, id: 5 }]);
  });

  it("gives up at a stop that the store does not answer, and says how much is lost", async () => {
    const store = createFaultyStore(createMemoryStore());
    const { log, emit, logger, stop } = await openLog(store);
    store.inject("events.append", { kind: "hang" });
    for (let index = 0; index < 7; index += 1) emit("call.completed");
    await stop();
    expect(log.closed).toBe(true);
    expect(logger.lines.some(({ facts }) => facts["lost"] === 7)).toBe(true);
  });
});

describe("readers", () => {
  it("are given each event once, in order, across catch-up and live, at any pace", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 0, max: 150 }), { minLength: 1, maxLength: 12 }),
        fc.nat(300),
        async (bursts, start) => {
          const { log, clock, logger, emit, stop } = await openLog(createMemoryStore());
          for (let index = 0; index < 300; index += 1) emit("call.completed", index % 3 === 0 ? "mine" : "other");
          await clock.advance(100);
          const feed = new EventFeed(log, { ...ALL, session_id: "mine" }, start, { clock, logger });
          const got: number[] = [];
          const reading = (async () => {
            for (let page = await feed.next(); page !== undefined; page = await feed.next())
              got.push(...idsOf(page.entries));
          })();
          let total = 300;
          for (const burst of bursts) {
            for (let index = 0; index < burst; index += 1)
              emit("call.completed", (total + index) % 3 === 0 ? "mine" : "other");
            total += burst;
            await clock.advance(burst % 2 === 0 ? 100 : 0);
          }
          await stop();
          await reading;
          const expected = Array.from({ length: total }, (_, index) => index + 1).filter(
            (id) => (id - 1) % 3 === 0 && id > start,
          );
          expect(got).toEqual(expected);
        },
      ),
      { numRuns: 30 },
    );
  });

  it("are told what was trimmed before them", async () => {
    const { log, clock, emit } = await openLog(createMemoryStore(), { eventLogEvents: 10 });
    for (let index = 0; index < 30; index += 1) emit("call.completed");
    await clock.advance(31_000);
    const { entries } = await read(log);
    expect(entries[0]).toEqual({ gap: "trimmed", fromId: 1, id: 20 });
    expect(idsOf(entries.slice(1))).toEqual([21, 22, 23, 24, 25, 26, 27, 28, 29, 30]);
  });

  it("read on when the store fails for a while", async () => {
    const store = createFaultyStore(createMemoryStore());
    const { log, clock, logger, emit } = await openLog(store);
    emit("call.completed");
    await clock.advance(100);
    store.inject("events.read", DISK_FULL, 2);
    const feed = new EventFeed(log, ALL, 0, { clock, logger });
    const page = feed.next();
    await clock.advance(3_000);
    expect(idsOf((await page)?.entries ?? [])).toEqual([1]);
    feed.close();
  });

  it("leave nothing behind: 1,000 come and go", async () => {
    const { log, clock, logger, emit } = await openLog(createMemoryStore());
    const timers = clock.pending;
    for (let round = 0; round < 3; round += 1) {
      const feeds = Array.from({ length: 1_000 }, () => new EventFeed(log, ALL, log.lastId, { clock, logger }));
      const pages = feeds.map((feed) => feed.next());
      expect(log.watcherCount).toBe(1_000);
      emit("call.completed");
      await clock.advance(100);
      expect((await Promise.all(pages)).every((page) => page?.entries.length === 1)).toBe(true);
      const waiting = feeds.map((feed) => feed.next());
      for (const feed of feeds) feed.close();
      expect(await Promise.all(waiting)).toEqual(feeds.map(() => undefined));
      expect(log.watcherCount).toBe(0);
      expect(clock.pending).toBe(timers);
    }
  });
});

describe("a wall clock that jumps", () => {
  it.each([
    ["forward", 30],
    ["back", -30],
  ])("%s makes the log forget nothing", async (_, days) => {
    const { log, clock, emit } = await openLog(createMemoryStore());
    for (let count = 0; count < 3; count += 1) emit("call.completed", "s");
    await clock.advance(100);
    clock.jumpWall(days * 86_400_000);
    for (let count = 0; count < 3; count += 1) emit("call.completed", "s");
    await clock.advance(31_000);
    expect(idsOf((await read(log)).entries)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(log.firstId).toBe(1);
  });
});
