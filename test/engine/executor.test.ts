import { describe, expect, it } from "vitest";
import { ToolyardError } from "../../src/core/errors.ts";
import type { ToolyardEvent } from "../../src/core/events.ts";
import { Cancellation } from "../../src/engine/deadline.ts";
import { CounterBackend } from "../kit/counter-backend.ts";
import { Gate } from "../kit/gate.ts";
import { settle } from "../kit/manual-clock.ts";
import { ScriptedBackend } from "../kit/scripted-backend.ts";
import { testEngine } from "../kit/test-engine.ts";

const fail = (): never => {
  throw new Error("secret");
};

/** A hostile object that passes for a promise. */
// oxlint-disable-next-line unicorn/no-thenable -- hostile on purpose
const thenable = (then: PropertyDescriptor): object => Object.defineProperty({}, "then", then);

describe("a call's end", () => {
  it("frees the session of a tool that ignores its signal, after the grace, and says so", async () => {
    const counter = new CounterBackend({ concurrency: "serial" });
    const { call, create, clock, engine, logger } = testEngine([counter], { abortGraceMs: 1_000 });
    await create("counter");
    const events: ToolyardEvent[] = [];
    engine.bus.subscribe((event) => events.push(event));
    const stuck = call("counter:stubborn", { gate: "a" }, { timeoutMs: 500 });
    await counter.gate("a").arrived();
    await clock.advance(750);
    expect(await stuck).toMatchObject({ ok: false, error: { error: "timeout", outcome: "limit" } });
    const next = call("counter:incr");
    await clock.advance(749);
    expect(events.some(({ type }) => type === "call.abandoned")).toBe(false);
    await clock.advance(1);
    expect(await next).toMatchObject({ ok: true });
    expect(events.some(({ type }) => type === "call.abandoned")).toBe(true);
    expect(logger.lines.some(({ level, facts }) => level === "error" && facts["tool"] === "counter:stubborn")).toBe(
      true,
    );
    counter.gate("a").open();
  });

  it("counts the wait for the session's turn as part of the timeout", async () => {
    const counter = new CounterBackend({ concurrency: "serial" });
    const { call, clock } = testEngine([counter]);
    const first = call("counter:hold", { gate: "a" });
    const second = call("counter:incr", {}, { timeoutMs: 300 });
    const third = call("counter:incr");
    await clock.advance(300);
    expect(await second).toMatchObject({
      error: { error: "timeout", details: { timeout: 0.3 } },
      meta: { queued_ms: 300, execution_time_ms: 0 },
    });
    counter.gate("a").open();
    expect(await first).toMatchObject({ ok: true });
    expect(await third).toMatchObject({ ok: true, data: { value: 1 }, meta: { queued_ms: 300 } });
  });

  it("counts warmup and initialize as part of the timeout", async () => {
    for (const hook of ["warmup", "initialize"] as const) {
      const counter = new CounterBackend();
      counter.gates[hook] = new Gate();
      const { call, clock, router } = testEngine([counter]);
      const late = call("counter:incr", {}, { timeoutMs: 300 });
      await clock.advance(300);
      expect(await late).toMatchObject({ error: { error: "timeout" } });
      counter.gates[hook].open();
      await settle();
      expect([router.sessionCount, router.endingCount]).toEqual([0, 0]);
    }
  });

  it("starts no tool whose turn comes in the moment that its call ends", async () => {
    const counter = new CounterBackend({ concurrency: "serial" });
    const { call, create } = testEngine([counter]);
    await create("counter");
    const first = call("counter:hold", { gate: "a" });
    const client = new Cancellation();
    const second = call("counter:incr", { by: 100 }, { parent: client });
    await counter.gate("a").arrived();
    counter.gate("a").open();
    void first.then(() => client.cancel(new ToolyardError("cancelled", "gone")));
    await Promise.all([first, second]);
    const { value } = (await call("counter:get").then((result) => (result.ok ? result.data : {}))) as { value: number };
    expect((await second).ok ? 100 : 0).toBe(value);
    expect(await call("counter:incr")).toMatchObject({ ok: true });
  });

  it("keeps what a tool says of its own work when its time is up", async () => {
    const probe = new ScriptedBackend();
    probe.script = async (_params, { signal }) => {
      await new Gate().passedOr(signal).catch(() => undefined);
      throw new ToolyardError("cancelled", "stopped after 3 lines", { details: { stdout: "1\n2\n3\n" } });
    };
    const { call, clock } = testEngine([probe]);
    const running = call("probe:probe", {}, { timeoutMs: 100 });
    await clock.advance(100);
    expect(await running).toMatchObject({
      error: { error: "timeout", details: { stdout: "1\n2\n3\n", timeout: 0.1 } },
      meta: { outcome: "limit" },
    });
  });

  it("takes the tool's own timeout, the caller's first, and neither above the maximum", async () => {
    const counter = new CounterBackend();
    const { call, clock } = testEngine([counter], { callTimeoutMs: 200, maxCallTimeoutMs: 1_000 });
    const byDefault = call("counter:hold", { gate: "a" });
    const atMost = call("counter:hold", { gate: "a" }, { timeoutMs: 60_000 });
    await clock.advance(200);
    expect(await byDefault).toMatchObject({ error: { details: { timeout: 0.2 } } });
    await clock.advance(800);
    expect(await atMost).toMatchObject({ error: { details: { timeout: 1 } } });
  });
});

describe("a tool's result", () => {
  it("is what the tool returned then, whatever later calls do to the same object", async () => {
    const probe = new ScriptedBackend({ sessions: true });
    probe.script = (_params, { session }) => {
      session.data["count"] = Number(session.data["count"] ?? 0) + 1;
      return session.data;
    };
    const { call, create } = testEngine([probe]);
    await create("probe");
    const now = probe.script;
    for (const script of [now, async (...given: Parameters<typeof now>) => now(...given)]) {
      probe.script = script;
      const results = await Promise.all([call("probe:probe"), call("probe:probe"), call("probe:probe")]);
      const counts = results.map((result) => (result.ok ? Number(Object(result.data).count) : -1));
      expect(counts).toEqual([0, 1, 2].map((more) => Number(counts[0]) + more));
    }
  });

  it("that fights back is a masked failure, and the session is free again", async () => {
    const hostile: readonly unknown[] = [
      thenable({ value: fail }),
      thenable({ get: fail }),
      { toJSON: fail },
      Object.defineProperty({}, "value", { get: fail, enumerable: true }),
      () => undefined,
      Symbol("x"),
    ];
    const probe = new ScriptedBackend({ sessions: true, concurrency: "serial" });
    const { call, create } = testEngine([probe]);
    await create("probe");
    for (const value of hostile) {
      for (const script of [() => value, async () => ({ value })]) {
        probe.script = script;
        expect(JSON.stringify(await call("probe:probe"))).not.toContain("secret");
        expect(await call("probe:echo")).toMatchObject({ ok: true });
      }
    }
  });

  it("may be any thrown value", async () => {
    const probe = new ScriptedBackend();
    const { call } = testEngine([probe]);
    const thrown: readonly unknown[] = [undefined, null, "text", 42, {}];
    for (const value of thrown) {
      const raise = () => {
        throw value;
      };
      for (const script of [raise, async () => raise()]) {
        probe.script = script;
        expect(await call("probe:probe")).toMatchObject({ ok: false, error: { error: "unexpected_error" } });
      }
    }
  });

  it("keeps the outcome that the tool reports", async () => {
    const probe = new ScriptedBackend();
    probe.script = (_params, context) => {
      context.setOutcome("tool_error");
      return { exit_code: 1 };
    };
    const { call } = testEngine([probe]);
    expect(await call("probe:probe")).toMatchObject({ ok: true, meta: { outcome: "tool_error" } });
  });
});

describe("a call's story", () => {
  it("is told on the bus, in order, with its ids", async () => {
    const counter = new CounterBackend();
    const { call, engine } = testEngine([counter]);
    const events: ToolyardEvent[] = [];
    engine.bus.subscribe((event) => events.push(event));
    await call("counter:incr", {}, { traceId: "t1" });
    await settle();
    expect(events.map(({ type }) => type)).toEqual([
      "session.created",
      "call.started",
      "call.completed",
      "session.ended",
    ]);
    const calls = events.filter(({ type }) => type.startsWith("call."));
    expect(calls.every((event) => event.trace_id === "t1" && event.worker_id === "w1")).toBe(true);
    expect(new Set(calls.map((event) => event.call_id)).size).toBe(1);
    // A call starts once it has its session and its turn, so that a session's reader sees it start.
    expect(new Set(events.map((event) => event.session_id)).size).toBe(1);
    await call("counter:none");
    expect(engine.executor.activeCount).toBe(0);
  });
});
