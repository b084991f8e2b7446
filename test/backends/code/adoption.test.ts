import { describe, expect, it, vi } from "vitest";
import CodeBackend from "../../../src/backends/code/backend.ts";
import { configSchema } from "../../../src/config/schema.ts";
import { settleRuntimes } from "../../../src/plugins/open-runtimes.ts";
import { FakeRuntime } from "../../../src/runtimes/fake/runtime.ts";
import { createRuntimeSelector } from "../../../src/runtimes/selector.ts";
import { createMemoryStore } from "../../../src/store/memory/memory-store.ts";
import { Gate } from "../../kit/gate.ts";
import { ManualClock, settle } from "../../kit/manual-clock.ts";
import { recordingLogger } from "../../kit/recording-logger.ts";
import { testEngine } from "../../kit/test-engine.ts";

const run = { language: "python", code: "1" };
const config = configSchema.parse({});

/** A server on a store and a runtime that both outlive it. */
function server(runtime: FakeRuntime, store = createMemoryStore()) {
  const runtimes = createRuntimeSelector({ order: [runtime.name], runtimes: [runtime] });
  const backend = new CodeBackend({ config: { runtime: runtime.name }, runtimes });
  return { ...testEngine([backend], {}, store), store, runtimes };
}

describe("a code session whose server was killed", () => {
  it("F01: is adopted with the kernels of its sandbox, and only what nobody adopted is reaped", async () => {
    const runtime = new FakeRuntime({ name: "durable", adoptable: true });
    const first = server(runtime);
    const { record } = await first.create("code");
    await first.call("code:run", { ...run, kernel: "mine" }, { sessionId: record.id });
    await runtime.create({ sessionId: "of nobody" }, new AbortController().signal);

    const gate = new Gate();
    runtime.holdNext("adopt", gate.passed);
    const next = server(runtime, first.store);
    await next.engine.recover();
    const settled = next.router.recovery.over().then(() => settleRuntimes(next.runtimes, config, recordingLogger()));
    await settle();
    expect(runtime.instances.map(({ isDead }) => isDead)).toEqual([false, false]);
    gate.open();
    await settled;
    expect(runtime.instances.map(({ isDead }) => isDead)).toEqual([false, true]);
    const answer = await next.call("code:run", { ...run, kernel: "mine" }, { sessionId: record.id });
    expect(answer).toMatchObject({ ok: true, meta: { session_id: record.id } });
    const opened = runtime.records.filter(({ step }) => step === "openKernel");
    expect(opened).toMatchObject([
      { sandbox: "fake_1", kernel: "mine" },
      { sandbox: "fake_1", kernel: "mine" },
    ]);
    await next.engine.stop();
    expect(runtime.instances.every(({ isDead }) => isDead)).toBe(true);
  });

  it("F01: lists the kernels that it had, and is paused if it was", async () => {
    const runtime = new FakeRuntime({ name: "durable", adoptable: true });
    const first = server(runtime);
    await first.create("code");
    const found = { kernels: [{ name: "mine", language: "python" }], paused: true };
    Object.assign(runtime.instances[0] ?? {}, { found });
    const next = server(runtime, first.store);
    await next.engine.recover();
    await next.router.recovery.over();
    expect(await next.call("code:kernels")).toMatchObject({
      ok: true,
      data: { kernels: [{ name: "mine", busy: false }] },
    });
    expect(await next.call("code:run", { ...run, kernel: "mine" })).toMatchObject({ error: { error: "conflict" } });
    await next.engine.stop();
  });

  it.each([
    ["its sandbox is gone", true],
    ["its runtime cannot find sandboxes again", false],
  ])("F01: is lost, with the word for it, when %s", async (_, adoptable) => {
    const runtime = new FakeRuntime({ name: "durable", adoptable });
    const first = server(runtime);
    const { record } = await first.create("code");
    runtime.instances[0]?.die("killed while nobody watched");
    const next = server(runtime, first.store);
    await next.engine.recover();
    await next.router.recovery.over();
    expect(await next.call("code:run", run, { sessionId: record.id })).toMatchObject({
      error: { error: "session_lost", outcome: "infra_error" },
    });
    expect(await next.call("code:run", run)).toMatchObject({ ok: true, meta: { lost_session: record.id } });
  });

  it("F01: is lost when its runtime is not configured any more, or cannot be asked", async () => {
    const runtime = new FakeRuntime({ name: "durable", adoptable: true });
    const first = server(runtime);
    const { record } = await first.create("code");
    const elsewhere = server(new FakeRuntime({ name: "another" }), first.store);
    await elsewhere.engine.recover();
    await elsewhere.router.recovery.over();
    expect(await elsewhere.call("code:run", run, { sessionId: record.id })).toMatchObject({
      error: { error: "session_lost" },
    });
  });
});

describe("what is left in the runtimes", () => {
  it("is told in the log, and a runtime that fails to remove it keeps no other from it", async () => {
    const left = new FakeRuntime({ name: "left", adoptable: true });
    await left.create({}, new AbortController().signal);
    const broken = Object.assign(new FakeRuntime({ name: "broken" }), {
      reap: () => Promise.reject(new Error("the engine hangs")),
    });
    const logger = recordingLogger();
    const runtimes = createRuntimeSelector({ order: ["broken", "left"], runtimes: [broken, left] });
    await settleRuntimes(runtimes, config, logger);
    expect(left.instances[0]?.isDead).toBe(true);
    expect(logger.lines).toContainEqual(expect.objectContaining({ facts: expect.objectContaining({ reaped: 1 }) }));
    expect(logger.lines).toContainEqual(
      expect.objectContaining({ facts: expect.objectContaining({ runtime: "broken" }) }),
    );
  });

  it("is asked for again while its runtime cannot be asked, until the server ends", async () => {
    const clock = new ManualClock();
    const left = new FakeRuntime({ name: "left", adoptable: true });
    const reap = vi
      .fn<() => Promise<number>>()
      .mockRejectedValueOnce(new Error("the engine starts yet"))
      .mockResolvedValue(0);
    const runtimes = createRuntimeSelector({ order: ["left"], runtimes: [Object.assign(left, { reap })] });
    await settleRuntimes(runtimes, config, recordingLogger(), { retryUntil: AbortSignal.abort() });
    expect(reap).toHaveBeenCalledTimes(1);
    reap.mockRejectedValueOnce(new Error("the engine starts yet"));
    const settled = settleRuntimes(runtimes, config, recordingLogger(), {
      clock,
      retryUntil: new AbortController().signal,
    });
    await settle();
    await clock.advance(30_000);
    await settled;
    expect(reap).toHaveBeenCalledTimes(3);
  });

  it("fills the pools that hold something at all times, and no others", async () => {
    for (const min of [0, 2]) {
      const runtime = new FakeRuntime({ name: "local" });
      const pooled = configSchema.parse({ runtimes: { local: { pool: { min, max: 4 } } } });
      const pools = { local: { min, max: 4 } };
      const runtimes = createRuntimeSelector({ order: ["local"], runtimes: [runtime], pools });
      // oxlint-disable-next-line no-await-in-loop
      await settleRuntimes(runtimes, pooled, recordingLogger());
      // oxlint-disable-next-line no-await-in-loop
      await settle();
      expect(runtime.instances).toHaveLength(min);
    }
  });
});
