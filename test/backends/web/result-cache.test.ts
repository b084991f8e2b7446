import { describe, expect, it } from "vitest";
import { ResultCache } from "../../../src/backends/web/cache/result-cache.ts";
import { Pace } from "../../../src/backends/web/http/pace.ts";
import { Gate } from "../../kit/gate.ts";
import { ManualClock, settle } from "../../kit/manual-clock.ts";

const never = new AbortController().signal;
const open = (options: object = {}) => {
  const clock = new ManualClock();
  return { clock, cache: new ResultCache<string>({ ttlMs: 1_000, maxBytes: 100, clock, ...options }) };
};

describe("what is kept of answers", () => {
  it("is what was used last, within its bytes and its time", async () => {
    const { cache, clock } = open();
    // 1 for the key, 32 for the value as JSON.
    for (const key of ["a", "b", "c"]) await cache.ask(key, never, async () => key.repeat(30));
    expect(cache.get("a")).toBe("a".repeat(30));
    await cache.ask("d", never, async () => "d".repeat(30));
    expect(["a", "b", "c", "d"].map((key) => cache.get(key) !== undefined)).toEqual([true, false, true, true]);
    await cache.ask("e", never, async () => "e".repeat(200));
    expect(cache.get("e")).toBeUndefined();
    clock.skip(1_000);
    expect(cache.get("d")).toBeUndefined();
  });

  it("is no failure, and nothing at all where the time is 0", async () => {
    const { cache } = open();
    const failing = () => cache.ask("a", never, () => Promise.reject(new Error("no")));
    await expect(failing()).rejects.toThrow("no");
    expect(await cache.ask("a", never, async () => "yes")).toBe("yes");
    const { cache: none } = open({ ttlMs: 0 });
    await none.ask("a", never, async () => "yes");
    expect(none.get("a")).toBeUndefined();
  });

  it("is asked for once by all who wait, and the work ends when the last of them has left", async () => {
    const { cache } = open();
    const gate = new Gate();
    let begun = 0;
    let ended: AbortSignal | undefined;
    const work = async (signal: AbortSignal) => {
      begun += 1;
      ended = signal;
      await gate.passed;
      return "done";
    };
    const [first, second] = [new AbortController(), new AbortController()];
    const asked = [first, second].map(({ signal }) =>
      cache.ask("a", signal, work).catch((error: Error) => error.message),
    );
    first.abort(new Error("left first"));
    expect(await asked[0]).toBe("left first");
    expect([begun, ended?.aborted]).toEqual([1, false]);
    second.abort(new Error("left last"));
    expect(await asked[1]).toBe("left last");
    expect(ended?.aborted).toBe(true);
    gate.open();
    expect(await cache.ask("a", never, async () => "anew")).toBe("anew");
  });
});

describe("a provider's pace", () => {
  it("lets so many in at once, first come first served, and those who left not at all", async () => {
    const pace = new Pace("p", { burst: 1, concurrency: 1 }, 1_000, new ManualClock());
    const gate = new Gate();
    const order: string[] = [];
    const run = (name: string, signal = never) =>
      pace.run(signal, async () => {
        order.push(name);
        await gate.passed;
      });
    const leaving = new AbortController();
    const all = [run("a"), run("b", leaving.signal).catch(() => "left"), run("c")];
    await settle();
    leaving.abort();
    expect(await all[1]).toBe("left");
    gate.open();
    await Promise.all(all);
    expect(order).toEqual(["a", "c"]);
  });

  it("refuses who would wait too long, for a place or for the pace, and says for how long", async () => {
    const clock = new ManualClock();
    const pace = new Pace("p", { requests_per_second: 0.1, burst: 1, concurrency: 1 }, 1_000, clock);
    await pace.run(never, async () => undefined);
    const late = pace.run(never, async () => undefined);
    await expect(late).rejects.toMatchObject({ error: "rate_limited", details: { retry_after_ms: 10_000 } });
    const gate = new Gate();
    const slow = new Pace("p", { burst: 1, concurrency: 1 }, 1_000, clock);
    const held = slow.run(never, () => gate.passed);
    const waiting = slow.run(never, async () => undefined).catch((error: unknown) => error);
    await clock.advance(1_000);
    expect(await waiting).toMatchObject({ error: "rate_limited" });
    gate.open();
    await held;
    expect(await slow.run(never, async () => "free again")).toBe("free again");
  });
});
