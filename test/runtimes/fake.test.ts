import { describe, expect, it } from "vitest";
import { ToolyardError } from "../../src/core/errors.ts";
import { FakeRuntime, type FakeScript, toCaptured } from "../../src/runtimes/fake/runtime.ts";
import { describeRuntime, MARKERS, run } from "../kit/runtime-conformance.ts";
import { PROGRAMS } from "../kit/runtime-programs.ts";

const never = new AbortController().signal;
const { javascript } = PROGRAMS;
const printed = (text: string) => ({ stdout: toCaptured(text) });
const forever = () => new Promise<never>(() => {});

const script: FakeScript = async ({ code }, { onCall, signal }) => {
  if (code === javascript.printSum) return printed("15\n");
  if (code === javascript.value) return { value: 20, text: "20" };
  if (code === javascript.raise)
    return { status: "error", error: { name: "TypeError", message: "boom", line: 3, traceback: "boom" } };
  if (code === javascript.multiLine) return printed("a\n    b\n");
  if (code === javascript.printMarkers) return printed(`${MARKERS.join("\n")}\n`);
  if (code === javascript.spin || code === javascript.wait) return forever();
  if (code === javascript.gather) {
    const calls = [0, 1, 2].map((n) => onCall?.({ index: n, tool: "echo", args: { n } }, signal));
    return { value: (await Promise.all(calls)).map((answer) => (answer?.ok ? answer.data : null)) };
  }
  return {};
};

describeRuntime("fake", {
  create: () =>
    new FakeRuntime({
      script,
      status: {
        available: true,
        languages: { javascript: { available: true }, python: { available: false, reason: "none", remedy: "get one" } },
      },
    }),
  programs: { javascript },
  refuses: "python",
});

describe("fake", () => {
  it("fails the step that it was told to, once, and records what happened", async () => {
    const runtime = new FakeRuntime();
    runtime.failNext("create", new ToolyardError("runtime_unavailable", "no"));
    await expect(runtime.create({}, never)).rejects.toThrow("no");
    const kernel = await (await runtime.create({}, never)).openKernel("python", never);
    runtime.failNext("run", new ToolyardError("sandbox_dead", "gone"));
    await expect(run(kernel, "1")).rejects.toThrow("gone");
    await run(kernel, "2");
    expect(runtime.records.map(({ step, code }) => code ?? step)).toEqual(["create", "create", "openKernel", "1", "2"]);
  });

  it("holds a step until it is let go, or until its signal fires", async () => {
    const runtime = new FakeRuntime();
    const gate = Promise.withResolvers<void>();
    runtime.holdNext("create", gate.promise);
    const creating = runtime.create({}, never);
    expect(runtime.instances).toEqual([]);
    gate.resolve();
    expect((await creating).id).toBe("fake_1");
    const abort = new AbortController();
    runtime.holdNext("create", forever());
    const cancelled = runtime.create({}, abort.signal);
    abort.abort();
    await expect(cancelled).rejects.toMatchObject({ error: "cancelled" });
  });

  it("dies in the middle of a run", async () => {
    const runtime = new FakeRuntime({ script: forever });
    const kernel = await (await runtime.create({}, never)).openKernel("bash", never);
    const running = run(kernel, "sleep");
    runtime.instances[0]?.die("oom");
    await expect(running).rejects.toMatchObject({ error: "sandbox_dead" });
    await expect(runtime.instances[0]?.closed).resolves.toMatchObject({ reason: "oom", expected: false });
  });
});
