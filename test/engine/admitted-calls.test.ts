import { describe, expect, it } from "vitest";
import { ToolyardError } from "../../src/core/errors.ts";
import { Cancellation } from "../../src/engine/deadline.ts";
import { CounterBackend } from "../kit/counter-backend.ts";
import { Gate } from "../kit/gate.ts";
import { settle } from "../kit/manual-clock.ts";
import { ScriptedBackend } from "../kit/scripted-backend.ts";
import { testEngine } from "../kit/test-engine.ts";

const as = (workerId: string) => ({ caller: { tenant: "default", workerId } });

/** A backend without sessions whose calls wait at one gate. */
function gated(resource = "probe") {
  const gate = new Gate();
  const script = async () => {
    gate.arrive();
    await gate.passed;
    return {};
  };
  return { gate, backend: new ScriptedBackend({ resource, script }) };
}

describe("a call under load", () => {
  it("counts the time in the queue as queued, and against its deadline (E12)", async () => {
    const { gate, backend } = gated();
    const { call, clock, engine } = testEngine([backend], { maxConcurrentCalls: 1 });
    const first = call("probe:probe");
    const late = call("probe:probe", {}, { timeoutMs: 1_000 });
    const patient = call("probe:probe");
    await clock.advance(1_000);
    expect(await late).toMatchObject({ ok: false, error: { error: "timeout" }, meta: { queued_ms: 1_000 } });
    expect(engine.admission.report()).toMatchObject({ running: 1, queued: 1 });
    gate.open();
    expect(await first).toMatchObject({ ok: true, meta: { queued_ms: 0, execution_time_ms: 1_000 } });
    expect(await patient).toMatchObject({ ok: true, meta: { queued_ms: 1_000, execution_time_ms: 0 } });
    expect(engine.admission.workerCount).toBe(0);
  });

  it("leaves the queue when its caller goes away (E12)", async () => {
    const { gate, backend } = gated();
    const { call, engine } = testEngine([backend], { maxConcurrentCalls: 1 });
    const running = call("probe:probe");
    const parent = new Cancellation();
    const waiting = call("probe:probe", {}, { parent });
    parent.cancel(new ToolyardError("cancelled", "The client went away"));
    expect(await waiting).toMatchObject({ error: { error: "cancelled" } });
    expect(engine.admission.report().queued).toBe(0);
    gate.open();
    await running;
  });

  it("keeps its slot until a tool that ignores its signal is given up", async () => {
    const { backend } = gated();
    const { call, clock, engine } = testEngine([backend], { maxConcurrentCalls: 1, abortGraceMs: 5_000 });
    const stubborn = call("probe:probe", {}, { timeoutMs: 100 });
    const next = call("probe:echo");
    await clock.advance(1_000);
    expect(await stubborn).toMatchObject({ error: { error: "timeout" } });
    expect(engine.admission.report()).toMatchObject({ running: 1, queued: 1 });
    await clock.advance(5_000);
    expect(await next).toMatchObject({ ok: true });
  });

  it("may call further tools when every slot is taken, also in a session that others wait for", async () => {
    const outer = new ScriptedBackend({ resource: "outer" });
    const inner = new ScriptedBackend({ resource: "inner", sessions: true, concurrency: "serial" });
    const gate = new Gate();
    outer.script = async (_params, context) => {
      gate.arrive();
      await gate.passed;
      return context.call("inner:probe");
    };
    inner.script = (_params, context) => ({ worker: context.workerId });
    const limits = { maxConcurrentCalls: 2, maxConcurrentPerWorker: 2 };
    const { call, create, engine } = testEngine([outer, inner], limits);
    await create("inner");
    const calls = [call("outer:probe"), call("outer:probe")];
    await gate.arrived(2);
    for (let index = 0; index < 10; index += 1) calls.push(call("inner:probe"), call("outer:probe"));
    gate.open();
    const results = await Promise.all(calls);
    expect(results.filter(({ ok }) => ok)).toHaveLength(22);
    expect(engine.admission.report()).toMatchObject({ running: 0, queued: 0 });
  });

  it("is admitted by itself when it is made by a tool that is over", async () => {
    const probe = new ScriptedBackend();
    const [over, full] = [new Gate(), new Gate()];
    let orphan: Promise<unknown> | undefined;
    probe.script = ({ name }, context) => {
      if (name === "busy") return full.passed.then(() => ({}));
      orphan = over.passed.then(() => context.call("probe:echo"));
      return {};
    };
    const { call, engine } = testEngine([probe], { maxConcurrentCalls: 1 });
    await call("probe:probe");
    const busy = call("probe:probe", { name: "busy" });
    over.open();
    await settle();
    expect(engine.admission.report()).toMatchObject({ running: 1, queued: 1 });
    full.open();
    await Promise.all([busy, orphan]);
  });

  it("holds no slot while it waits for a serial session's turn", async () => {
    const counter = new CounterBackend({ concurrency: "serial" });
    const { gate, backend } = gated();
    const { call, create, engine } = testEngine([counter, backend], { maxConcurrentCalls: 2 });
    await create("counter");
    const serial = [1, 2, 3].map(() => call("counter:hold", { gate: "g" }));
    await counter.gate("g").arrived();
    const other = call("probe:probe", {}, as("w2"));
    await gate.arrived();
    expect(engine.admission.report()).toMatchObject({ running: 2, queued: 2 });
    gate.open();
    counter.gate("g").open();
    expect((await Promise.all([...serial, other])).every(({ ok }) => ok)).toBe(true);
  });

  it("holds no slot while it waits for another call's initialize, and counts as waiting", async () => {
    const counter = new CounterBackend();
    counter.gates.initialize = new Gate();
    const { call, engine } = testEngine([counter], { maxQueuedPerWorker: 2 });
    const calls = [call("counter:incr"), call("counter:incr"), call("counter:incr")];
    await counter.gates.initialize.arrived();
    expect(engine.admission.report()).toMatchObject({ running: 1, queued: 2 });
    expect(await call("counter:incr")).toMatchObject({
      error: { error: "overloaded", details: { limit: "max_queued_per_worker", maximum: 2, queued: 2 } },
    });
    counter.gates.initialize.open();
    expect((await Promise.all(calls)).map((result) => result.ok)).toEqual([true, true, true]);
    expect(engine.admission.workerCount).toBe(0);
    expect(counter.initialized).toHaveLength(1);
    expect(counter.cleaned).toHaveLength(1);
  });

  it("E06: starts no session before it has a slot", async () => {
    const counter = new CounterBackend();
    const { gate, backend } = gated();
    const { call, clock } = testEngine([counter, backend], { maxConcurrentCalls: 1 });
    const busy = call("probe:probe");
    const late = call("counter:incr", {}, { ...as("w2"), timeoutMs: 100 });
    const next = call("counter:incr", {}, as("w3"));
    await clock.advance(100);
    expect(await late).toMatchObject({ error: { error: "timeout" } });
    gate.open();
    await Promise.all([busy, next]);
    expect(counter.initialized.map(({ workerId }) => workerId)).toEqual(["w3"]);
  });

  it("D11: a backend whose initialize hangs leaves the others their slots", async () => {
    const hung = new CounterBackend({ resource: "hung" });
    hung.gates.initialize = new Gate();
    const limits = { maxConcurrentCalls: 4, maxConcurrentPerBackend: 2 };
    const { call, clock } = testEngine([hung, new ScriptedBackend()], limits);
    const stuck = Array.from({ length: 50 }, (_, index) => call("hung:incr", {}, as(`w${index}`)));
    await hung.gates.initialize.arrived(2);
    expect(await call("probe:echo", {}, as("fine"))).toMatchObject({ ok: true, meta: { queued_ms: 0 } });
    await clock.advance(400_000);
    expect((await Promise.all(stuck)).every(({ ok }) => !ok)).toBe(true);
  });

  it("waits for a warmup without a slot", async () => {
    const warming = new ScriptedBackend({ resource: "warming" });
    const warmup = new Gate();
    warming.warmup = () => warmup.passed;
    const { call, engine } = testEngine([warming, new ScriptedBackend()], { maxConcurrentCalls: 1 });
    const cold = [call("warming:echo"), call("warming:echo")];
    await settle();
    expect(engine.admission.report()).toMatchObject({ running: 0, queued: 2 });
    expect(await call("probe:echo")).toMatchObject({ ok: true });
    warmup.open();
    expect((await Promise.all(cold)).every(({ ok }) => ok)).toBe(true);
  });
});
