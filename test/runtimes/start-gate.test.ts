import { describe, expect, it } from "vitest";
import { StartGate } from "../../src/runtimes/kernel/start-gate.ts";
import { Gate } from "../kit/gate.ts";

describe("StartGate", () => {
  it("lets as many start at a time as it is wide, first come first served, also after one that fails", async () => {
    const gate = new StartGate(2);
    const { signal } = new AbortController();
    const order: number[] = [];
    const gates = [0, 1, 2, 3].map(() => new Gate());
    const starts = gates.map((own, index) =>
      gate.run(signal, async () => {
        order.push(index);
        await own.passed;
        if (index === 0) throw new Error("did not start");
        return index;
      }),
    );
    const outcomes = Promise.allSettled(starts);
    expect(order).toEqual([0, 1]);
    gates[0]?.open();
    await starts[0]?.catch(() => undefined);
    expect(order).toEqual([0, 1, 2]);
    for (const own of gates) own.open();
    expect((await outcomes).map(({ status }) => status)).toEqual(["rejected", "fulfilled", "fulfilled", "fulfilled"]);
    expect(order).toEqual([0, 1, 2, 3]);
  });

  it("lets go of who does not wait any more", async () => {
    const gate = new StartGate(1);
    const held = new Gate();
    const first = gate.run(new AbortController().signal, () => held.passed);
    const leaving = new AbortController();
    const second = gate.run(leaving.signal, async () => "started");
    leaving.abort(new Error("gone"));
    await expect(second).rejects.toThrow("gone");
    held.open();
    await first;
    expect(await gate.run(new AbortController().signal, async () => "third")).toBe("third");
  });
});
