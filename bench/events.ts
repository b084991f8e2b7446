// Benchmark: the event log: processor time per event of an append, against an insert per event, and how fast filtered reads are.
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import type { EventFilter, Store, StoredEvent } from "../src/core/store.ts";
import { printTable } from "./table.ts";

const { openStore } = await import("../dist/store/open-store.js");

const BATCHES = [1, 64, 1024];
const EVENTS = 32_768;
const READ_EVENTS = 262_144;
const SESSIONS = 400;

/** Two events a call, as the executor makes them. */
function makeEvents(firstId: number, count: number): StoredEvent[] {
  return Array.from({ length: count }, (_, index) => {
    const id = firstId + index;
    const call = id >>> 1;
    const session = call % SESSIONS;
    return {
      id,
      seq: Math.floor(call / SESSIONS) * 2 + (id & 1) + 1,
      type: id % 2 === 0 ? "call.started" : "call.completed",
      ts: new Date(1_790_000_000_000 + call).toISOString(),
      tenant: "default",
      worker_id: `worker-${session}`,
      session_id: `code_worker-${session}_001_0f8e7d6c5b4a39281706f5e4d3c2${session}`,
      resource: "code",
      call_id: `call_${call.toString(16).padStart(24, "0")}`,
      trace_id: `trace_${call.toString(16).padStart(24, "0")}`,
      data: id % 2 === 0 ? { action: "code:run" } : { action: "code:run", outcome: "ok", execution_time_ms: call % 97 },
    };
  });
}

const folders: string[] = [];
function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "toolyard-events-"));
  folders.push(folder);
  return folder;
}

function cpuSince(start: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(start);
  return user + system;
}

async function costOf(store: Store, batch: number, events: number): Promise<number> {
  let spent = 0;
  for (let id = 1; id <= events; id += batch) {
    const made = makeEvents(id, batch);
    const start = process.cpuUsage();
    await store.events.append(made);
    spent += cpuSince(start);
  }
  return spent / events;
}

/** What everybody writes first: a row an event, with indexes for the filters; a transaction a batch. */
function costOfRows(batch: number, events: number): number {
  const database = new Database(join(newFolder(), "rows.db"));
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 4096;
    CREATE TABLE events (id INTEGER PRIMARY KEY, seq INTEGER, ts TEXT, type TEXT, tenant TEXT, worker_id TEXT,
      session_id TEXT, call_id TEXT, json TEXT);
    CREATE INDEX by_worker ON events (worker_id, id); CREATE INDEX by_session ON events (session_id, id);
    CREATE INDEX by_call ON events (call_id, id);`);
  const insert = database.prepare("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)");
  const write = database.transaction((made: readonly StoredEvent[]) => {
    for (const event of made) {
      const { id, seq, ts, type, tenant, worker_id, session_id, call_id } = event;
      insert.run(id, seq, ts, type, tenant, worker_id, session_id, call_id, JSON.stringify(event));
    }
  });
  let spent = 0;
  for (let id = 1; id <= events; id += batch) {
    const made = makeEvents(id, batch);
    const start = process.cpuUsage();
    write(made);
    spent += cpuSince(start);
  }
  database.close();
  return spent / events;
}

const appends: Record<string, string>[] = [];
for (const batch of BATCHES) {
  const events = batch === 1 ? EVENTS / 8 : EVENTS;
  const sqlite = await openStore({ driver: "sqlite", dataDir: newFolder() });
  const memory = await openStore({ driver: "memory", dataDir: "" });
  // The first round warms the code up; its figures are not used.
  costOfRows(batch, events / 4);
  await costOf(await openStore({ driver: "sqlite", dataDir: newFolder() }), batch, events / 4);
  const rows = costOfRows(batch, events);
  const segments = await costOf(sqlite, batch, events);
  appends.push({
    "events a batch": String(batch),
    "row per event, µs": rows.toFixed(2),
    "segments, µs": segments.toFixed(2),
    "memory, µs": (await costOf(memory, batch, events)).toFixed(2),
    "segments against rows": `${(segments / rows).toFixed(2)} x`,
  });
  await sqlite.close();
}
printTable("event log: processor time of the main process per event appended (figure: ≤ 4 µs in batches)", appends);

const folder = newFolder();
const store = await openStore({ driver: "sqlite", dataDir: folder });
for (let id = 1; id <= READ_EVENTS; id += 1024) await store.events.append(makeEvents(id, 1024));
const middle = READ_EVENTS >>> 2;
const sample = makeEvents(middle * 2, 1)[0];
const reads: Record<string, string>[] = [];
async function measureRead(title: string, filter: EventFilter, limit: number): Promise<void> {
  const startedAt = performance.now();
  let found = 0;
  let afterId = 0;
  while (afterId < READ_EVENTS && found < limit) {
    const page = await store.events.read(filter, { afterId, limit: Math.min(1_000, limit - found) });
    found += page.events.length;
    afterId = page.throughId;
  }
  const spentMs = performance.now() - startedAt;
  const perSecond = Math.round((found / spentMs) * 1_000);
  reads.push({ read: title, ms: spentMs.toFixed(1), events: String(found), "events a second": String(perSecond) });
}
for (let round = 0; round < 2; round += 1) {
  reads.length = 0;
  await measureRead("all of it", { tenant: null }, Infinity);
  await measureRead("one worker", { tenant: "default", worker_id: "worker-7" }, Infinity);
  await measureRead("one session, first 100", { tenant: "default", session_id: sample?.session_id }, 100);
  await measureRead("one call, all of the log searched", { tenant: "default", call_id: sample?.call_id }, Infinity);
  await measureRead("a call that is not there", { tenant: "default", call_id: "call_none" }, Infinity);
}
const startedAt = performance.now();
for (let id = 1; id <= READ_EVENTS; id += 1021) await store.events.get(null, id);
const gets = Math.ceil(READ_EVENTS / 1021);
const getMs = performance.now() - startedAt;
reads.push({
  read: "get by id",
  ms: (getMs / gets).toFixed(2),
  events: "1",
  "events a second": String(Math.round((gets / getMs) * 1_000)),
});
const sizeMiB = statSync(join(folder, "toolyard.db")).size / 1_048_576;
printTable(`event log: reads of ${READ_EVENTS} events (${sizeMiB.toFixed(0)} MiB, in pages of 1,000)`, reads);
await store.close();
for (const each of folders) rmSync(each, { recursive: true, force: true });
