import { describe, expect, it } from "vitest";
import { ToolyardError } from "../../src/core/errors.ts";
import {
  Cancellation,
  Deadline,
  formatDuration,
  fromSignal,
  settlesWithin,
  untilEnded,
} from "../../src/engine/deadline.ts";
import { ManualClock } from "../kit/manual-clock.ts";

const gone = new ToolyardError("cancelled", "gone");

describe("a deadline", () => {
  it("ends at its time with a typed reason that says how long it was", async () => {
    const clock = new ManualClock();
    const deadline = new Deadline(clock, 1_500, "vm:click");
    const { signal } = deadline;
    await clock.advance(1_499);
    expect(signal.aborted).toBe(false);
    await clock.advance(1);
    expect(signal.aborted).toBe(true);
    expect(signal.reason).toBe(deadline.ended);
    expect(deadline.ended).toMatchObject({ error: "timeout", message: "vm:click timed out after 1.5 s" });
  });

  it("ends with its parent, at once when that has ended already, and keeps its first reason", async () => {
    const clock = new ManualClock();
    const parent = new Cancellation();
    const child = new Deadline(clock, 1_000, "child", parent);
    parent.cancel(gone);
    expect(child.ended).toBe(gone);
    expect(new Deadline(clock, 1_000, "late", parent).signal.reason).toBe(gone);
    child.cancel(new ToolyardError("timeout", "second"));
    await clock.advance(2_000);
    expect(child.ended).toBe(gone);
    expect(clock.pending).toBe(0);
  });

  it("sets no timer before somebody waits, and counts the time from its start all the same", async () => {
    const clock = new ManualClock();
    const deadline = new Deadline(clock, 1_000, "work");
    expect([clock.pending, deadline.timeLeftMs]).toEqual([0, 1_000]);
    clock.skip(400);
    const told: string[] = [];
    deadline.onEnd(() => told.push("ended"));
    expect([clock.pending, deadline.timeLeftMs]).toEqual([1, 600]);
    await clock.advance(599);
    expect(told).toEqual([]);
    await clock.advance(1);
    expect([told, deadline.ended?.error, clock.pending]).toEqual([["ended"], "timeout", 0]);
  });

  it("ends at once who begins to wait when its time is over", async () => {
    const clock = new ManualClock();
    const deadline = new Deadline(clock, 1_000, "work");
    clock.skip(5_000);
    const waiting = expect(untilEnded(new Promise(() => undefined), deadline)).rejects.toMatchObject({
      error: "timeout",
    });
    await clock.advance(0);
    await waiting;
  });

  it("lets go of its timer and its parent when the work is over", () => {
    const clock = new ManualClock();
    const parent = new Cancellation();
    const deadline = new Deadline(clock, 1_000, "work", parent);
    deadline.close();
    parent.cancel(gone);
    expect([deadline.ended, clock.pending]).toEqual([undefined, 0]);
  });

  it("takes any abort signal for a parent, and makes its reason one that can be answered", () => {
    const controller = new AbortController();
    const deadline = new Deadline(new ManualClock(), 1_000, "work", fromSignal(controller.signal));
    controller.abort(new Error("private"));
    expect(deadline.ended).toMatchObject({ error: "cancelled", message: "The call was cancelled" });
  });
});

describe("waiting", () => {
  it("ends with the work or with the source, whichever is first", async () => {
    const source = new Cancellation();
    await expect(untilEnded(Promise.resolve(1), source)).resolves.toBe(1);
    await expect(untilEnded(Promise.reject(gone), source)).rejects.toBe(gone);
    const waiting = untilEnded(new Promise(() => undefined), source);
    source.cancel(gone);
    await expect(waiting).rejects.toBe(gone);
    await expect(untilEnded(new Promise(() => undefined), source)).rejects.toBe(gone);
  });

  it("tells whether work settled in time, and leaves no timer behind", async () => {
    const clock = new ManualClock();
    expect(await settlesWithin(clock, Promise.reject(gone), 1_000)).toBe(true);
    const late = settlesWithin(clock, new Promise(() => undefined), 1_000);
    await clock.advance(1_000);
    expect(await late).toBe(false);
    expect(clock.pending).toBe(0);
  });

  it("writes spans as people read them", () => {
    expect([250, 1_000, 1_500, 90_000].map(formatDuration)).toEqual(["250 ms", "1 s", "1.5 s", "90 s"]);
  });
});
