import { describe, expect, it } from "vitest";
import { ToolyardError } from "../../src/core/errors.ts";
import { Cancellation } from "../../src/engine/deadline.ts";
import { Gate } from "../kit/gate.ts";
import { settle } from "../kit/manual-clock.ts";
import { ScriptedBackend } from "../kit/scripted-backend.ts";
import { testEngine } from "../kit/test-engine.ts";

/** An engine whose `probe` session waits at a gate while it is initialized. */
function waitingEngine() {
  const probe = new ScriptedBackend({ sessions: true });
  const gate = new Gate();
  probe.initialize = async (request) => {
    probe.made.push(request);
    gate.arrive();
    await gate.passed;
    return {};
  };
  return { probe, gate, ...testEngine([probe]) };
}

describe("a create whose client goes away", () => {
  it("leaves the session to another create that waits for it", async () => {
    const { probe, gate, create, call } = waitingEngine();
    const first = new Cancellation();
    const leaving = create("probe", {}, first).catch((error: unknown) => error);
    await gate.arrived();
    const staying = create("probe");
    await settle();
    first.cancel(new ToolyardError("cancelled", "gone"));
    await settle();
    gate.open();
    await leaving;
    const { record } = await staying;
    expect(record.state).toBe("active");
    expect(await call("probe:echo", {}, { sessionId: record.id })).toMatchObject({ ok: true });
    expect(probe.made).toHaveLength(1);
  });

  it("leaves the session to a call that waits for it", async () => {
    const { probe, gate, create, call } = waitingEngine();
    const first = new Cancellation();
    const leaving = create("probe", {}, first).catch((error: unknown) => error);
    await gate.arrived();
    const running = call("probe:echo");
    await settle();
    first.cancel(new ToolyardError("cancelled", "gone"));
    gate.open();
    await leaving;
    expect(await running).toMatchObject({ ok: true });
    await settle();
    expect(probe.cleaned).toHaveLength(0);
  });

  it("E07: ends the session when nobody else waits", async () => {
    const { probe, gate, create, router, worker } = waitingEngine();
    const first = new Cancellation();
    const leaving = create("probe", {}, first).catch((error: unknown) => error);
    await gate.arrived();
    first.cancel(new ToolyardError("cancelled", "gone"));
    gate.open();
    await leaving;
    await settle();
    expect(router.find(worker("w1"), "probe")).toBeUndefined();
    expect(probe.cleaned).toHaveLength(1);
  });
});
