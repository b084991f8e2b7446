import { describe, expect, it } from "vitest";
import { ToolyardError } from "../../src/core/errors.ts";
import { Cancellation } from "../../src/engine/deadline.ts";
import { createMemoryStore } from "../../src/store/memory/memory-store.ts";
import { AnnotatedBackend } from "../kit/annotated-backend.ts";
import { Gate } from "../kit/gate.ts";
import { settle } from "../kit/manual-clock.ts";
import { testEngine } from "../kit/test-engine.ts";

const REQUEST = { caller: { tenant: "t", workerId: "w" }, action: "probe:probe", params: {}, idempotencyKey: "k" };

/** A call that begins and then waits to be cancelled. */
async function begun(action = "probe:probe", store = createMemoryStore()) {
  const gate = new Gate();
  const probe = new AnnotatedBackend({
    script: (_, { signal }) => {
      gate.arrive();
      return new Gate().passedOr(signal);
    },
  });
  const { engine, clock } = testEngine([probe], { disconnectGraceMs: 1_000, drainMs: 1_000 }, store);
  const parent = new Cancellation();
  const answer = engine.calls.execute({ ...REQUEST, action, parent });
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
      error: { error: "unknown_outcome", retryable: false, suggestion: expect.stringContaining("new key") },
    });
    await settle();
  });

  it("leaves its key free when the server stopped over a tool that may run again, for the next one to run it", async () => {
    const store = createMemoryStore();
    const { engine, answer } = await begun("probe:again", store);
    const stopping = engine.stop({ force: true });
    expect(await answer).toMatchObject({ value: { error: { error: "shutting_down", retryable: true } } });
    await stopping;
    const probe = new AnnotatedBackend({ script: () => ({ again: true }) });
    const next = testEngine([probe], {}, store);
    await next.engine.recover();
    expect(await next.engine.calls.execute({ ...REQUEST, action: "probe:again" })).toMatchObject({
      replayed: false,
      value: { data: { again: true } },
    });
  });
});
