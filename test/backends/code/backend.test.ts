import { describe, expect, it, vi } from "vitest";
import CodeBackend from "../../../src/backends/code/backend.ts";
import type { CodeActions } from "../../../src/backends/code/actions.ts";
import type { CodeContext } from "../../../src/backends/code/session.ts";
import type { Isolation, Language, SandboxRuntime } from "../../../src/core/runtime.ts";
import { type FakeOptions, FakeRuntime, toCaptured } from "../../../src/runtimes/fake/runtime.ts";
import { createRuntimeSelector } from "../../../src/runtimes/selector.ts";
import { echo } from "../../kit/runtime-conformance.ts";
import { lifecycle, openCodeSession } from "./code-session.ts";

async function open(
  runtimes: readonly SandboxRuntime[],
  config: Record<string, unknown> = {},
  sessionConfig: Record<string, unknown> = {},
) {
  const opened = await openCodeSession(runtimes, config, sessionConfig);
  const run = (params: CodeActions["code:run"]["params"], overrides: Partial<CodeContext> = {}) =>
    opened.call("code:run", params, overrides);
  return { ...opened, run };
}

const fake = (name: string, isolation: Isolation, languages: Language[], script?: FakeOptions["script"]) =>
  new FakeRuntime({ name, isolation, languages, ...(script === undefined ? {} : { script }) });

describe("code:run in a real sandbox", () => {
  it("answers a result of its own schema, and keeps state", async () => {
    const selector = createRuntimeSelector({ order: ["quickjs"], quickjs: { spares: 0 } });
    const runtime = await selector.select({}, new AbortController().signal);
    const { run } = await open([runtime]);
    const squares = await run({ code: "const squares = [1, 2, 3].map((x) => x * x); console.log('hi'); squares" });
    expect(squares).toMatchObject({
      language: "javascript",
      runtime: "quickjs",
      stdout: "hi\n",
      result: [1, 4, 9],
      text: "[1, 4, 9]",
      error: null,
      execution_count: 1,
      state_lost: false,
      truncated: { stdout: false, stdout_bytes: 3 },
    });
    const typed = await run({ language: "typescript", code: "const n: number = squares.length; n" });
    expect(typed).toMatchObject({ result: 3, execution_count: 2, kernel: "javascript" });
    await selector.close();
  });

  it("refuses python with the reason and the remedy where nothing runs it", async () => {
    const { run } = await open([fake("js", "wasm", ["javascript"])]);
    await expect(run({ language: "python", code: "1" })).rejects.toMatchObject({
      error: "runtime_unavailable",
      message: expect.stringContaining("python"),
    });
  });
});

describe("code:run", () => {
  it("gives what the code raised as a value, and says that the call failed as the model's own", async () => {
    const error = { name: "ValueError", message: "boom", line: 1, traceback: "…" };
    const { run } = await open([fake("a", "vm", ["python"], () => ({ status: "error", error }))]);
    const setOutcome = vi.fn<CodeContext["setOutcome"]>();
    expect(await run({ language: "python", code: "x" }, { setOutcome })).toMatchObject({ error, result: null });
    expect(setOutcome).toHaveBeenCalledExactlyOnceWith("tool_error");
  });

  it("leaves bash's exit code a value, and says whose failure one that is not 0 is", async () => {
    const runtime = fake("a", "vm", ["bash"], () => ({ exitCode: 1 }));
    const { run } = await open([runtime]);
    const setOutcome = vi.fn<CodeContext["setOutcome"]>();
    expect(await run({ language: "bash", code: "false" }, { setOutcome })).toMatchObject({ exit_code: 1, error: null });
    expect(setOutcome).toHaveBeenCalledExactlyOnceWith("tool_error");
    runtime.script = () => ({ exitCode: 0 });
    setOutcome.mockClear();
    await run({ language: "bash", code: "true" }, { setOutcome });
    expect(setOutcome).not.toHaveBeenCalled();
  });

  it("tells an interpreter that ended", async () => {
    const { run } = await open([
      fake("a", "vm", ["python"], () => ({ status: "exited", exitCode: 3, stateLost: true })),
    ]);
    expect(await run({ language: "python", code: "x" })).toMatchObject({
      exit_code: 3,
      state_lost: true,
      error: { name: "InterpreterExited", message: "the python interpreter ended with exit code 3" },
    });
  });

  it("throws a timeout and a limit with what was written and whether state was lost", async () => {
    const runtime = fake("a", "vm", ["python"], () => ({
      status: "timeout",
      stdout: toCaptured("so far"),
      stateLost: true,
    }));
    const { run } = await open([runtime]);
    await expect(run({ language: "python", code: "x", timeout_ms: 50 })).rejects.toMatchObject({
      error: "timeout",
      outcome: "limit",
      message: expect.stringContaining("50 ms"),
      details: { limit: "timeout", stdout: "so far", state_lost: true },
    });
    runtime.script = () => ({ status: "limit", limit: "memory" });
    await expect(run({ language: "python", code: "x" })).rejects.toMatchObject({
      error: "limit_exceeded",
      details: { limit: "memory", state_lost: false },
    });
  });

  it("ends the work when the call's signal fires", async () => {
    const started = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    const { run } = await open([
      fake("a", "vm", ["python"], (_, { signal }) => {
        signal.addEventListener("abort", () => ended.resolve());
        started.resolve();
        return new Promise(() => {});
      }),
    ]);
    const abort = new AbortController();
    const running = run({ language: "python", code: "x" }, { signal: abort.signal });
    await started.promise;
    abort.abort();
    await expect(running).rejects.toMatchObject({ error: "cancelled" });
    await ended.promise;
  });

  it("bounds the caller's timeout by the config's", async () => {
    const seen: number[] = [];
    const runtime = fake("a", "vm", ["python"], ({ deadlineMs }) => {
      seen.push(deadlineMs);
      return {};
    });
    const { run } = await open([runtime], { max_timeout_ms: 500, timeout_ms: 400 }, { timeout_ms: 300 });
    await run({ language: "python", code: "x", timeout_ms: 9999 });
    await run({ language: "python", code: "x" });
    expect(seen).toEqual([500, 300]);
  });

  it("lets code call tools as code, not as the worker itself", async () => {
    const call = vi.fn<CodeContext["call"]>((action, args = {}) => echo({ index: 0, tool: action, args }));
    const { run } = await open([
      fake("a", "vm", ["python"], async (_, { onCall, signal }) => {
        const answer = await onCall?.({ index: 0, tool: "echo", args: { n: 1 } }, signal);
        return { value: answer?.ok === true ? answer.data : null };
      }),
    ]);
    expect(await run({ language: "python", code: "x" }, { call })).toMatchObject({ result: { n: 1 } });
    expect(call).toHaveBeenCalledWith("echo", { n: 1 }, expect.objectContaining({ caller: "code" }));
  });
});

describe("a session of code", () => {
  it("opens a second sandbox for a language that the first one's runtime lacks", async () => {
    const [first, second] = [fake("first", "wasm", ["javascript"]), fake("second", "namespace", ["python"])];
    const { run } = await open([first, second]);
    expect([first.instances.length, second.instances.length]).toEqual([1, 0]);
    expect(await run({ code: "1" })).toMatchObject({ runtime: "first" });
    expect(await run({ language: "python", code: "1" })).toMatchObject({ runtime: "second" });
    await run({ language: "python", code: "2" });
    expect([first.instances.length, second.instances.length]).toEqual([1, 1]);
  });

  it("never goes below the minimum isolation of config or session", async () => {
    const runtimes = [fake("weak", "wasm", ["javascript"]), fake("strong", "container", ["python"])];
    const { run } = await open(runtimes, {}, { min_isolation: "namespace" });
    await expect(run({ code: "1" })).rejects.toMatchObject({ error: "runtime_unavailable" });
    await expect(open(runtimes, { min_isolation: "vm" }, { min_isolation: "none" })).rejects.toMatchObject({
      error: "runtime_unavailable",
    });
  });

  it("is dead once a sandbox died: its calls say so, and nothing is made anew in silence", async () => {
    const runtime = fake("a", "vm", ["python"]);
    const { run, call } = await open([runtime]);
    await run({ language: "python", code: "1" });
    runtime.instances[0]?.die("oom");
    await runtime.instances[0]?.closed;
    await expect(run({ language: "python", code: "2" })).rejects.toMatchObject({
      error: "sandbox_dead",
      outcome: "infra_error",
      message: expect.stringContaining("oom"),
    });
    await expect(call("code:kernels", {})).rejects.toThrow(/gone/);
    expect(runtime.instances).toHaveLength(1);
  });

  it("lists kernels, keeps them apart by name and restarts them", async () => {
    const { run, call } = await open([fake("a", "vm", ["python", "bash"])], { max_kernels: 2 });
    await run({ language: "python", code: "1", kernel: "mine" });
    await expect(run({ language: "bash", code: "1", kernel: "mine" })).rejects.toMatchObject({
      error: "invalid_input",
    });
    await run({ language: "python", code: "1" });
    await expect(run({ language: "bash", code: "1" })).rejects.toMatchObject({ error: "limit_exceeded" });
    expect((await call("code:kernels", {})).kernels.map(({ name }) => name)).toEqual(["mine", "python"]);
    expect(await call("code:restart", { kernel: "mine" })).toEqual({ restarted: ["mine"] });
    expect(await run({ language: "python", code: "1", kernel: "mine" })).toMatchObject({ execution_count: 1 });
  });

  it("is stopped by cleanup, twice and without data too", async () => {
    const runtime = fake("a", "vm", ["python"]);
    const { backend, session } = await open([runtime]);
    await backend.cleanup(session);
    await backend.cleanup(session);
    await backend.cleanup({ ...session, data: undefined });
    expect(runtime.instances.map(({ isDead }) => isDead)).toEqual([true]);
  });

  it("E07 leaves no sandbox when its creation is cancelled", async () => {
    const runtime = fake("a", "vm", ["python"]);
    const selector = createRuntimeSelector({ order: ["a"], runtimes: [runtime] });
    const backend = new CodeBackend({ config: {}, runtimes: selector });
    runtime.holdNext("create", new Promise(() => {}));
    const abort = new AbortController();
    const opening = backend.initialize(
      { workerId: "w", tenant: "t", sessionId: "s", config: {} },
      lifecycle(abort.signal),
    );
    abort.abort();
    await expect(opening).rejects.toMatchObject({ error: "cancelled" });
    expect(runtime.instances.filter(({ isDead }) => !isDead)).toEqual([]);
  });

  it("passes limits on, and refuses what is over the config's maxima or unknown", async () => {
    const runtime = fake("a", "vm", ["python"]);
    const { backend } = await open([runtime], { memory_mib: 100 }, { pids: 7, environment: { A: "1" } });
    expect(runtime.instances[0]?.spec).toEqual({
      sessionId: "s",
      workerId: "w",
      limits: { memoryMiB: 100, pids: 7 },
      environment: { A: "1" },
    });
    expect(backend.sessionSchema.safeParse({ memory_mib: 1e6 }).success).toBe(false);
    expect(backend.sessionSchema.safeParse({ max_memory_mib: 1 }).success).toBe(false);
  });

  it("says in health what serves, or what is missing", async () => {
    const { backend } = await open([fake("a", "vm", ["python"])]);
    expect(await backend.health(lifecycle())).toEqual({ up: true, details: { runtime: "a" } });
    const none = new CodeBackend({ config: {}, runtimes: createRuntimeSelector({ order: [] }) });
    expect(await none.health(lifecycle())).toMatchObject({ up: false, reason: expect.stringMatching(/no runtime/) });
  });
});
