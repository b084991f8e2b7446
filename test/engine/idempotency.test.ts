import { describe, expect, it } from "vitest";
import { Idempotency } from "../../src/engine/idempotency.ts";
import { defaultLimits } from "../../src/engine/limits.ts";
import { SteadyTime } from "../../src/engine/steady-time.ts";
import { createMemoryStore } from "../../src/store/memory/memory-store.ts";
import { Gate } from "../kit/gate.ts";
import { ManualClock, settle } from "../kit/manual-clock.ts";
import { recordingLogger } from "../kit/recording-logger.ts";

const MINUTE_MS = 60_000;

function setUp(limits: Partial<typeof defaultLimits>) {
  const clock = new ManualClock();
  const idempotency = new Idempotency({
    store: createMemoryStore().idempotency,
    instance: "i",
    clock,
    time: new SteadyTime(clock),
    limits: { ...defaultLimits, ...limits },
    logger: recordingLogger(),
  });
  let runs = 0;
  const ask = (key: string, work: () => Promise<string> = async () => "x".repeat(100)) =>
    idempotency.once({ tenant: "t", key, fingerprint: "f", repeatable: false }, undefined, async () => {
      runs += 1;
      return { value: await work(), hadEffect: true };
    });
  const fill = async (name: string, count: number) => {
    for (let index = 0; index < count; index += 1) await ask(`${name}${index}`);
  };
  return { clock, idempotency, ask, fill, runs: () => runs };
}

describe("a keyed call that took long", () => {
  it("is not forgotten for those that came after it and ended before it", async () => {
    const { clock, ask, fill, runs } = setUp({ keptAnswersBytes: 20_000 });
    const gate = new Gate();
    const long = ask("long", async () => {
      await gate.passed;
      return "done";
    });
    await settle();
    await clock.advance(MINUTE_MS);
    await fill("early", 30);
    await clock.advance(15 * MINUTE_MS);
    gate.open();
    await long;
    await fill("late", 10);
    const before = runs();
    expect(await ask("long")).toEqual({ value: "done", replayed: true });
    expect(runs()).toBe(before);
  });

  it("keeps what is pinned, whatever comes after it and however long, and lets it grow old from then on", async () => {
    const { clock, idempotency, ask, fill } = setUp({
      keptAnswersBytes: 20_000,
      idempotencyRetentionMs: 20 * MINUTE_MS,
    });
    await ask("job");
    const unpin = idempotency.pin({ tenant: "t", key: "job", fingerprint: "f", repeatable: false });
    for (let minutes = 0; minutes < 60; minutes += 15) {
      // One after another: the clock is one.
      // oxlint-disable-next-line no-await-in-loop
      await clock.advance(15 * MINUTE_MS);
      // oxlint-disable-next-line no-await-in-loop
      await fill(`after ${minutes} `, 30);
      // oxlint-disable-next-line no-await-in-loop
      await idempotency.prune();
    }
    expect(await ask("job")).toMatchObject({ replayed: true });
    unpin();
    await clock.advance(19 * MINUTE_MS);
    await idempotency.prune();
    expect(await ask("job")).toMatchObject({ replayed: true });
    await clock.advance(2 * MINUTE_MS);
    await idempotency.prune();
    expect(await ask("job")).toMatchObject({ replayed: false });
  });

  it("is kept for the whole retention from its end on", async () => {
    const { clock, idempotency, ask } = setUp({ idempotencyRetentionMs: 10 * MINUTE_MS });
    const gate = new Gate();
    const long = ask("long", async () => {
      await gate.passed;
      return "done";
    });
    await clock.advance(15 * MINUTE_MS);
    gate.open();
    await long;
    await clock.advance(9 * MINUTE_MS);
    await idempotency.prune();
    expect(await ask("long")).toMatchObject({ replayed: true });
    await clock.advance(2 * MINUTE_MS);
    await idempotency.prune();
    expect(await ask("long")).toMatchObject({ replayed: false });
  });
});
