import fc from "fast-check";
import { expect, it } from "vitest";
import { Cancellation } from "../../src/engine/deadline.ts";
import type { Lease } from "../../src/engine/session-request.ts";
import { CounterBackend } from "../kit/counter-backend.ts";
import type { Gate } from "../kit/gate.ts";
import { testEngine } from "../kit/test-engine.ts";

const ROUNDS = 10_000;
const TTL_MS = 100;

const ACTS = [
  "renew",
  "heartbeat",
  "sweep",
  "sweep",
  "acquire",
  "release",
  "begin",
  "finish",
  "call",
  "destroy",
] as const;
const step = fc.record({
  act: fc.constantFrom(...ACTS),
  /** Where the clock is set before the step, from the moment at which the session's time is over; else it stands still. */
  fromEndMs: fc.constantFrom(undefined, -1, 0, 1),
  /** How far what is under way gets before the next step. */
  turns: fc.integer({ min: 0, max: 4 }),
});

it("F03: a session is never both renewed, leased or answered and ended, in whatever order that meets its last millisecond", async () => {
  const counter = new CounterBackend();
  const { call, clock, create, router, worker, engine } = testEngine([counter], {
    sessionTtlMs: TTL_MS,
    sweepIntervalMs: 1_000_000_000,
    disconnectGraceMs: 0,
  });
  const mount = engine.catalog.mounts.get("counter");
  if (mount === undefined) throw new Error("the backend is not mounted");
  let round = 0;

  const play = async (steps: readonly (typeof step extends fc.Arbitrary<infer T> ? T : never)[]) => {
    round += 1;
    const caller = worker(`w${round}`);
    const pinned = async (action: string, params: object, sessionId: string) =>
      call(action, { ...params }, { caller, sessionId, timeoutMs: 1_000_000 });
    const { record } = await create("counter", caller);
    const leases: Lease[] = [];
    const held: { readonly gate: Gate; readonly answer: Promise<unknown> }[] = [];
    const answers: Promise<unknown>[] = [];
    /** It has been promised to live until then. */
    let until = clock.now() + TTL_MS;
    let value = 0;
    let destroyed = false;
    /** A call's end is on its way, so that it is not known who holds the session. */
    let unsure = false;
    const promise = () => (until = Math.max(until, clock.now() + TTL_MS));
    const isCleaned = () => counter.cleaned.some(({ id }) => id === record.id);

    const acts: Readonly<Record<(typeof ACTS)[number], () => void>> = {
      renew() {
        const found = router.find(caller, "counter");
        expect(found === record).toBe(!record.ending);
        if (found !== undefined) {
          router.renew(found);
          until = clock.now() + TTL_MS;
        }
      },
      heartbeat() {
        const renewed = router.heartbeat(caller).includes(record);
        expect(renewed).toBe(!record.ending);
        if (renewed) promise();
      },
      sweep() {
        router.sweep();
      },
      acquire() {
        const options = { sessionId: record.id, deadline: new Cancellation() };
        const lease = router.acquire(mount, caller, { cancel: () => undefined }, options);
        if (lease instanceof Promise) {
          expect(record.ending).toBe(true);
          answers.push(expect(lease).rejects.toMatchObject({ status: 404 }));
        } else {
          expect([lease.record === record, record.ending]).toEqual([true, false]);
          leases.push(lease);
          promise();
        }
      },
      release() {
        const lease = leases.pop();
        lease?.release();
        if (lease !== undefined) promise();
      },
      begin() {
        const gate = counter.gate(`${round}-${held.length}-${answers.length}`);
        const answer = pinned("counter:hold", { gate: `${round}-${held.length}-${answers.length}` }, record.id);
        if (record.ending) answers.push(expect(answer).resolves.toMatchObject({ ok: false, error: { status: 404 } }));
        else {
          held.push({ gate, answer });
          promise();
        }
      },
      finish() {
        const one = held.pop();
        one?.gate.open();
        if (one !== undefined) unsure = true;
        if (one !== undefined)
          answers.push(expect(one.answer).resolves.toMatchObject({ ok: true, data: { alive: true } }));
      },
      call() {
        const answer = pinned("counter:incr", {}, record.id);
        // It has run by now: nothing is queued and the tool is no promise.
        if (record.ending) answers.push(expect(answer).resolves.toMatchObject({ ok: false, error: { status: 404 } }));
        else {
          value += 1;
          answers.push(expect(answer).resolves.toMatchObject({ ok: true, data: { value } }));
          promise();
        }
      },
      destroy() {
        destroyed ||= !record.ending;
        void router.destroy(record, "destroyed");
      },
    };

    for (const { act, fromEndMs, turns } of steps) {
      if (fromEndMs !== undefined) clock.skip(Math.max(0, record.expiresAt + fromEndMs - clock.now()));
      const wasEnding = record.ending;
      const isFree = leases.length === 0 && held.length === 0;
      const isDue = clock.now() >= until;
      acts[act]();
      const looked = act !== "release" && act !== "finish";
      if (looked && isFree && isDue && !unsure) expect(record.ending).toBe(true);
      if (wasEnding) expect(record.ending).toBe(true);
      else if (record.ending && !destroyed) expect([record.endReason, isFree, isDue]).toEqual(["expired", true, true]);
      // oxlint-disable-next-line no-await-in-loop -- the turns between two steps are what is tried
      for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
      if (leases.length > 0 || held.length > 0) expect(isCleaned()).toBe(false);
    }

    for (const { gate } of held) gate.open();
    for (const { answer } of held)
      answers.push(expect(answer).resolves.toMatchObject({ ok: true, data: { alive: true } }));
    for (const lease of leases) lease.release();
    await Promise.all(answers);
    if (!record.ending && clock.now() < until) {
      // Who was told that it lives finds it, with what is in it.
      expect(isCleaned()).toBe(false);
      expect(await pinned("counter:get", {}, record.id)).toMatchObject({
        ok: true,
        data: { value, session_id: record.id },
      });
    }
    await router.destroy(record, "destroyed");
    expect(counter.cleaned.splice(0).map(({ id }) => id)).toEqual([record.id]);
    counter.holds.clear();
  };

  await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 12 }), play), { numRuns: ROUNDS });
}, 300_000);
