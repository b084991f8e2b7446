import { describe, expect, it } from "vitest";
import { ToolyardError } from "../../src/core/errors.ts";
import { Cancellation } from "../../src/engine/deadline.ts";
import { SerialQueue } from "../../src/engine/serial-queue.ts";
import { settle } from "../kit/manual-clock.ts";

const gone = new ToolyardError("cancelled", "gone");

describe("a session's line", () => {
  it("gives the turn in the order of coming, past those who gave up", async () => {
    const queue = new SerialQueue();
    expect(queue.tryEnter()).toBe(true);
    expect(queue.tryEnter()).toBe(false);
    const waits = [0, 1, 2].map(() => new Cancellation());
    const order: number[] = [];
    const entering = waits.map((wait, index) => queue.enter(wait).then(() => order.push(index)));
    const given = expect(entering[1]).rejects.toBe(gone);
    waits[1]?.cancel(gone);
    await given;
    expect(queue.length).toBe(2);
    queue.leave();
    await settle();
    expect(order).toEqual([0]);
    queue.leave();
    await settle();
    expect(order).toEqual([0, 2]);
    queue.leave();
    expect(queue.tryEnter()).toBe(true);
  });

  it("keeps out who has given up before, and keeps nothing of who had the turn when it ends later", async () => {
    const queue = new SerialQueue();
    const over = new Cancellation();
    over.cancel(gone);
    await expect(queue.enter(over)).rejects.toBe(gone);
    const wait = new Cancellation();
    await queue.enter(wait);
    const next = queue.enter(new Cancellation());
    wait.cancel(gone);
    expect(queue.length).toBe(1);
    queue.leave();
    await next;
    queue.leave();
    expect(queue.tryEnter()).toBe(true);
  });
});
