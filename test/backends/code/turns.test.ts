import { describe, expect, it } from "vitest";
import { Turn } from "../../../src/backends/code/turn.ts";
import { FakeRuntime } from "../../../src/runtimes/fake/runtime.ts";
import { openCodeSession } from "./code-session.ts";

const never = new AbortController().signal;

describe("the turn on a kernel", () => {
  it("is taken one after another, and by nobody who gave up waiting", async () => {
    const turn = new Turn();
    const order: string[] = [];
    const first = Promise.withResolvers<void>();
    const abort = new AbortController();
    const a = turn.run(never, () => first.promise.then(() => order.push("a")));
    const b = turn.run(abort.signal, async () => order.push("b"));
    const c = turn.run(never, async () => order.push("c"));
    abort.abort();
    await expect(b).rejects.toMatchObject({ error: "cancelled" });
    expect(order).toEqual([]);
    first.resolve();
    await Promise.all([a, c]);
    expect(order).toEqual(["a", "c"]);
    expect(turn.busy).toBe(false);
  });
});

describe("calls of one session at once", () => {
  it("run code of one kernel in order, and see what is open meanwhile", async () => {
    const gate = Promise.withResolvers<void>();
    const seen: string[] = [];
    const runtime = new FakeRuntime({
      name: "a",
      script: async ({ code }) => {
        seen.push(`${code} starts`);
        if (code === "first") await gate.promise;
        seen.push(`${code} ends`);
        return {};
      },
    });
    const { call } = await openCodeSession([runtime]);
    const first = call("code:run", { language: "python", code: "first" });
    const second = call("code:run", { language: "python", code: "second" });
    await expect.poll(() => seen).toEqual(["first starts"]);
    expect(await call("code:kernels", {})).toMatchObject({ kernels: [{ name: "python", busy: true }] });
    expect(runtime.records.filter(({ step }) => step === "openKernel")).toHaveLength(1);
    gate.resolve();
    await Promise.all([first, second]);
    expect(seen).toEqual(["first starts", "first ends", "second starts", "second ends"]);
  });

  it("interrupt what runs, which answers as cancelled", async () => {
    const started = Promise.withResolvers<void>();
    const runtime = new FakeRuntime({
      name: "a",
      script: () => {
        started.resolve();
        return new Promise(() => {});
      },
    });
    const { call } = await openCodeSession([runtime]);
    const running = call("code:run", { language: "python", code: "x" });
    await started.promise;
    expect(await call("code:interrupt", { kernel: "other" })).toEqual({ interrupted: [] });
    expect(await call("code:interrupt", {})).toEqual({ interrupted: ["python"] });
    await expect(running).rejects.toMatchObject({ error: "cancelled" });
  });

  it("open one sandbox for a language that both ask for first", async () => {
    const first = new FakeRuntime({ name: "first", languages: ["javascript"] });
    const second = new FakeRuntime({ name: "second", languages: ["python", "bash"] });
    const { call } = await openCodeSession([first, second]);
    await Promise.all([
      call("code:run", { language: "python", code: "1" }),
      call("code:run", { language: "bash", code: "1" }),
    ]);
    expect(second.instances).toHaveLength(1);
  });

  it("are told which ability a sandbox lacks and who has it", async () => {
    const able = Object.assign(new FakeRuntime({ name: "able" }), { abilities: ["stats"] });
    const { call } = await openCodeSession([new FakeRuntime({ name: "plain" }), able]);
    await expect(call("code:stats", {})).rejects.toMatchObject({
      error: "runtime_unavailable",
      details: { ability: "stats", runtime: "plain", runtimes: expect.arrayContaining(["able"]) },
      suggestion: expect.stringContaining('{"runtime": "able"}'),
    });
  });
});
