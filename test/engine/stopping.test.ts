import { describe, expect, it } from "vitest";
import { ToolyardError } from "../../src/core/errors.ts";
import { createMemoryStore } from "../../src/store/memory/memory-store.ts";
import { AnnotatedBackend } from "../kit/annotated-backend.ts";
import { CounterBackend } from "../kit/counter-backend.ts";
import { createFaultyStore } from "../kit/faulty-store.ts";
import { Gate } from "../kit/gate.ts";
import { ScriptedBackend } from "../kit/scripted-backend.ts";
import { settle } from "../kit/manual-clock.ts";
import { testEngine } from "../kit/test-engine.ts";

/** What is told of a call that had begun when the server stopped: it may not be sent again as if it never ran. */
const CUT_SHORT = { error: "unknown_outcome", outcome: "infra_error", status: 500, retryable: false };
const TURNED_AWAY = { error: "shutting_down", outcome: "infra_error", status: 503, retryable: true };

describe("F11: an engine that stops", () => {
  it("lets running calls end, cleans their sessions, and shuts the backends down last", async () => {
    const counter = new CounterBackend();
    const { call, create, engine } = testEngine([counter]);
    await create("counter");
    const running = call("counter:hold", { gate: "a" });
    await counter.gate("a").arrived();
    const stopping = engine.stop();
    await settle();
    expect([counter.cleaned.length, counter.shutdowns]).toEqual([0, 0]);
    expect(await call("counter:incr")).toMatchObject({ error: { error: "shutting_down", status: 503 } });
    counter.gate("a").open();
    expect(await running).toMatchObject({ ok: true, data: { alive: true } });
    expect(await stopping).toBe(1);
    expect([counter.cleaned.length, counter.shutdowns]).toEqual([1, 1]);
  });

  it("cancels at the drain deadline what still runs", async () => {
    const counter = new CounterBackend();
    const { call, clock, engine } = testEngine([counter], { drainMs: 1_000 });
    const running = call("counter:hold", { gate: "a" });
    await counter.gate("a").arrived();
    const stopping = engine.stop();
    await clock.advance(1_000);
    expect(await running).toMatchObject({ ok: false, error: CUT_SHORT });
    await stopping;
    expect(counter.cleaned).toHaveLength(1);
  });

  it("gives up a tool that ignores even that", async () => {
    const counter = new CounterBackend();
    const { call, clock, engine } = testEngine([counter], { drainMs: 1_000, abortGraceMs: 500 });
    const running = call("counter:stubborn", { gate: "a" });
    await counter.gate("a").arrived();
    const stopping = engine.stop();
    await clock.advance(1_500);
    expect(await running).toMatchObject({ ok: false, error: CUT_SHORT });
    await stopping;
    expect([counter.cleaned.length, counter.shutdowns]).toEqual([1, 1]);
    counter.gate("a").open();
  });

  it("cancels at once when forced, also while it drains already", async () => {
    const counter = new CounterBackend();
    const { call, engine } = testEngine([counter]);
    const running = call("counter:hold", { gate: "a" });
    await counter.gate("a").arrived();
    const stopping = engine.stop();
    await settle();
    expect(engine.executor.activeCount).toBe(1);
    const forced = engine.stop({ force: true });
    expect(await running).toMatchObject({ error: CUT_SHORT });
    expect(await forced).toBe(await stopping);
  });

  it.each([
    ["probe", "one of unknown outcome", CUT_SHORT],
    ["destroy", "one of unknown outcome", CUT_SHORT],
    ["again", "turned away", TURNED_AWAY],
    ["read", "turned away", TURNED_AWAY],
  ] as const)("answers a begun call of the annotated tool %s as %s", async (name, _, error) => {
    const begun = new Gate();
    const probe = new AnnotatedBackend();
    probe.script = (_params, { signal }) => {
      begun.arrive();
      return new Gate().passedOr(signal);
    };
    const { call, engine } = testEngine([probe]);
    const running = call(`probe:${name}`);
    await begun.arrived();
    const stopping = engine.stop({ force: true });
    expect(await running).toMatchObject({ ok: false, error });
    await stopping;
  });

  it("says that a call that waited for its turn never began, and may go to the next server", async () => {
    const counter = new CounterBackend({ concurrency: "serial" });
    const { call, create, engine } = testEngine([counter]);
    await create("counter");
    const running = call("counter:hold", { gate: "a" });
    await counter.gate("a").arrived();
    const waiting = call("counter:incr");
    await settle();
    const stopping = engine.stop({ force: true });
    expect(await waiting).toMatchObject({ error: TURNED_AWAY });
    expect(await running).toMatchObject({ error: CUT_SHORT });
    await stopping;
  });

  it("does not believe a begun tool that it was merely turned away, and keeps what it tells of the end", async () => {
    const begun = new Gate();
    const probe = new ScriptedBackend();
    probe.script = async (_params, { signal }) => {
      begun.arrive();
      await new Gate().passedOr(signal).catch(() => undefined);
      throw new ToolyardError("shutting_down", "The inner call was turned away", { details: { stdout: "half" } });
    };
    const { call, engine } = testEngine([probe]);
    const running = call("probe:probe");
    await begun.arrived();
    const stopping = engine.stop({ force: true });
    expect(await running).toMatchObject({ error: { ...CUT_SHORT, details: { stdout: "half" } } });
    await stopping;
  });

  it("lets a running call make the calls that it needs to end", async () => {
    const probe = new ScriptedBackend({ sessions: true });
    const gate = new Gate();
    probe.script = async (_params, context) => {
      gate.arrive();
      await gate.passed;
      return context.call("probe:echo", { still: "here" });
    };
    const { call, engine } = testEngine([probe]);
    const running = call("probe:probe");
    await gate.arrived();
    const stopping = engine.stop();
    gate.open();
    expect(await running).toMatchObject({ data: { ok: true, data: { still: "here" } } });
    await stopping;
  });

  it("makes no further session, and ends one that is being made", async () => {
    const counter = new CounterBackend();
    const made = new Gate();
    counter.onInitialize = async (_request, { signal }) => {
      made.arrive();
      await new Gate().passedOr(signal);
    };
    const { create, engine, router } = testEngine([counter]);
    const pending = create("counter").catch((error: unknown) => error);
    await made.arrived();
    await engine.stop();
    expect(await pending).toMatchObject({ error: "shutting_down" });
    await expect(create("counter")).rejects.toMatchObject({ error: "shutting_down" });
    expect([router.sessionCount, counter.shutdowns]).toEqual([0, 1]);
  });

  it("ends a warmup that still runs before it shuts the backend down", async () => {
    const counter = new CounterBackend();
    const order: string[] = [];
    const running = new Gate();
    class Slow extends CounterBackend {
      override async warmup(context?: { readonly signal: AbortSignal }) {
        running.arrive();
        if (context !== undefined) await new Gate().passedOr(context.signal).catch(() => order.push("warmup ended"));
      }
      override async shutdown() {
        order.push("shutdown");
      }
    }
    const slow = new Slow({ resource: "slow" });
    const { engine, router } = testEngine([counter, slow]);
    const warming = router
      .lifecycle("slow")
      ?.warmUp()
      .catch((error: unknown) => error);
    await running.arrived();
    await engine.stop();
    expect(await warming).toMatchObject({ error: "shutting_down" });
    expect(order).toEqual(["warmup ended", "shutdown"]);
  });

  it("tries a cleanup that fails again without waiting, then goes on", async () => {
    const counter = new CounterBackend();
    let tries = 0;
    counter.onCleanup = async () => {
      tries += 1;
      throw new Error("no");
    };
    const { call, engine, router } = testEngine([counter]);
    await call("counter:incr");
    await settle();
    expect(tries).toBe(1);
    await engine.stop();
    expect([tries, router.leaked, counter.shutdowns]).toEqual([3, 1, 1]);
  });

  it("does not wait for a session that the store hangs over: its create is told, and its state is cleaned up", async () => {
    const store = createFaultyStore(createMemoryStore());
    const counter = new CounterBackend();
    const { clock, create, engine } = testEngine([counter], {}, store);
    store.inject("sessions.put", { kind: "hang" });
    const creating = create("counter").catch((error: unknown) => error);
    await settle();
    let stopped = false;
    void engine.stop().then(() => (stopped = true));
    await clock.advance(15_000);
    expect(stopped).toBe(true);
    expect(await creating).toMatchObject({ error: "shutting_down" });
    expect([counter.cleaned.length, counter.shutdowns]).toEqual([1, 1]);
  });

  it("does not wait for ever for a store that hangs, and its session's place is free before", async () => {
    const store = createFaultyStore(createMemoryStore());
    const probe = new ScriptedBackend({ sessions: true });
    const { clock, create, engine, router, logger } = testEngine([probe], { maxSessions: 1 }, store);
    const { record } = await create("probe");
    store.inject("sessions.end", { kind: "hang" }, Infinity);
    router.lose(record);
    await settle();
    await create("probe");
    store.inject("idempotency.begin", { kind: "hang" });
    store.inject("jobs.put", { kind: "hang" });
    const request = { caller: { tenant: "default", workerId: "w" }, action: "probe:echo", params: {} };
    void engine.calls.execute({ ...request, idempotencyKey: "k" });
    void engine.jobs.start(request);
    let stopped = false;
    void engine.stop().then(() => (stopped = true));
    await clock.advance(15_000);
    expect(stopped).toBe(true);
    expect(logger.lines.map(({ message }) => message)).toContainEqual(expect.stringContaining("the store"));
  });
});
