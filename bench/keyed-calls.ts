// Benchmark: what the store takes for a keyed call, with a database that gives room back, as by default, against one that never does.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { OpenGate } from "../src/store/open-gate.ts";
import { migrate } from "../src/store/sqlite/migrate.ts";
import { makeShrinkable, Shrinker } from "../src/store/sqlite/shrinker.ts";
import { SqliteIdempotency } from "../src/store/sqlite/sqlite-idempotency.ts";
import { WriteQueue } from "../src/store/sqlite/write-queue.ts";
import { median } from "./load.ts";
import { printTable } from "./table.ts";

const ROUNDS = 5;
const PARALLEL = 64;
/** Kept before anything is forgotten: about 190 MB with the larger answers. */
const KEPT = 320 * PARALLEL;
const ANSWERS = [300, 8_000];
const tenant = "default";
const fingerprint = "f".repeat(64);

const cpuMs = () => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};

/** The longest processor time of one turn of the event loop until the work is over. */
async function longestTurnMs(work: Promise<unknown>): Promise<number> {
  let over = false;
  let longest = 0;
  void work.finally(() => (over = true));
  for (let last = cpuMs(); !over; ) {
    // oxlint-disable-next-line no-await-in-loop -- turns follow each other
    await new Promise((resolve) => setImmediate(resolve));
    const now = cpuMs();
    longest = Math.max(longest, now - last);
    last = now;
  }
  return longest;
}

async function measure(shrinks: boolean, answerBytes: number) {
  const folder = mkdtempSync(join(tmpdir(), "toolyard-keyed-"));
  const database = new Database(join(folder, "toolyard.db"));
  if (shrinks) makeShrinkable(database);
  database.pragma("journal_mode = WAL");
  database.pragma("synchronous = NORMAL");
  migrate(database);
  const gate = new OpenGate();
  const queue = new WriteQueue(database);
  const store = new SqliteIdempotency(gate, queue, database, new Shrinker(gate, database));
  const answer = JSON.stringify({ value: "x".repeat(answerBytes) });
  const call = async (index: number) => {
    const key = `0f8e7d6c-5b4a-4928-8706-${index}`;
    await store.begin({ tenant, key, fingerprint, instance: "bench", keptAt: index });
    await store.finish(tenant, key, answer, index);
  };
  const calls = async (from: number, count: number) => {
    for (let index = from; index < from + count; index += PARALLEL) {
      // oxlint-disable-next-line no-await-in-loop -- as many at once as a turn of a busy server has
      await Promise.all(Array.from({ length: PARALLEL }, (_, place) => call(index + place)));
    }
  };
  const costOf = async (work: Promise<unknown>) => {
    const before = cpuMs();
    await work;
    return cpuMs() - before;
  };
  const write = await costOf(calls(0, KEPT));
  const look = await costOf(store.prune(0));
  // A full store forgets its oldest quarter, and fills up again.
  const forget = await costOf(store.prune(KEPT / 4));
  const again = await costOf(calls(KEPT, KEPT / 4));
  const part = await longestTurnMs(store.prune(KEPT / 2));
  const all = store.prune(Number.MAX_SAFE_INTEGER);
  const allMs = costOf(all);
  const most = Math.max(part, await longestTurnMs(all));
  const figures = {
    write: (write / KEPT) * 1000,
    forget: (forget / (KEPT / 4)) * 1000,
    again: (again / (KEPT / 4)) * 1000,
    look,
    all: (await allMs) / (KEPT / 1000),
    most,
  };
  database.close();
  rmSync(folder, { recursive: true });
  return figures;
}

const rows: Record<string, string | number>[] = [];
for (const answerBytes of ANSWERS) {
  for (const shrinks of [false, true]) {
    const rounds: Awaited<ReturnType<typeof measure>>[] = [];
    // Round 0 warms up the compilers and is thrown away.
    for (let round = 0; round <= ROUNDS; round += 1) {
      // oxlint-disable-next-line no-await-in-loop -- one after another on purpose
      const figures = await measure(shrinks, answerBytes);
      if (round > 0) rounds.push(figures);
    }
    const of = (field: keyof (typeof rounds)[number]) => median(rounds.map((round) => round[field])).toFixed(1);
    rows.push({
      "answer, bytes": answerBytes,
      database: shrinks ? "gives room back" : "never does (baseline)",
      "written, µs": of("write"),
      "the oldest quarter forgotten, µs each": of("forget"),
      "written again, µs": of("again"),
      "all forgotten, µs each": of("all"),
      "longest turn of forgetting, ms": of("most"),
      "looked at, and none is old, ms": of("look"),
    });
  }
}
printTable(`keyed calls: processor time of the store, of ${KEPT}, medians of ${ROUNDS} rounds`, rows);
