import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { describe, expect, it, vi } from "vitest";
import { OverdueWatch } from "../../src/runtimes/kernel/overdue-watch.ts";
import { startPatience } from "../../src/runtimes/quickjs/engine-patience.ts";

describe("the watch over an execution's deadline", () => {
  it("tells once that it is overdue, unless it was stopped", async () => {
    const [onOverdue, never] = [vi.fn(), vi.fn()];
    const [watch, stopped] = [onOverdue, never].map((told) => new OverdueWatch({ graceMs: 1, onOverdue: told }));
    stopped?.start(1);
    stopped?.stop();
    watch?.start(60_000);
    watch?.start(1);
    await expect.poll(() => onOverdue).toHaveBeenCalledOnce();
    expect(never).not.toHaveBeenCalled();
  });

  it("looks on while the other side is excused, from its deadline on, and no longer", async () => {
    const onOverdue = vi.fn();
    const excuses = [true, true, true, false];
    const watch = new OverdueWatch({ graceMs: 1, excuse: () => () => excuses.shift() ?? false, onOverdue });
    watch.start(1);
    await expect.poll(() => onOverdue).toHaveBeenCalledOnce();
    expect(excuses).toEqual([]);
  });

  it("hears an end that came in time while our own loop was held", async () => {
    const onOverdue = vi.fn();
    const listening = createServer().listen(0, "127.0.0.1");
    await once(listening, "listening");
    const hearing = connect(Number(Object(listening.address()).port), "127.0.0.1");
    const [telling] = (await once(listening, "connection")) as [Socket];
    const hold = () => {
      telling.write("it ended");
      const until = performance.now() + 350;
      while (performance.now() < until);
    };
    const excuse = () => {
      // In a turn in which the grace has begun, and after which timers come before what was written.
      setImmediate(hold);
      return () => false;
    };
    const watch = new OverdueWatch({ graceMs: 300, excuse, onOverdue });
    const heard = once(hearing, "data").then(() => watch.stop());
    watch.start(0);
    await heard;
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(onOverdue).not.toHaveBeenCalled();
    hearing.destroy();
    listening.close();
  });
});

describe("the patience with an engine", () => {
  it("is none for one that waits, is gone, or has had its time", () => {
    expect(startPatience(undefined)()).toBe(false);
    expect(startPatience(2 ** 30)()).toBe(false);
    const spent = startPatience(process.pid);
    const begun = process.cpuUsage();
    while (process.cpuUsage(begun).user + process.cpuUsage(begun).system < 300_000);
    expect(spent()).toBe(false);
  });

  it.skipIf(process.platform !== "linux")("is there for one that would run", () => {
    expect(startPatience(process.pid)()).toBe(true);
  });
});
