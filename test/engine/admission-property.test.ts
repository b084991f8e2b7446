import fc from "fast-check";
import { expect, it } from "vitest";
import { ToolyardError } from "../../src/core/errors.ts";
import { Admission } from "../../src/engine/admission.ts";
import type { Ticket } from "../../src/engine/admission-lane.ts";
import { Cancellation } from "../../src/engine/deadline.ts";
import { defaultLimits } from "../../src/engine/limits.ts";
import { SerialQueue } from "../../src/engine/serial-queue.ts";
import { ManualClock } from "../kit/manual-clock.ts";

const limits = {
  ...defaultLimits,
  maxConcurrentCalls: 4,
  maxConcurrentPerBackend: 3,
  maxConcurrentPerWorker: 2,
  maxQueuedCalls: 12,
  maxQueuedPerBackend: 9,
  maxQueuedPerWorker: 6,
};

interface Item {
  readonly worker: number;
  readonly backend: number;
  readonly turns: SerialQueue | undefined;
  readonly wait: Cancellation;
  state: "waiting" | "running" | "left" | "cancelled";
  ticket: Ticket | undefined;
  starts: number;
  /** How often each other worker was served on this backend while this call was the first of its own and could go. */
  passedBy: Map<number, number>;
}

const arrival = fc.record({
  kind: fc.constant("arrive" as const),
  worker: fc.integer({ min: 0, max: 3 }),
  backend: fc.integer({ min: 0, max: 2 }),
});
const pick = fc.record({ kind: fc.constantFrom("leave" as const, "cancel" as const), nth: fc.nat(20) });

/** Backend 0 is serial: one turn for each worker's session. */
class World {
  readonly admission = new Admission(limits, new ManualClock());
  readonly items: Item[] = [];
  readonly #turns = [0, 1, 2, 3].map(() => new SerialQueue());

  arrive(worker: number, backend: number): void {
    const caller = { tenant: "t", workerId: `w${worker}` };
    const turns = backend === 0 ? this.#turns[worker] : undefined;
    const item: Item = {
      worker,
      backend,
      turns,
      wait: new Cancellation(),
      state: "waiting",
      ticket: this.admission.tryEnter(caller, `b${backend}`, turns),
      starts: 0,
      passedBy: new Map(),
    };
    if (item.ticket !== undefined) this.#start(item);
    else {
      const queued = this.of("waiting");
      const full =
        queued.length >= limits.maxQueuedCalls ||
        queued.filter((other) => other.backend === backend).length >= limits.maxQueuedPerBackend ||
        queued.filter((other) => other.worker === worker).length >= limits.maxQueuedPerWorker;
      try {
        item.ticket = this.admission.queue(caller, `b${backend}`);
      } catch (error) {
        expect([ToolyardError.is(error), full]).toEqual([true, true]);
        return;
      }
      expect(full).toBe(false);
      this.admission.enter(item.ticket, turns, item.wait).then(
        () => this.#start(item),
        () => undefined,
      );
    }
    this.items.push(item);
  }

  leave(nth: number): void {
    const running = this.of("running");
    const item = running[nth % running.length];
    if (item === undefined) return;
    item.state = "left";
    item.turns?.leave();
    item.ticket?.leave();
  }

  cancel(nth: number): void {
    const waiting = this.of("waiting");
    const item = waiting[nth % waiting.length];
    if (item === undefined) return;
    item.state = "cancelled";
    item.wait.cancel(new ToolyardError("cancelled", "gone"));
  }

  of(state: Item["state"]): Item[] {
    return this.items.filter((item) => item.state === state);
  }

  check(): void {
    const running = this.of("running");
    const waiting = this.of("waiting");
    expect(this.admission.report()).toMatchObject({ running: running.length, queued: waiting.length });
    expect(running.length).toBeLessThanOrEqual(limits.maxConcurrentCalls);
    const count = (key: "worker" | "backend", value: number) => running.filter((item) => item[key] === value).length;
    for (const item of [...running, ...waiting]) {
      expect(count("backend", item.backend)).toBeLessThanOrEqual(limits.maxConcurrentPerBackend);
      expect(count("worker", item.worker)).toBeLessThanOrEqual(limits.maxConcurrentPerWorker);
      expect(item.starts).toBe(item.state === "running" ? 1 : 0);
    }
    // Nobody waits who could go.
    for (const item of waiting) expect(running.length < limits.maxConcurrentCalls && this.#mayGo(item)).toBe(false);
    for (const item of waiting) if (this.#held(item)) item.passedBy.clear();
  }

  #held(item: Item): boolean {
    const running = this.of("running");
    return (
      running.filter((other) => other.worker === item.worker).length >= limits.maxConcurrentPerWorker ||
      (item.turns !== undefined && running.some((other) => other.turns === item.turns))
    );
  }

  #mayGo(item: Item): boolean {
    const onBackend = this.of("running").filter((other) => other.backend === item.backend).length;
    return onBackend < limits.maxConcurrentPerBackend && !this.#held(item);
  }

  #start(item: Item): void {
    const ahead = this.of("waiting").filter((other) => other.backend === item.backend && other !== item);
    const firsts = ahead.filter((other) => ahead.find(({ worker }) => worker === other.worker) === other);
    for (const first of firsts) {
      if (first.worker === item.worker) continue;
      const passes = (first.passedBy.get(item.worker) ?? 0) + 1;
      first.passedBy.set(item.worker, passes);
      // In its turn: nobody goes twice before it, but for one who was ahead of it when it became the first.
      if (!this.#held(first)) expect(passes).toBeLessThanOrEqual(2);
    }
    item.state = "running";
    item.starts += 1;
  }
}

it("E08: E09: whatever comes, ends and goes away: no limit is passed, nobody is lost, served twice or passed by", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(arrival, arrival, pick), { maxLength: 120 }), async (steps) => {
      const world = new World();
      for (const step of steps) {
        if (step.kind === "arrive") world.arrive(step.worker, step.backend);
        else world[step.kind](step.nth);
        // Those that were let in are told in a microtask.
        await Promise.resolve();
        await Promise.resolve();
        world.check();
      }
      while (world.of("running").length > 0) {
        world.leave(0);
        await Promise.resolve();
        await Promise.resolve();
        world.check();
      }
      expect(world.of("waiting")).toEqual([]);
      expect(world.admission.workerCount).toBe(0);
    }),
    { numRuns: 500 },
  );
});
