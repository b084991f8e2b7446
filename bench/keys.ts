// Benchmark: what a key costs a request: nothing where none is asked for, against one SHA-256 where it is.
import type { IncomingMessage } from "node:http";
import { systemClock } from "../src/core/clock.ts";
import { digestOf } from "../src/server/auth/api-key.ts";
import { AuditTrail } from "../src/server/auth/audit-trail.ts";
import { Doorkeeper } from "../src/server/auth/doorkeeper.ts";
import { KeyAdmin } from "../src/server/auth/key-admin.ts";
import { KeyRing } from "../src/server/auth/key-ring.ts";
import { TicketBox } from "../src/server/auth/ticket-box.ts";
import { TokenBuckets } from "../src/server/auth/token-buckets.ts";
import { createMemoryStore } from "../src/store/memory/memory-store.ts";
import { printTable } from "./table.ts";

const ROUNDS = 7;
const PER_ROUND = 200_000;

const clock = systemClock;
const store = createMemoryStore();
const silent = { debug() {}, info() {}, warn() {}, error() {}, child: () => silent };
const audit = new AuditTrail(store.audit, clock, silent);
const admin = new KeyAdmin({ keys: store.keys, audit, clock });
const { key } = await admin.create({ name: "bench" }, { tenant: null, keyId: null });

const limit = { requestsPerMinute: 1e9, burst: 1e9 };
const newDoor = (required: boolean, limited: boolean) =>
  new Doorkeeper({
    ring: new KeyRing({ keys: store.keys, clock }),
    tickets: new TicketBox(clock),
    audit,
    required,
    rate: limited ? new TokenBuckets(limit, clock) : undefined,
    failures: new TokenBuckets(limit, clock),
  });
// All that the door looks at.
const incoming = {
  url: "/execute",
  headers: { authorization: `Bearer ${key}` },
  socket: { remoteAddress: "127.0.0.1" },
} as unknown as IncomingMessage;

/** Microseconds of processor time for one of many, the median of some rounds. */
async function costOf(work: () => unknown): Promise<number> {
  const costs: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    // A key is believed for a second; the look into the store that follows is a part of its cost.
    // oxlint-disable-next-line no-await-in-loop
    await work();
    const start = process.cpuUsage();
    for (let count = 0; count < PER_ROUND; count += 1) {
      const result = work();
      // oxlint-disable-next-line no-await-in-loop
      if (result instanceof Promise) await result;
    }
    const { user, system } = process.cpuUsage(start);
    costs.push((user + system) / PER_ROUND);
  }
  return costs.toSorted((left, right) => left - right)[ROUNDS >> 1] ?? Number.NaN;
}

const [open, keyed, limited] = [newDoor(false, false), newDoor(true, false), newDoor(true, true)];
const secret = key.split("_")[2] ?? "";
const rows = [
  ["no key asked for", () => open.open || open.authenticate(incoming)],
  ["SHA-256 of the secret alone (baseline)", () => digestOf(secret)],
  ["a key that is known", () => keyed.authenticate(incoming)],
  ["a key that is known, and its rate", () => limited.authenticate(incoming)],
] as const;
const measured = [];
// oxlint-disable-next-line no-await-in-loop -- one at a time
for (const [work, run] of rows) measured.push({ work, "µs of CPU": (await costOf(run)).toFixed(3) });
printTable("What a key costs a request", measured);
