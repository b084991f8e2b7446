import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { setYoungTimer } from "../../src/core/young-timers.ts";

describe("young timers", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("fire once, never early, and late by their youth at most", () => {
    fc.assert(
      fc.property(fc.array(fc.record({ at: fc.nat(50), delayMs: fc.nat(5_000) }), { maxLength: 20 }), (timers) => {
        const start = performance.now();
        const fired = timers.map(() => [] as number[]);
        for (const [index, { at, delayMs }] of timers.entries()) {
          setTimeout(() => setYoungTimer(delayMs, () => fired[index]?.push(performance.now() - start)), at);
        }
        vi.advanceTimersByTime(6_000);
        for (const [index, { at, delayMs }] of timers.entries()) {
          const [firedAt = Number.NaN, ...more] = fired[index] ?? [];
          expect(more).toEqual([]);
          // Node's own timers round what is less than a millisecond up to one.
          const due = at + Math.max(1, delayMs);
          expect(firedAt).toBeGreaterThanOrEqual(due);
          expect(firedAt).toBeLessThanOrEqual(due + (delayMs < 1_000 ? 1 : 10));
        }
      }),
      { numRuns: 30 },
    );
  });

  it("never fire once they are taken back, young or grown", () => {
    for (const delayMs of [5, 50, 2_000]) {
      for (const ageMs of [0, 4, 9, 40, 1_500].filter((age) => age < delayMs)) {
        let fired = false;
        const cancel = setYoungTimer(delayMs, () => (fired = true));
        vi.advanceTimersByTime(ageMs);
        cancel();
        vi.advanceTimersByTime(5_000);
        expect(fired, `${delayMs} ms, taken back after ${ageMs}`).toBe(false);
      }
    }
    expect(vi.getTimerCount()).toBe(0);
  });
});
