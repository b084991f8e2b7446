import { describe, expect, it } from "vitest";
import { ToolyardError } from "../../src/core/errors.ts";
import { CounterBackend } from "../kit/counter-backend.ts";
import { Gate } from "../kit/gate.ts";
import { settle } from "../kit/manual-clock.ts";
import { ScriptedBackend } from "../kit/scripted-backend.ts";
import { testEngine } from "../kit/test-engine.ts";

const serial = (resource = "probe") => new ScriptedBackend({ resource, sessions: true, concurrency: "serial" });

describe("a call that a tool makes", () => {
  it("runs in the tool's own serial session without waiting for the turn that the tool has", async () => {
    const probe = serial();
    probe.script = (_params, context) => context.call("probe:echo", { said: context.session.id });
    const { call } = testEngine([probe]);
    const result = await call("probe:probe");
    expect(result).toMatchObject({ ok: true, data: { ok: true, data: { said: probe.made[0]?.sessionId } } });
    expect(probe.made).toHaveLength(1);
  });

  it("comes back into the session through another backend", async () => {
    const [outer, middle] = [serial("outer"), serial("middle")];
    outer.script = (_params, context) => context.call("middle:probe");
    middle.script = (_params, context) => context.call("outer:echo", { deep: true });
    const { call } = testEngine([outer, middle]);
    expect(await call("outer:probe")).toMatchObject({ data: { data: { data: { deep: true } } } });
    expect([outer.made.length, middle.made.length]).toEqual([1, 1]);
  });

  it("stays in the tool's session when that is destroyed or replaced meanwhile", async () => {
    const probe = serial();
    const gate = new Gate();
    probe.script = async (_params, context) => {
      gate.arrive();
      await gate.passed;
      const nested = await context.call("probe:echo");
      return { own: context.session.id, nested: nested.meta.session_id };
    };
    const { call, create, router } = testEngine([probe]);
    const { record } = await create("probe");
    const running = call("probe:probe");
    await gate.arrived();
    const destroying = router.destroy(record, "destroyed");
    gate.open();
    expect(await running).toMatchObject({ data: { own: record.id, nested: record.id } });
    await destroying;
    expect(probe.made).toHaveLength(1);
  });

  it("takes only its own session along when that is lost, also where its tool throws the same on", async () => {
    const [outer, inner] = [serial("outer"), serial("inner")];
    inner.script = () => {
      throw new ToolyardError("sandbox_dead", "The sandbox has died");
    };
    outer.script = async (_params, context) => {
      const result = await context.call("inner:probe");
      if (!result.ok) throw new ToolyardError(result.error.error, result.error.message);
    };
    const { call, create, router, worker } = testEngine([outer, inner]);
    const { record } = await create("outer");
    await create("inner");
    expect(await call("outer:probe")).toMatchObject({ ok: false, error: { error: "sandbox_dead" } });
    expect(router.find(worker("w1"), "outer")).toBe(record);
    expect(router.find(worker("w1"), "inner")).toBeUndefined();
    // Its own death still ends it.
    outer.script = inner.script;
    expect(await call("outer:probe")).toMatchObject({ error: { error: "sandbox_dead" } });
    expect(router.find(worker("w1"), "outer")).toBeUndefined();
  });

  it("waits for its turn like any other once the tool is over", async () => {
    const probe = serial();
    const order: string[] = [];
    const [second, orphan] = [new Gate(), new Gate()];
    let nested: Promise<unknown> | undefined;
    probe.script = async ({ name }, context) => {
      order.push(`${String(name)} starts`);
      if (name === "first") {
        nested = orphan.passed.then(() => context.call("probe:probe", { name: "orphan" }));
      } else if (name === "second") {
        second.arrive();
        await second.passed;
      }
      order.push(`${String(name)} ends`);
    };
    const { call, create } = testEngine([probe]);
    await create("probe");
    await call("probe:probe", { name: "first" });
    const running = call("probe:probe", { name: "second" });
    await second.arrived();
    orphan.open();
    await settle();
    second.open();
    await Promise.all([running, nested]);
    expect(order).toEqual([
      "first starts",
      "first ends",
      "second starts",
      "second ends",
      "orphan starts",
      "orphan ends",
    ]);
  });

  it("ends with the tool's own deadline", async () => {
    const probe = new ScriptedBackend();
    const aborted: unknown[] = [];
    probe.script = async ({ inner }, context) => {
      if (inner !== true) return context.call("probe:probe", { inner: true }, { timeoutMs: 60_000 });
      return new Gate().passedOr(context.signal).catch((error: unknown) => aborted.push(error));
    };
    const { call, clock } = testEngine([probe]);
    const running = call("probe:probe", {}, { timeoutMs: 200 });
    await clock.advance(200);
    expect(await running).toMatchObject({ ok: false, error: { error: "timeout" } });
    expect(aborted).toHaveLength(1);
  });

  it("ends by the signal that the tool gives it, and carries the tool's trace", async () => {
    const probe = new ScriptedBackend();
    const stop = new AbortController();
    probe.script = ({ inner }, context) =>
      inner === true
        ? new Gate().passedOr(context.signal)
        : context.call("probe:probe", { inner: true }, { signal: stop.signal });
    const { call } = testEngine([probe]);
    const running = call("probe:probe", {}, { traceId: "t1" });
    await settle();
    stop.abort();
    expect(await running).toMatchObject({
      ok: true,
      data: { ok: false, error: { error: "cancelled" }, meta: { trace_id: "t1" } },
    });
  });
});

describe("calls that a tool makes side by side into its own serial session", () => {
  it("run one after another inside its turn", async () => {
    const probe = serial();
    let inside = 0;
    let most = 0;
    probe.script = async ({ leaf }, context) => {
      if (leaf !== true) {
        return Promise.all([1, 2, 3].map(() => context.call("probe:probe", { leaf: true })));
      }
      inside += 1;
      most = Math.max(most, inside);
      await settle();
      inside -= 1;
      return {};
    };
    const { call } = testEngine([probe]);
    expect(await call("probe:probe")).toMatchObject({ ok: true, data: [{ ok: true }, { ok: true }, { ok: true }] });
    expect(most).toBe(1);
  });
});

describe("a temporary session that a tool's calls made", () => {
  it("lives until the tool is done, so that its next call finds it", async () => {
    const probe = new ScriptedBackend();
    const counter = new CounterBackend();
    const { call } = testEngine([probe, counter]);
    probe.script = async (_params, context) => {
      const first = await context.call("counter:incr");
      const second = await context.call("counter:incr");
      return { values: [first.ok && first.data, second.ok && second.data], cleaned: counter.cleaned.length };
    };
    const found = { ok: true, data: { values: [{ value: 1 }, { value: 2 }], cleaned: 0 } };
    expect(await call("probe:probe")).toMatchObject(found);
    await settle();
    expect(counter.cleaned).toHaveLength(1);
    expect(counter.initialized).toHaveLength(1);
    await call("probe:probe");
    await settle();
    expect([counter.initialized.length, counter.cleaned.length]).toEqual([2, 2]);
  });

  it("is cleaned up also when the tool throws, or ignores its signal until it is given up", async () => {
    const probe = new ScriptedBackend();
    const counter = new CounterBackend();
    const { call, clock } = testEngine([probe, counter], { abortGraceMs: 1_000 });
    probe.script = async (_params, context) => {
      await context.call("counter:incr");
      throw new Error("no");
    };
    expect(await call("probe:probe")).toMatchObject({ ok: false });
    await settle();
    expect([counter.initialized.length, counter.cleaned.length]).toEqual([1, 1]);
    const called = new Gate();
    probe.script = async (_params, context) => {
      await context.call("counter:incr");
      called.arrive();
      await new Promise(() => undefined);
    };
    const stuck = call("probe:probe", {}, { timeoutMs: 500 });
    await called.arrived();
    await clock.advance(750);
    expect(await stuck).toMatchObject({ ok: false, error: { error: "timeout" } });
    expect(counter.cleaned).toHaveLength(1);
    await clock.advance(1_000);
    expect([counter.initialized.length, counter.cleaned.length]).toEqual([2, 2]);
  });
});
