import { describe, expect, it } from "vitest";
import { ToolyardError } from "../../src/core/errors.ts";
import { Cancellation } from "../../src/engine/deadline.ts";
import { Gate } from "../kit/gate.ts";
import { settle } from "../kit/manual-clock.ts";
import { ScriptedBackend } from "../kit/scripted-backend.ts";
import { testEngine } from "../kit/test-engine.ts";

const REQUEST = { caller: { tenant: "t", workerId: "w" }, action: "probe:probe", params: {}, idempotencyKey: "k" };

/** A call that begins and then waits to be cancelled. */
async function begun() {
  const gate = new Gate();
  const probe = new ScriptedBackend({
    script: (_, { signal }) => {
      gate.arrive();
      return new Gate().passedOr(signal);
    },
  });
  const { engine, clock } = testEngine([probe], { disconnectGraceMs: 1_000, drainMs: 1_000 });
  const parent = new Cancellation();
  const answer = engine.calls.execute({ ...REQUEST, parent });
  await gate.arrived();
  return { engine, clock, parent, answer };
}

describe("a keyed call that is cut off after it has begun", () => {
  it("invites nobody to send it again under its key, which could only get the same", async () => {
    const { engine, clock, parent, answer } = await begun();
    parent.cancel(new ToolyardError("cancelled", "The client went away"));
    await clock.advance(2_000);
    const first = await answer;
    const advice = { retryable: false, suggestion: expect.stringContaining("new key") };
    expect(first).toMatchObject({
      replayed: false,
      value: { ok: false, error: { error: "cancelled", outcome: "rejected", ...advice }, meta: advice },
    });
    expect(await engine.calls.execute(REQUEST)).toEqual({ value: first.value, replayed: true });
  });

  it("says so, too, when it was the server that stopped", async () => {
    const { engine, answer } = await begun();
    void engine.stop({ force: true });
    const { value } = await answer;
    expect(value).toMatchObject({
      ok: false,
      error: { error: "shutting_down", retryable: false, suggestion: expect.stringContaining("new key") },
    });
    await settle();
  });
});
