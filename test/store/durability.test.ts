import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import Database from "better-sqlite3";
import { afterAll, describe, expect, it } from "vitest";
import { openStore } from "../../src/store/open-store.ts";
import { loadDriver } from "../../src/store/sqlite/load-driver.ts";
import { migrate, MIGRATIONS } from "../../src/store/sqlite/migrate.ts";
import { event, events, ids, job, readAll, session } from "../kit/store-records.ts";

const root = mkdtempSync(join(tmpdir(), "toolyard-durability-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

let count = 0;
const newFolder = () => join(root, String((count += 1)), "data");
const open = (dataDir: string) => openStore({ driver: "sqlite", dataDir });

/** Runs a child that writes until it has reported some batches, kills it, and returns the last id it had reported. */
async function killInMidWrite(dataDir: string, batches: number): Promise<number> {
  const child = spawn(process.execPath, [fileURLToPath(new URL("writing-child.ts", import.meta.url)), dataDir], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exit = once(child, "exit");
  let lastId = 0;
  let reported = 0;
  for await (const line of createInterface(child.stdout)) {
    lastId = Number(line);
    reported += 1;
    if (reported === batches) child.kill("SIGKILL");
  }
  await exit;
  return lastId;
}

describe("sqlite store on disk", () => {
  it("gives everything back after it was closed and opened again", async () => {
    const dataDir = newFolder();
    const store = await open(dataDir);
    for (let id = 1; id <= 500; id += 5) await store.events.append(events(id, id + 4));
    await store.sessions.put(session());
    await store.jobs.put(job());
    await store.idempotency.begin({ tenant: "t1", key: "k1", fingerprint: "f1", instance: "i1", keptAt: 1 });
    await store.close();

    const again = await open(dataDir);
    expect(await readAll(again, { tenant: null })).toEqual(events(1, 500));
    expect(await again.events.lastSeqs(["s1"])).toEqual(new Map([["s1", 500]]));
    expect(await again.sessions.live()).toEqual([session()]);
    expect(await again.jobs.get("t1", "j1")).toEqual(job());
    expect(await again.idempotency.markUnknown("i2")).toBe(1);
    await again.events.append([event(501)]);
    await again.events.trim({ maxEvents: 0, maxAgeMs: 1 }, 0);
    await again.close();

    const empty = await open(dataDir);
    expect(await empty.events.bounds()).toEqual({ firstId: 502, lastId: 501 });
    expect(await empty.events.lastSeqs(["s1"])).toEqual(new Map([["s1", 501]]));
    await empty.close();
  });

  it("holds what had resolved when its process was killed in mid-write, and no part of a write", async () => {
    const dataDir = newFolder();
    let resolvedId = 0;
    for (const batches of [3, 150, 40]) {
      resolvedId = await killInMidWrite(dataDir, batches);
      const store = await open(dataDir);
      const { lastId } = await store.events.bounds();
      expect(lastId).toBeGreaterThanOrEqual(resolvedId);
      expect(ids(await readAll(store, { tenant: null }))).toEqual(ids(events(1, lastId)));
      expect(await store.sessions.get("t1", `s${resolvedId}`)).not.toBeNull();
      expect(await store.idempotency.get("t1", `k${resolvedId}`)).not.toBeNull();
      await store.close();
    }
    expect(new Database(join(dataDir, "toolyard.db")).pragma("integrity_check", { simple: true })).toBe("ok");
  });

  it("lets one server at a time use a folder, and the next one after that has ended", async () => {
    const dataDir = newFolder();
    const store = await open(dataDir);
    await expect(open(dataDir)).rejects.toMatchObject({
      name: "StoreError",
      reason: "locked",
      message: expect.stringContaining(dataDir),
    });
    await store.events.append([event(1)]);
    await store.close();
    const next = await open(dataDir);
    expect(await next.events.get(null, 1)).toEqual(event(1));
    await next.close();
  });

  it("is readable by its owner only", async () => {
    const dataDir = newFolder();
    const store = await open(dataDir);
    await store.events.append([event(1)]);
    const mode = (path: string) => statSync(path).mode & 0o777;
    expect(mode(dataDir)).toBe(0o700);
    for (const file of ["toolyard.db", "toolyard.db-wal", "toolyard.lock"])
      expect(mode(join(dataDir, file))).toBe(0o600);
    await store.close();
    chmodSync(join(dataDir, "toolyard.db"), 0o644);
    await (await open(dataDir)).close();
    expect(mode(join(dataDir, "toolyard.db"))).toBe(0o600);
  });

  it("brings a file of an older version up to date and keeps what is in it", async () => {
    const dataDir = newFolder();
    await (await open(dataDir)).close();
    rmSync(join(dataDir, "toolyard.db"));
    const old = new Database(join(dataDir, "toolyard.db"));
    migrate(old, MIGRATIONS.slice(0, 1));
    old.exec(`INSERT INTO idempotency VALUES ('t1', 'k1', 'f1', 'done', 'i1', 1000, '{}')`);
    expect(() => old.exec("SELECT * FROM event_segments")).toThrow("no such table");
    old.close();

    const store = await open(dataDir);
    expect(await store.idempotency.get("t1", "k1")).toMatchObject({ state: "done", answer: "{}" });
    await store.events.append([event(1)]);
    expect(await store.events.get("t1", 1)).toEqual(event(1));
    await store.close();
  });

  it("takes no half of a migration", () => {
    const database = new Database(":memory:");
    expect(() => migrate(database, ["CREATE TABLE a (x); CREATE TABLE broken ("])).toThrow("incomplete input");
    expect(database.pragma("user_version", { simple: true })).toBe(0);
    expect(() => database.exec("SELECT * FROM a")).toThrow("no such table");
    database.close();
  });

  it("refuses the file of a newer version and leaves it as it is", async () => {
    const dataDir = newFolder();
    await (await open(dataDir)).close();
    const newer = new Database(join(dataDir, "toolyard.db"));
    newer.pragma(`user_version = ${MIGRATIONS.length + 1}`);
    newer.close();
    for (let attempt = 0; attempt < 2; attempt += 1) {
      await expect(open(dataDir)).rejects.toMatchObject({ reason: "newer", message: expect.stringContaining(dataDir) });
    }
  });

  it("says that a file is no database, and lets go of the folder", async () => {
    const dataDir = newFolder();
    await (await open(dataDir)).close();
    writeFileSync(join(dataDir, "toolyard.db"), "this is no database, by any means ".repeat(200));
    for (let attempt = 0; attempt < 2; attempt += 1) {
      await expect(open(dataDir)).rejects.toMatchObject({
        reason: "corrupt",
        message: expect.stringContaining(dataDir),
      });
    }
  });

  it("says which folder cannot be used", async () => {
    const file = join(root, "a-file");
    writeFileSync(file, "");
    await expect(open(join(file, "data"))).rejects.toMatchObject({
      reason: "unavailable",
      message: expect.stringContaining(file),
    });
  });

  it("names the package and the Node that it needs instead of crashing on an old one", async () => {
    await expect(loadDriver("20.20.0")).rejects.toMatchObject({
      reason: "unavailable",
      message: expect.stringMatching(/Node 22.*better-sqlite3.*20\.20\.0/),
    });
  });
});
