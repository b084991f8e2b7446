import { describe, expect, it } from "vitest";
import { ToolyardError } from "../../src/core/errors.ts";
import type { PoolReport, SandboxSpec } from "../../src/core/runtime.ts";
import { FakeInstance, FakeRuntime, type FakeStep } from "../../src/runtimes/fake/runtime.ts";
import { PooledRuntime } from "../../src/runtimes/pool/pooled-runtime.ts";
import type { PoolOptions } from "../../src/runtimes/pool/pool-options.ts";
import { toTemplate, toTemplateKey } from "../../src/runtimes/pool/template-key.ts";
import { Gate } from "../kit/gate.ts";
import { ManualClock, settle } from "../kit/manual-clock.ts";

const never = new AbortController().signal;
const broken = () => new ToolyardError("runtime_unavailable", "the image is broken");

/** A pool over a fake runtime, with time that stands still. */
function setUp(options: Partial<PoolOptions> = {}) {
  const clock = new ManualClock();
  const inner = new FakeRuntime();
  const runtime = new PooledRuntime(inner, { min: 2, max: 8, ...options }, clock);
  const report = async (): Promise<PoolReport | undefined> => (await runtime.check(never)).pool;
  const count = (step: FakeStep) => inner.records.filter((record) => record.step === step).length;
  const alive = () => inner.instances.filter((instance) => !instance.isDead).length;
  return { clock, inner, runtime, report, count, alive };
}

async function filled(options: Partial<PoolOptions> = {}) {
  const made = setUp(options);
  await made.runtime.warmup(never);
  await settle();
  return made;
}

describe("a warm pool", () => {
  it("starts its minimum at warmup, and gives a member to a claim without a creation", async () => {
    const { clock, inner, runtime, report } = await filled();
    expect(await report()).toMatchObject({ ready: 2, starting: 0, claimed: 0, misses: 0 });
    const gate = new Gate();
    inner.holdNext("create", gate.passed);
    const instance = await runtime.create({ sessionId: "s1", workerId: "w1" }, never);
    expect(inner.instances).toContain(instance);
    expect(await report()).toMatchObject({ ready: 1, starting: 0, claimed: 1, misses: 0 });
    await clock.advance(100);
    expect(await report()).toMatchObject({ ready: 1, starting: 1 });
    gate.open();
    await settle();
    expect(await report()).toMatchObject({ ready: 2, starting: 0, target: 2 });
  });

  it("holds what is usual in place of the default, and learns everything else", async () => {
    const { runtime, report } = setUp({ min: 2 });
    const usual: SandboxSpec = { limits: { memoryMiB: 128 }, image: "own" };
    await runtime.warmup(never, [usual]);
    await settle();
    expect(await report()).toMatchObject({ ready: 2, target: 2 });
    await runtime.create({ sessionId: "s1", workerId: "w1", ...usual }, never);
    expect(await report()).toMatchObject({ claimed: 1, misses: 0 });
    await runtime.create({}, never);
    expect(await report()).toMatchObject({ claimed: 1, misses: 1 });
    await runtime.warmup(never, [usual, {}]);
    await settle();
    expect(await report()).toMatchObject({ target: 5 });
  });

  it("serves a burst before it starts successors, and starts them at once when nothing is left", async () => {
    const { clock, runtime, count } = await filled({ min: 3 });
    await runtime.create({}, never);
    await clock.advance(99);
    await runtime.create({}, never);
    await clock.advance(99);
    expect(count("create")).toBe(3);
    await runtime.create({}, never);
    expect(count("create")).toBe(6);
  });

  it("starts the kernels that its members are to have, but for languages that the runtime lacks", async () => {
    const { inner, runtime, report } = await filled({ min: 1, kernels: ["python", "bash"] });
    const started = inner.records.filter(({ step }) => step === "openKernel" || step === "run");
    expect(started).toMatchObject([
      { step: "openKernel", kernel: "python" },
      { step: "openKernel", kernel: "bash" },
      { step: "run", language: "python" },
      { step: "run", language: "bash" },
    ]);
    await runtime.close();
    const without = setUp({ min: 1, kernels: ["python"] });
    without.inner.failNext("openKernel", new ToolyardError("runtime_unavailable", "no python"));
    await without.runtime.warmup(never);
    await settle();
    expect(await without.report()).toMatchObject({ ready: 1 });
    expect(await report()).toMatchObject({ evicted: 0 });
  });

  it("F10: does not keep a member whose kernel cannot start", async () => {
    const { inner, runtime, report, alive } = setUp({ min: 1, kernels: ["python"] });
    inner.failNext("run", new ToolyardError("sandbox_dead", "it broke"));
    await runtime.warmup(never);
    await settle();
    expect(await report()).toMatchObject({ ready: 0, failures: 1 });
    expect(alive()).toBe(0);
  });

  it("never gives one member to two claims, and makes what it lacks on demand", async () => {
    const { runtime, report } = await filled({ min: 3 });
    const claims = await Promise.all(Array.from({ length: 8 }, () => runtime.create({}, never)));
    expect(new Set(claims.map(({ id }) => id)).size).toBe(8);
    expect(await report()).toMatchObject({ claimed: 3, misses: 5 });
  });

  it("makes what is missing with bounded parallelism", async () => {
    const { inner, runtime, report } = setUp({ min: 6, parallel: 2 });
    const gates = Array.from({ length: 6 }, () => new Gate());
    for (const gate of gates) inner.holdNext("create", gate.passed);
    await runtime.warmup(never);
    for (const [index, gate] of gates.entries()) {
      await settle();
      expect(await report()).toMatchObject({ ready: index, starting: Math.min(2, 6 - index) });
      gate.open();
    }
    await settle();
    expect(await report()).toMatchObject({ ready: 6, starting: 0 });
  });

  it("gives a claim that finds none the member that is starting, in place of starting another", async () => {
    const { inner, runtime, count, report } = setUp({ min: 1 });
    const gate = new Gate();
    inner.holdNext("create", gate.passed);
    await runtime.warmup(never);
    const claim = runtime.create({}, never);
    await settle();
    gate.open();
    expect((await claim).id).toBe("fake_1");
    await settle();
    // The one that was claimed, and the two that one miss makes it hold.
    expect(count("create")).toBe(3);
    expect(await report()).toMatchObject({ ready: 2, misses: 1 });
  });

  it("lets a claim that waits give up, and keeps the member for the next one", async () => {
    const { inner, runtime } = setUp({ min: 1, max: 1 });
    const gate = new Gate();
    inner.holdNext("create", gate.passed);
    await runtime.warmup(never);
    const abort = new AbortController();
    const claim = runtime.create({}, abort.signal);
    await settle();
    abort.abort();
    await expect(claim).rejects.toMatchObject({ error: "cancelled" });
    gate.open();
    await settle();
    expect((await runtime.create({}, never)).id).toBe("fake_1");
  });

  it("grows by what it missed up to its maximum, and shrinks once nobody misses any", async () => {
    const { clock, runtime, report, alive } = await filled({ min: 1, max: 4, idleMs: 60_000 });
    const claims = await Promise.all(Array.from({ length: 9 }, () => runtime.create({}, never)));
    await settle();
    expect(await report()).toMatchObject({ ready: 4, target: 4 });
    await clock.advance(50_000);
    expect(await report()).toMatchObject({ ready: 4 });
    await clock.advance(50_000);
    expect(await report()).toMatchObject({ ready: 1, target: 1, evicted: 0 });
    expect(alive()).toBe(claims.length + 1);
  });

  it("ends every member when it closes, those that are still starting too", async () => {
    const { clock, inner, runtime, count, alive } = await filled({ min: 3 });
    inner.holdNext("create", new Gate().passed);
    await runtime.create({}, never);
    await clock.advance(100);
    expect(count("create")).toBe(4);
    await runtime.close();
    expect(alive()).toBe(0);
    expect(inner.instances).toHaveLength(3);
  });

  it("passes on what a runtime can do beside it, and no more", () => {
    const inner = new FakeRuntime();
    const plain = new PooledRuntime(inner, { min: 1, max: 1 });
    expect([plain.adopt, plain.reap]).toEqual([undefined, undefined]);
    const able = new PooledRuntime(Object.assign(inner, { reap: async () => 3 }), { min: 1, max: 1 });
    return expect(able.reap?.(never)).resolves.toBe(3);
  });
});

describe("kinds of sandboxes", () => {
  it("never gives a session a sandbox with another image, limit, network or environment", async () => {
    const { inner, runtime } = await filled({ min: 2 });
    const specs: SandboxSpec[] = [
      { image: "other" },
      { limits: { memoryMiB: 64 } },
      { network: { allow: ["example.org"] } },
      { environment: { TOKEN: "t" } },
    ];
    for (const spec of specs) {
      // One after another: each must miss.
      // oxlint-disable-next-line no-await-in-loop
      const instance = await runtime.create({ sessionId: "s", ...spec }, never);
      expect(inner.instances.find(({ id }) => id === instance.id)?.spec).toEqual({ sessionId: "s", ...spec });
    }
  });

  it("keeps one ready of a kind that is asked for twice, and forgets it when nobody asks any more", async () => {
    const { clock, runtime, report } = await filled({ min: 1, idleMs: 60_000 });
    const spec = { limits: { memoryMiB: 64, pids: 8 } };
    await runtime.create({ sessionId: "a", ...spec }, never);
    await settle();
    expect(await report()).toMatchObject({ ready: 1, target: 1 });
    await runtime.create({ sessionId: "b", ...spec }, never);
    await settle();
    expect(await report()).toMatchObject({ ready: 2, misses: 2 });
    await runtime.create({ sessionId: "c", limits: { pids: 8, memoryMiB: 64 } }, never);
    expect(await report()).toMatchObject({ claimed: 1, misses: 2 });
    await clock.advance(120_000);
    expect(await report()).toMatchObject({ ready: 1, target: 1 });
  });

  it("does not learn more kinds than it can hold, however many a caller thinks of", async () => {
    const { runtime, report } = await filled({ min: 0, max: 4 });
    for (let turn = 0; turn < 2; turn += 1) {
      for (let pids = 1; pids <= 100; pids += 1) {
        // oxlint-disable-next-line no-await-in-loop
        await runtime.create({ limits: { pids } }, never);
      }
    }
    await settle();
    expect(await report()).toMatchObject({ ready: 4, target: 4 });
  });

  it("names kinds by what they mean", () => {
    const key = (spec: SandboxSpec) => toTemplateKey(toTemplate(spec));
    expect(key({ sessionId: "s", limits: {}, network: "none", environment: {} })).toBe(key({}));
    expect(key({ environment: { A: "1", B: "2" } })).toBe(key({ environment: { B: "2", A: "1" } }));
    expect(key({ network: { allow: ["a", "b"] } })).toBe(key({ network: { allow: ["b", "a"] } }));
    expect(key({ network: { allow: [] } })).not.toBe(key({}));
    expect(key({ environment: { A: "1" } })).not.toBe(key({ environment: { A: "2" } }));
    expect(key({ image: "a" })).not.toContain("a:");
  });
});

describe("F10: members that went bad", () => {
  it("F10: replaces a member that dies while it waits", async () => {
    const { clock, inner, report } = await filled();
    await clock.advance(20_000);
    inner.instances[0]?.die("killed from outside");
    await settle();
    expect(await report()).toMatchObject({ ready: 2, evicted: 1 });
  });

  it("F10: never hands out one that does not answer, and ends it", async () => {
    const { clock, inner, runtime, report } = await filled();
    await clock.advance(2_000);
    inner.holdNext("ping", new Gate().passed);
    const claim = runtime.create({}, never);
    await settle();
    await clock.advance(1_000);
    expect((await claim).id).toBe("fake_1");
    expect(inner.instances[1]?.isDead).toBe(true);
    await settle();
    expect(await report()).toMatchObject({ ready: 2, claimed: 1, evicted: 1 });
  });

  it("F10: makes one on demand when those it tried are bad, and looks at all the others", async () => {
    const { clock, inner, runtime, report } = await filled({ min: 5 });
    await clock.advance(2_000);
    for (let times = 0; times < 5; times += 1) inner.failNext("ping", new Error("no answer"));
    const { id } = await runtime.create({}, never);
    await settle();
    expect(inner.instances.slice(5).map((instance) => instance.id)).toContain(id);
    expect(inner.instances.slice(0, 5).every(({ isDead }) => isDead)).toBe(true);
    expect(await report()).toMatchObject({ ready: 6, claimed: 0, misses: 1, evicted: 5 });
  });

  it("F10: finds one that hangs although nobody claims it", async () => {
    const { clock, inner, report } = await filled();
    inner.holdNext("ping", new Gate().passed);
    await clock.advance(32_000);
    expect(await report()).toMatchObject({ ready: 2, evicted: 1 });
  });

  it("F10: does not ask again what has answered a moment ago", async () => {
    const { runtime, count } = await filled();
    await runtime.create({}, never);
    expect(count("ping")).toBe(0);
  });

  it("F10: tries ever more rarely while members cannot be made, and on-demand creations say why", async () => {
    const { clock, inner, runtime, count, report } = setUp({ min: 1, parallel: 1 });
    for (let times = 0; times < 20; times += 1) inner.failNext("create", broken());
    await runtime.warmup(never);
    await settle();
    expect(count("create")).toBe(1);
    await clock.advance(15_000);
    // After 1, 2, 4 and 8 seconds.
    expect(count("create")).toBe(5);
    await expect(runtime.create({}, never)).rejects.toThrow("the image is broken");
    expect(count("create")).toBe(6);
    expect(await report()).toMatchObject({ ready: 0, starting: 0, failures: 5 });
  });

  it("F10: fills at once when a creation on demand shows that the runtime works again", async () => {
    const { inner, runtime, report } = setUp({ min: 1 });
    inner.failNext("create", broken());
    await runtime.warmup(never);
    await settle();
    expect(await report()).toMatchObject({ ready: 0, failures: 1 });
    await runtime.create({}, never);
    await settle();
    expect(await report()).toMatchObject({ ready: 2, failures: 0 });
  });

  it("F10: does not start one after another of an image whose sandboxes die at once", async () => {
    const { clock, inner, runtime, count } = setUp({ min: 1 });
    await runtime.warmup(never);
    for (let turn = 0; turn < 100; turn += 1) {
      // oxlint-disable-next-line no-await-in-loop
      await settle();
      inner.instances.at(-1)?.die("it broke");
      // oxlint-disable-next-line no-await-in-loop
      await clock.advance(600);
    }
    expect(count("create")).toBeLessThan(12);
  });

  it("lets a claim on demand be told of its own failure when the member it waited for could not be made", async () => {
    const { inner, runtime } = setUp({ min: 1 });
    const gate = new Gate();
    inner.holdNext(
      "create",
      gate.passed.then(() => Promise.reject(broken())),
    );
    await runtime.warmup(never);
    const claim = runtime.create({}, never);
    await settle();
    gate.open();
    expect((await claim).id).toBe("fake_1");
  });
});

/** What sandboxes look like from inside, for fakes that have files. */
function withFiles(instance: FakeInstance, left: readonly string[]): FakeInstance {
  const info = (path: string) => ({ path, kind: "file", sizeBytes: 1, mode: 0o644, modifiedAt: 0, owner: 1, group: 1 });
  return Object.assign(instance, {
    files: { list: async (path: string) => ({ entries: path === "/tmp" ? left.map(info) : [], truncated: false }) },
    stats: async () => ({ pids: 1 }),
    processes: async () => [],
  });
}

describe("a pool that takes sandboxes back", () => {
  async function reusing(left: readonly string[] = []) {
    const made = setUp({ min: 1, max: 4, reuse: true });
    const create = made.inner.create.bind(made.inner);
    const files = [...left];
    made.inner.create = async (spec, signal) => {
      const instance = await create(spec, signal);
      return instance instanceof FakeInstance ? withFiles(instance, files) : instance;
    };
    await made.runtime.warmup(never);
    await settle();
    return { ...made, files };
  }

  it("resets one that was used, and gives it to the next session", async () => {
    const { runtime, inner, count } = await reusing();
    const first = await runtime.create({}, never);
    const kernel = await first.openKernel("python", never);
    await first.stop();
    await expect(first.closed).resolves.toMatchObject({ expected: true });
    expect(count("reset")).toBe(1);
    expect(inner.instances[0]?.isDead).toBe(false);
    expect((await runtime.create({}, never)).id).toBe(first.id);
    // Its first owner has nothing of it any more.
    await expect(first.openKernel("python", never)).rejects.toMatchObject({ error: "sandbox_dead" });
    await expect(first.ping?.(never)).rejects.toMatchObject({ error: "sandbox_dead" });
    const run = kernel.run({ code: "1", deadlineMs: 1_000 }, { signal: never });
    await expect(run).rejects.toMatchObject({ error: "sandbox_dead" });
    expect(() => first.files?.list("/", { depth: 1, limit: 1 }, never)).toThrow("stopped");
  });

  it("ends one that is not as fresh after its reset, or cannot be reset", async () => {
    const { clock, runtime, inner, files } = await reusing();
    const first = await runtime.create({}, never);
    files.push("/tmp/left-behind");
    const stopped = first.stop();
    await clock.advance(1_000);
    await stopped;
    expect(inner.instances[0]?.isDead).toBe(true);
    files.pop();
    const second = await runtime.create({}, never);
    inner.failNext("reset", new Error("no"));
    await second.stop();
    expect(inner.instances.find(({ id }) => id === second.id)?.isDead).toBe(true);
  });

  it("tells its owner when it died meanwhile", async () => {
    const { runtime, inner } = await reusing();
    const first = await runtime.create({}, never);
    inner.instances[0]?.die("oom");
    await expect(first.closed).resolves.toMatchObject({ reason: "oom", expected: false });
  });
});
