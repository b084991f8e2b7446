import { expect, test } from "vitest";
import { Heartbeat } from "../../src/client/heartbeat.ts";
import { ManualClock } from "../kit/manual-clock.ts";

test("beats at every interval and stops when told", async () => {
  const clock = new ManualClock();
  let beats = 0;
  const heartbeat = new Heartbeat({ intervalMs: 100, clock, beat: async () => (beats += 1) });
  heartbeat.start();
  heartbeat.start();
  await clock.advance(99);
  expect(beats).toBe(0);
  await clock.advance(1);
  await clock.advance(100);
  expect(beats).toBe(2);
  heartbeat.stop();
  await clock.advance(1_000);
  expect(beats).toBe(2);
  expect(clock.pending).toBe(0);
});

test("a beat that takes longer than the interval is not overtaken, and is aborted by stop", async () => {
  const clock = new ManualClock();
  const signals: AbortSignal[] = [];
  const heartbeat = new Heartbeat({
    intervalMs: 100,
    clock,
    beat: (signal) => {
      signals.push(signal);
      return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    },
    onFailure: () => expect.fail("a stop is no failure"),
  });
  heartbeat.start();
  await clock.advance(100);
  await clock.advance(100);
  expect(signals).toHaveLength(1);
  heartbeat.stop();
  expect(signals[0]?.aborted).toBe(true);
  await clock.advance(0);
});

test("reports a beat that failed and goes on", async () => {
  const clock = new ManualClock();
  const failures: unknown[] = [];
  const heartbeat = new Heartbeat({
    intervalMs: 100,
    clock,
    beat: () => Promise.reject(new Error("no answer")),
    onFailure: (error) => failures.push(error),
  });
  heartbeat.start();
  await clock.advance(100);
  await clock.advance(100);
  expect(failures).toHaveLength(2);
  heartbeat.stop();
});
