import { expect, it } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { Admission } from "../../src/engine/admission.ts";
import type { Ticket } from "../../src/engine/admission-lane.ts";
import { Cancellation } from "../../src/engine/deadline.ts";
import { defaultLimits } from "../../src/engine/limits.ts";

const GREEDY = { tenant: "t", workerId: "greedy" };
const POLITE = { tenant: "t", workerId: "polite" };
const AT_ONCE = defaultLimits.maxConcurrentPerWorker;
/** No more than this many calls of others start between two looks at the sockets. */
const SHARE = 8;

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

/** An admission on which one worker runs all that it may and has hundreds waiting; what starts is told. */
function greedy(waiting: number) {
  const admission = new Admission(defaultLimits, systemClock);
  const started: Ticket[] = [];
  const running: Ticket[] = [];
  for (let index = 0; index < AT_ONCE; index += 1) {
    const ticket = admission.tryEnter(GREEDY, "probe");
    if (ticket !== undefined) running.push(ticket);
  }
  for (let index = 0; index < waiting; index += 1) {
    const ticket = admission.queue(GREEDY, "probe");
    void admission.enter(ticket, undefined, new Cancellation()).then(() => started.push(ticket));
  }
  return { admission, started, running };
}

it("E09: when all of a worker's calls end in one moment, those that follow do not all start in the same turn", async () => {
  const { admission, started, running } = greedy(500);
  expect(running).toHaveLength(AT_ONCE);
  for (const ticket of running) ticket.leave();
  expect(admission.report().running).toBe(SHARE);
  const counts: number[] = [];
  for (let turn = 0; turn < AT_ONCE / SHARE; turn += 1) {
    await nextTurn();
    counts.push(started.length);
  }
  for (const [turn, count] of counts.entries()) expect(count).toBeLessThanOrEqual(SHARE * (turn + 2));
  await nextTurn();
  // Every place is taken all the same, a few turns later, with nothing else to wake it.
  expect(admission.report().running).toBe(AT_ONCE);
});

it("E09: a call that comes meanwhile is the next but one, and nobody who waits is passed by those who come", async () => {
  const { admission, started, running } = greedy(500);
  for (const ticket of running) ticket.leave();
  expect(admission.tryEnter(POLITE, "probe")).toBeUndefined();
  const polite = admission.queue(POLITE, "probe");
  await admission.enter(polite, undefined, new Cancellation());
  // One turn's share, and its turn in the next.
  expect(started.length).toBeLessThanOrEqual(SHARE + 2);
  polite.leave();
});

it("starts everything in the end, one share a turn, whoever ends meanwhile", async () => {
  const { admission, started, running } = greedy(200);
  for (const ticket of running) ticket.leave();
  let seen = 0;
  for (let turn = 0; turn < 200 && started.length < 200; turn += 1) {
    await nextTurn();
    while (seen < started.length) started[seen++]?.leave();
  }
  expect(started).toHaveLength(200);
  expect(admission.report()).toMatchObject({ running: 0, queued: 0 });
});
