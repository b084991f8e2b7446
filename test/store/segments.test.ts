import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { openStore } from "../../src/store/open-store.ts";
import { splitBatches } from "../../src/store/sqlite/event-files.ts";
import { SEGMENT_LIMITS } from "../../src/store/sqlite/event-segment.ts";
import { event, events, ids, readAll } from "../kit/store-records.ts";

const root = mkdtempSync(join(tmpdir(), "toolyard-segments-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

let count = 0;
const newFolder = () => join(root, String((count += 1)));
const open = (dataDir: string) => openStore({ driver: "sqlite", dataDir });
const all = { tenant: null };
const files = (dataDir: string) => readdirSync(join(dataDir, "events"));
const rows = (dataDir: string) => {
  const database = new Database(join(dataDir, "toolyard.db"), { readonly: true });
  const firstIds = database.prepare("SELECT first_id FROM event_segments ORDER BY first_id").pluck().all();
  database.close();
  return firstIds;
};

/** Fills two segments and a part of a third. */
async function fill(dataDir: string): Promise<number> {
  const store = await open(dataDir);
  const total = SEGMENT_LIMITS.events * 2 + 10;
  for (let id = 1; id <= total; id += 64) await store.events.append(events(id, Math.min(id + 63, total)));
  await store.close();
  return total;
}

describe("event segments", () => {
  it("are few, also when each event came alone", async () => {
    const dataDir = newFolder();
    const store = await open(dataDir);
    for (const each of events(1, SEGMENT_LIMITS.events + 1)) await store.events.append([each]);
    await store.close();
    expect(rows(dataDir)).toEqual([1]);
    expect(files(dataDir)).toHaveLength(2);
  });

  it("begin anew when they hold a megabyte, so that one event is never costly to read", async () => {
    const dataDir = newFolder();
    const store = await open(dataDir);
    const large = "x".repeat(SEGMENT_LIMITS.bytes / 2);
    for (const id of [1, 2, 3, 4, 5]) await store.events.append([event(id, { data: { large } })]);
    await store.close();
    expect(rows(dataDir)).toEqual([1, 3]);
  });

  it("go on after a stop where they ended, in the same file", async () => {
    const dataDir = newFolder();
    const total = await fill(dataDir);
    const store = await open(dataDir);
    await store.events.append([event(total + 1)]);
    expect(ids(await readAll(store, all))).toEqual(ids(events(1, total + 1)));
    await store.close();
    expect(files(dataDir)).toHaveLength(3);
  });

  it("go with their files when they are trimmed", async () => {
    const dataDir = newFolder();
    const total = await fill(dataDir);
    const store = await open(dataDir);
    await store.events.trim({ maxEvents: 20, maxAgeMs: Number.MAX_SAFE_INTEGER / 1_000 }, 1_800_000_000_000);
    expect(ids(await readAll(store, all))).toEqual(ids(events(total - 19, total)));
    await store.close();
    expect(files(dataDir)).toHaveLength(1);
    expect(ids(await readAll(await open(dataDir), all))).toEqual(ids(events(total - 19, total)));
  });

  it("forget a file whose segment was trimmed just before the server was killed", async () => {
    const dataDir = newFolder();
    const total = await fill(dataDir);
    const [oldest = ""] = files(dataDir).toSorted((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10));
    const content = readFileSync(join(dataDir, "events", oldest));
    const store = await open(dataDir);
    await store.events.trim({ maxEvents: 20, maxAgeMs: Number.MAX_SAFE_INTEGER / 1_000 }, 1_800_000_000_000);
    await store.close();
    writeFileSync(join(dataDir, "events", oldest), content);
    const again = await open(dataDir);
    expect(ids(await readAll(again, all))).toEqual(ids(events(total - 19, total)));
    expect(files(dataDir)).not.toContain(oldest);
    await again.close();
  });

  it("lose nothing whose row was not written before the server was killed", async () => {
    const dataDir = newFolder();
    const total = await fill(dataDir);
    const database = new Database(join(dataDir, "toolyard.db"));
    // As if the last seal had never been committed: its file is there, and the next one too.
    const lastRow = rows(dataDir).at(-1);
    database.prepare("DELETE FROM event_segments WHERE first_id = ?").run(lastRow);
    database.prepare("UPDATE event_head SET last_id = ?").run(Number(lastRow) - 1);
    database.close();
    const store = await open(dataDir);
    expect(ids(await readAll(store, all))).toEqual(ids(events(1, total)));
    await store.events.append([event(total + 1)]);
    await store.close();
    expect(ids(await readAll(await open(dataDir), all))).toEqual(ids(events(1, total + 1)));
  });

  it("tell what is lost in the middle of a file, newest or sealed, and keep what comes after it", async () => {
    const dataDir = newFolder();
    const total = SEGMENT_LIMITS.events + 3 * 64;
    const filled = await open(dataDir);
    for (let id = 1; id <= total; id += 64) await filled.events.append(events(id, id + 63));
    await filled.close();
    expect(files(dataDir)).toHaveLength(2);
    for (const name of files(dataDir)) {
      const path = join(dataDir, "events", name);
      const content = readFileSync(path);
      const [, second = Buffer.alloc(0)] = splitBatches(content).batches;
      second.writeUInt8(second.readUInt8(5) ^ 1, 5);
      writeFileSync(path, content);
    }
    const store = await open(dataDir);
    const page = await store.events.read({ tenant: null, worker_id: "w1" }, { afterId: 0, limit: total });
    const events64 = (fromId: number) => ({ fromId, id: fromId + 63 });
    expect(page.lost).toEqual([events64(65), events64(SEGMENT_LIMITS.events + 65)]);
    // Sealed segments know the runs in them: one that has nothing of a run is not even opened.
    const other = await store.events.read({ tenant: null, trace_id: "no such run" }, { afterId: 0, limit: 1 });
    expect(other.lost).toEqual([events64(SEGMENT_LIMITS.events + 65)]);
    expect(await store.events.bounds()).toEqual({ firstId: 1, lastId: total });
    expect(ids(await readAll(store, all))).toHaveLength(total - 128);
    expect((await store.events.read(all, { afterId: 128, limit: 10 })).lost).toBeUndefined();
    await store.events.trim({ maxEvents: 20, maxAgeMs: Number.MAX_SAFE_INTEGER / 1_000 }, 1_800_000_000_000);
    expect(ids(await readAll(store, all))).toEqual(ids(events(total - 19, total)));
    await store.close();
  });

  it("leave out a batch whose write was cut short or whose bytes are not what was written, and no other", async () => {
    const dataDir = newFolder();
    const store = await open(dataDir);
    for (const id of [1, 4, 7]) await store.events.append(events(id, id + 2));
    await store.close();
    const path = join(dataDir, "events", files(dataDir)[0] ?? "");
    const whole = readFileSync(path);
    const { batches } = splitBatches(whole);
    expect(batches).toHaveLength(3);
    const ends = batches.map((batch) => batch.byteOffset - whole.byteOffset + batch.length);
    const starts = [0, ...ends.slice(0, -1)];
    fc.assert(
      fc.property(fc.nat(whole.length), fc.option(fc.nat(whole.length - 1)), (length, flipped) => {
        const damaged = Buffer.from(whole.subarray(0, length));
        if (flipped !== null && flipped < length) damaged[flipped] = (damaged[flipped] ?? 0) ^ 1;
        const isGood = (_: Buffer, index: number) => {
          const [start = 0, end = 0] = [starts[index], ends[index]];
          return end <= length && (flipped === null || flipped < start || flipped >= end);
        };
        const good = batches.filter(isGood);
        const found = splitBatches(damaged);
        expect(found.batches).toEqual(good);
        expect(found.end).toBe(ends[batches.findLastIndex(isGood)] ?? 0);
        const missed = good.findIndex((batch, index) => batch !== batches[index]);
        expect(found.breaks).toEqual(missed === -1 ? [] : [missed]);
      }),
    );
    writeFileSync(path, whole.subarray(0, -1));
    const again = await open(dataDir);
    expect(await again.events.bounds()).toEqual({ firstId: 1, lastId: 6 });
    await again.events.append(events(7, 8));
    await again.close();
    expect(ids(await readAll(await open(dataDir), all))).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });
});
