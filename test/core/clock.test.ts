import { describe, expect, it, onTestFinished, vi } from "vitest";
import { systemClock } from "../../src/core/clock.ts";

function fired(delayMs: number): Promise<number> {
  const startedAt = performance.now();
  return new Promise((resolve) => {
    systemClock.after(delayMs, () => resolve(performance.now() - startedAt));
  });
}

describe("the system's clock", () => {
  it.each([0, 1, 19, 20, 35, 120])("wakes after %i ms and no earlier", async (delayMs) => {
    // Node's timers count whole milliseconds and may be one early.
    expect(await fired(delayMs)).toBeGreaterThanOrEqual(delayMs - 1);
  });

  it.each([3_600_000, -3_600_000])("F08: does not follow a wall clock that jumps by %i ms", async (jumpMs) => {
    vi.useFakeTimers({ toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
    const [before, date] = [systemClock.now(), systemClock.date().getTime()];
    const woken = fired(20);
    vi.setSystemTime(date + jumpMs);
    expect(systemClock.date().getTime()).toBe(date + jumpMs);
    expect(systemClock.now()).toBeGreaterThanOrEqual(before);
    await woken;
    // A bound that no pause of a busy machine comes near.
    expect(systemClock.now() - before).toBeLessThan(1_800_000);
  });

  it("wakes nobody who took it back, whether at once or later", async () => {
    const woken: string[] = [];
    systemClock.after(30, () => woken.push("at once"))();
    const later = systemClock.after(600, () => woken.push("later"));
    const soon = systemClock.after(15, () => woken.push("soon"));
    soon();
    // By a timer that is due first: a busy machine may be late with both.
    systemClock.after(40, later);
    await fired(700);
    expect(woken).toEqual([]);
  });

  it("wakes in the order of the times, whatever the order of the asking", async () => {
    const woken: number[] = [];
    for (const delayMs of [300, 150, 5]) systemClock.after(delayMs, () => woken.push(delayMs));
    await expect.poll(() => woken).toEqual([5, 150, 300]);
  });

  it("keeps that order when the machine was too busy to wake any in time", async () => {
    const woken: number[] = [];
    // Far apart, since the machine may pause between the askings too.
    for (const delayMs of [600, 200, 400]) systemClock.after(delayMs, () => woken.push(delayMs));
    const until = performance.now() + 610;
    while (performance.now() < until);
    await expect.poll(() => woken).toEqual([200, 400, 600]);
  });

  it("does not take a delay that is longer than Node's timers can for none", async () => {
    let woken = false;
    const cancel = systemClock.after(Number.MAX_SAFE_INTEGER, () => (woken = true));
    await fired(60);
    cancel();
    expect(woken).toBe(false);
  });
});
