import { describe, expect, it } from "vitest";
import { ToolyardError } from "../../src/core/errors.ts";
import { Admission, type AdmissionLimits } from "../../src/engine/admission.ts";
import type { Ticket } from "../../src/engine/admission-lane.ts";
import { Cancellation } from "../../src/engine/deadline.ts";
import { defaultLimits } from "../../src/engine/limits.ts";
import { SerialQueue } from "../../src/engine/serial-queue.ts";
import { ManualClock, settle } from "../kit/manual-clock.ts";

/** An admission whose calls note their names when they start, and leave when the test says. */
function testAdmission(limits: Partial<AdmissionLimits>) {
  const clock = new ManualClock();
  const admission = new Admission({ ...defaultLimits, ...limits }, clock);
  const served: string[] = [];
  const running: Ticket[] = [];
  const start = (name: string, ticket: Ticket) => {
    served.push(name);
    running.push(ticket);
  };
  const arrive = (workerId: string, resource = "r", turns?: SerialQueue, wait = new Cancellation()) => {
    const caller = { tenant: "default", workerId };
    const name = `${workerId}${resource === "r" ? "" : `:${resource}`}`;
    const ticket = admission.tryEnter(caller, resource, turns);
    if (ticket !== undefined) return start(name, ticket);
    const waiting = admission.queue(caller, resource);
    admission.enter(waiting, turns, wait).then(
      () => start(name, waiting),
      () => served.push(`${name} gone`),
    );
  };
  /** Ends the call that has run longest. */
  const finish = async () => {
    running.shift()?.leave();
    await settle();
  };
  return { admission, clock, served, running, arrive, finish };
}

const refusal = (arrive: () => void): ToolyardError => {
  try {
    arrive();
  } catch (error) {
    if (ToolyardError.is(error)) return error;
    throw error;
  }
  throw new Error("it was let in");
};

describe("admission", () => {
  it("E09: ten calls of one worker pass ten thousand of another, one for one", async () => {
    const { served, arrive, finish, admission } = testAdmission({ maxConcurrentCalls: 1 });
    for (let index = 0; index <= 10_000; index += 1) arrive("greedy");
    for (let index = 0; index < 10; index += 1) arrive("polite");
    for (let index = 0; index < 20; index += 1) await finish();
    expect(served.slice(1)).toEqual(Array.from({ length: 10 }, () => ["greedy", "polite"]).flat());
    expect(admission.report()).toMatchObject({ running: 1, queued: 9_990 });
  });

  it("E09: workers of one name in two tenants are two", async () => {
    const { admission } = testAdmission({ maxConcurrentPerWorker: 1 });
    expect(admission.tryEnter({ tenant: "a", workerId: "w" }, "r")).toBeDefined();
    expect(admission.tryEnter({ tenant: "a", workerId: "w" }, "r")).toBeUndefined();
    expect(admission.tryEnter({ tenant: "b", workerId: "w" }, "r")).toBeDefined();
  });

  it("keeps the order of one worker's calls on a backend", async () => {
    const { arrive, finish, admission, served } = testAdmission({ maxConcurrentCalls: 1 });
    const order: number[] = [];
    arrive("w");
    for (let index = 0; index < 5; index += 1) {
      const ticket = admission.queue({ tenant: "default", workerId: "w" }, "r");
      void admission.enter(ticket, undefined, new Cancellation()).then(() => {
        order.push(index);
        ticket.leave();
      });
    }
    await finish();
    expect(order).toEqual([0, 1, 2, 3, 4]);
    expect(served).toEqual(["w"]);
  });

  it("D11: a full backend holds up no other one, and neither does a worker at its own limit", async () => {
    const { served, arrive, finish } = testAdmission({ maxConcurrentPerBackend: 2, maxConcurrentPerWorker: 3 });
    for (let index = 0; index < 1_000; index += 1) arrive(`w${index}`, "hung");
    arrive("w2", "fine");
    arrive("v", "fine");
    expect(served).toEqual(["w0:hung", "w1:hung", "w2:fine", "v:fine"]);
    await finish();
    expect(served.at(-1)).toBe("w2:hung");
  });

  it("serves lanes of different backends in the order in which they came", async () => {
    const { served, arrive, finish } = testAdmission({ maxConcurrentCalls: 1 });
    arrive("first", "x");
    for (let index = 0; index < 3; index += 1) arrive("a", "x");
    for (let index = 0; index < 3; index += 1) arrive("b", "y");
    arrive("c", "x");
    for (let index = 0; index < 7; index += 1) await finish();
    expect(served.slice(1)).toEqual(["a:x", "b:y", "c:x", "a:x", "b:y", "a:x", "b:y"]);
  });

  it("gives a serial session's turn and a slot together, so that who waits for the turn holds no slot", async () => {
    const { served, arrive, finish, admission } = testAdmission({ maxConcurrentCalls: 2 });
    const turns = new SerialQueue();
    for (let index = 0; index < 3; index += 1) arrive("serial", "r", turns);
    arrive("other");
    arrive("third");
    expect(served).toEqual(["serial", "other"]);
    expect(admission.report()).toMatchObject({ running: 2, queued: 3 });
    turns.leave();
    await finish();
    expect(served).toEqual(["serial", "other", "third"]);
    await finish();
    expect(served).toEqual(["serial", "other", "third", "serial"]);
  });

  it("serves whoever waits for a turn that a nested call gives back", async () => {
    const { served, arrive } = testAdmission({});
    const turns = new SerialQueue();
    turns.tryEnter();
    arrive("w", "r", turns);
    expect(served).toEqual([]);
    turns.leave();
    await settle();
    expect(served).toEqual(["w"]);
  });

  it("E12: a call that ends while it waits leaves the queue at once", async () => {
    const { served, arrive, finish, admission } = testAdmission({ maxConcurrentCalls: 1 });
    arrive("a");
    const wait = new Cancellation();
    arrive("b", "r", undefined, wait);
    arrive("c");
    wait.cancel(new ToolyardError("timeout", "b timed out"));
    expect(admission.report().queued).toBe(1);
    await finish();
    expect(served).toEqual(["a", "b gone", "c"]);
  });

  it.each([
    ["max_queued_calls", { maxQueuedCalls: 3 }],
    ["max_queued_per_backend", { maxQueuedPerBackend: 3 }],
    ["max_queued_per_worker", { maxQueuedPerWorker: 3 }],
  ])("E08: refuses more than %s, and names it", (limit, limits) => {
    const { arrive, admission } = testAdmission({ maxConcurrentCalls: 1, ...limits });
    for (let index = 0; index < 4; index += 1) arrive("w");
    expect(refusal(() => arrive("w"))).toMatchObject({
      error: "overloaded",
      status: 429,
      retryable: true,
      details: { limit, maximum: 3, queued: 3, retry_after_ms: 1_000 },
    });
    expect(admission.report()).toMatchObject({ running: 1, queued: 3 });
    if (limit === "max_queued_per_worker") expect(() => arrive("another")).not.toThrow();
  });

  it("E08: tells when to try again by how fast the queue drained while calls waited", async () => {
    const { arrive, finish, clock, admission } = testAdmission({ maxConcurrentCalls: 1, maxQueuedCalls: 100 });
    for (let index = 0; index < 101; index += 1) arrive("w");
    for (let index = 0; index < 50; index += 1) {
      clock.skip(100);
      await finish();
    }
    expect(admission.report().drained_per_second).toBeCloseTo(10, 0);
    for (let index = 0; index < 50; index += 1) arrive("w");
    const { details } = refusal(() => arrive("w"));
    // A hundred calls at ten a second.
    expect(details?.["retry_after_ms"]).toBeGreaterThan(8_000);
    expect(details?.["retry_after_ms"]).toBeLessThan(12_000);
    clock.skip(600_000);
    expect(refusal(() => arrive("w")).details).toMatchObject({ retry_after_ms: 60_000 });
  });

  it("E08: an idle hour does not slow the measure down", async () => {
    const { arrive, finish, clock, admission } = testAdmission({ maxConcurrentCalls: 1, maxQueuedCalls: 20 });
    const burst = async () => {
      for (let index = 0; index < 21; index += 1) arrive("w");
      for (let index = 0; index < 21; index += 1) {
        clock.skip(10);
        await finish();
      }
    };
    await burst();
    const before = admission.report().drained_per_second;
    clock.skip(3_600_000);
    await burst();
    expect(admission.report().drained_per_second).toBeCloseTo(before, -1);
  });

  it("leaves nothing behind", async () => {
    const { arrive, finish, running, admission } = testAdmission({ maxConcurrentCalls: 2 });
    const wait = new Cancellation();
    for (let index = 0; index < 30; index += 1) arrive(`w${index % 7}`, `r${index % 3}`, undefined, wait);
    await finish();
    wait.cancel(new ToolyardError("cancelled", "all of them"));
    await settle();
    while (running.length > 0) await finish();
    expect(admission.workerCount).toBe(0);
    expect(admission.report()).toMatchObject({ running: 0, queued: 0 });
  });
});
