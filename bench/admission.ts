// Benchmark: what admission adds to a call: nothing queued, and with 20,000 calls queued by 4,096 workers.
import { systemClock } from "../src/core/clock.ts";
import { Admission } from "../src/engine/admission.ts";
import type { Ticket } from "../src/engine/admission-lane.ts";
import { Cancellation } from "../src/engine/deadline.ts";
import { defaultLimits } from "../src/engine/limits.ts";
import { median } from "./load.ts";
import { printTable } from "./table.ts";

const CALLS = 200_000;
const ROUNDS = 7;
const QUEUED = 20_000;
const WORKERS = Array.from({ length: 4_096 }, (_, index) => `worker-${index}`);

// Names are joined anew, as they come from a request's JSON.
const callerOf = (index: number) => ({ tenant: "default", workerId: String(WORKERS[index % WORKERS.length]) });

/** Nanoseconds of one call that finds a slot at once and leaves it. */
function measureHotPath(): number {
  const admission = new Admission(defaultLimits, systemClock);
  const startedAt = performance.now();
  for (let index = 0; index < CALLS; index += 1) admission.tryEnter(callerOf(index), "bench")?.leave();
  return ((performance.now() - startedAt) / CALLS) * 1e6;
}

/** Nanoseconds of one call that queues, waits for 20,000 others and leaves. */
async function measureQueued(): Promise<number> {
  const admission = new Admission(defaultLimits, systemClock);
  const holders: Ticket[] = [];
  for (let index = 0; index < defaultLimits.maxConcurrentPerBackend; index += 1) {
    const ticket = admission.tryEnter(callerOf(index), "bench");
    if (ticket !== undefined) holders.push(ticket);
  }
  const startedAt = performance.now();
  const waiting = Array.from({ length: QUEUED }, async (_, index) => {
    const ticket = admission.queue(callerOf(index), "bench");
    await admission.enter(ticket, undefined, new Cancellation());
    ticket.leave();
  });
  for (const ticket of holders) ticket.leave();
  await Promise.all(waiting);
  return ((performance.now() - startedAt) / QUEUED) * 1e6;
}

const hot: number[] = [];
const queued: number[] = [];
// Round 0 warms up the compilers and is thrown away.
for (let round = 0; round <= ROUNDS; round += 1) {
  // One after another on purpose: they would share the CPU.
  // oxlint-disable-next-line no-await-in-loop
  const rounds = [measureHotPath(), await measureQueued()] as const;
  if (round === 0) continue;
  hot.push(rounds[0]);
  queued.push(rounds[1]);
}
printTable(`admission: medians of ${ROUNDS} rounds`, [
  { work: "a free slot: enter and leave", "ns/call": median(hot).toFixed(0), figure: "< 1000" },
  { work: `${QUEUED} queued: queue, wait, enter, leave`, "ns/call": median(queued).toFixed(0), figure: "" },
]);
