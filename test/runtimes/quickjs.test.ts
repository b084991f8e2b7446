import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Kernel, SandboxInstance } from "../../src/core/runtime.ts";
import { QuickJsRuntime } from "../../src/runtimes/quickjs/runtime.ts";
import { isRunning, listChildren } from "../kit/child-processes.ts";
import { describeRuntime, echo, run } from "../kit/runtime-conformance.ts";
import { PROGRAMS } from "../kit/runtime-programs.ts";

const never = new AbortController().signal;

describeRuntime("quickjs", {
  create: () => new QuickJsRuntime(),
  programs: { javascript: PROGRAMS.javascript },
  refuses: "python",
});

describe("quickjs", () => {
  const runtime = new QuickJsRuntime({ limits: { outputBytes: 4096 } });
  let sandbox: SandboxInstance;
  let kernel: Kernel;
  beforeAll(async () => {
    sandbox = await runtime.create({}, never);
    kernel = await sandbox.openKernel("javascript", never);
  });
  afterAll(() => runtime.close());

  it("lets a later run declare the same names again", async () => {
    await run(kernel, "let a = 1; const b = 2; class C { v = 1 }");
    const again = await run(kernel, "let a = 3; const b = 4; class C { v = 2 }\n[a, b, new C().v]");
    expect(again.value).toEqual([3, 4, 2]);
    expect((await run(kernel, "let a;\na")).text).toBeNull();
  });

  it("keeps true lines where declarations are rewritten", async () => {
    const { error } = await run(kernel, "const one = 1;\nclass Two {}\nlet three;\nmissing()");
    expect(error).toMatchObject({ name: "ReferenceError", line: 4 });
  });

  it("tells a syntax error with its line", async () => {
    expect((await run(kernel, "1;\nfoo bar")).error).toMatchObject({ name: "SyntaxError", line: 2 });
  });

  it("strips TypeScript's types", async () => {
    const request = { code: "interface A { n: number }\nconst a: A = { n: 4 };\na.n", deadlineMs: 30_000 };
    const { value } = await kernel.run({ ...request, dialect: "typescript" }, { signal: never });
    expect(value).toBe(4);
  });

  it("separates stdout from stderr and formats values", async () => {
    const { stdout, stderr } = await run(
      kernel,
      "console.log('%s is', 'a', { b: [1, 'c'] }, new Map([[1, 2]]));\nconsole.error('bad')",
    );
    expect(stdout.text).toBe('a is { b: [1, "c"] } Map(1) { 1 => 2 }\n');
    expect(stderr.text).toBe("bad\n");
  });

  it("streams output while code runs", async () => {
    const seen: string[] = [];
    await run(kernel, "console.log('one'); await tools.call('echo', {}); console.log('two')", {
      onCall: async (call) => {
        seen.push("call");
        return echo(call);
      },
      onOutput: (_, text) => void seen.push(text),
    });
    expect(seen).toEqual(["one\n", "call", "two\n"]);
  });

  it("A06 A07 bounds a flood, with head and tail kept and exact counts", async () => {
    const { stdout } = await run(
      kernel,
      "console.log('head'); const line = 'x'.repeat(1e6); for (let i = 0; i < 20; i++) console.log(line); console.log('tail')",
    );
    expect(stdout).toMatchObject({ truncated: true, bytes: 5 + 20 * 1_000_001 + 5 });
    expect(stdout.text).toMatch(/^head\nx+\n… \d+ bytes left out …\nx+\ntail\n$/);
    expect(stdout.text.length).toBeLessThan(4200);
  });

  it("A08 keeps characters whole at the cut, and replaces what is no character", async () => {
    const { stdout } = await run(kernel, "console.log('€'.repeat(5000) + '\\ud800')");
    expect(stdout.text.replaceAll(/\n… \d+ bytes left out …\n/g, "")).toMatch(/^€+\ufffd+\n$/);
  });

  it("ends code that awaits what can never come, at once and with its state kept", async () => {
    const { status, error, stateLost } = await run(kernel, "globalThis.kept = 1; await new Promise(() => {})");
    expect({ status, name: error?.name, stateLost }).toEqual({ status: "error", name: "Deadlock", stateLost: false });
    expect((await run(kernel, "kept")).value).toBe(1);
  });

  const HOSTILE = {
    "an infinite loop": ["while (true) {}", false],
    "a loop of promises": ["(async () => { while (true) await 0 })(); await new Promise(() => {})", true],
    "a regular expression that blows up": ["/(a+)+$/.test('a'.repeat(40) + 'b')", false],
    "A02 a memory bomb": ["const a = []; for (let i = 0; ; i++) a.push('x'.repeat(1e6) + i)", true],
    "a built-in that cannot be interrupted": ["Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)", true],
  } as const;
  for (const [name, [code, mayLose]] of Object.entries(HOSTILE)) {
    it(`stops ${name} at the deadline and says whether state was lost`, async () => {
      await run(kernel, "globalThis.kept = 1");
      const started = performance.now();
      const { status, stateLost } = await run(kernel, code, { deadlineMs: 300 });
      expect(["timeout", "limit"]).toContain(status);
      // 300 ms of grace are promised; the rest is for a busy machine.
      expect(performance.now() - started).toBeLessThan(10_000);
      if (!mayLose) expect(stateLost).toBe(false);
      expect((await run(kernel, "typeof kept")).value).toBe(stateLost ? "undefined" : "number");
    });
  }

  it("A02 names the limits of memory and stack", async () => {
    const small = await runtime.create({ limits: { memoryMiB: 4 } }, never);
    const cramped = await small.openKernel("javascript", never);
    const bomb = await run(cramped, "'x'.repeat(1e7)");
    expect(bomb).toMatchObject({ status: "limit", limit: "memory" });
    expect(await run(cramped, "(function f() { return f() + 1 })()")).toMatchObject({
      status: "limit",
      limit: "stack",
    });
    expect((await run(cramped, "eval('('.repeat(50_000) + ')'.repeat(50_000))")).status).not.toBe("ok");
    expect((await run(cramped, "1 + 1")).value).toBe(2);
    await small.stop();
  });

  it("A16 bounds poisoned results", async () => {
    const cycle = await run(kernel, "const c = {}; c.c = c; c");
    expect(cycle).toMatchObject({ value: null, text: "{ c: [Circular] }" });
    expect(await run(kernel, "NaN")).toMatchObject({ value: null, text: "NaN" });
    expect(await run(kernel, "10n")).toMatchObject({ value: null, text: "10n" });
    expect(await run(kernel, "'x'.repeat(3e6)")).toMatchObject({ value: null, valueTruncated: true });
    expect(await run(kernel, "({ toJSON() { while (true) {} } })", { deadlineMs: 200 })).toMatchObject({
      status: "timeout",
    });
    expect(await run(kernel, "new Proxy({}, { get() { throw 1 }, ownKeys() { throw 2 } })")).toMatchObject({
      status: "ok",
    });
    const deep = await run(kernel, "let d = []; for (let i = 0; i < 1e5; i++) d = [d]; d");
    expect(deep.value).toBeNull();
  });

  it("reaches nothing of the host from user code", async () => {
    const names = "typeof process + typeof require + typeof globalThis.fetch + typeof Worker";
    expect((await run(kernel, names)).value).toBe("undefined".repeat(4));
    expect((await run(kernel, "await import('node:fs')")).status).toBe("error");
  });

  it("refuses calls when the host offers none, and passes refusals on (seed defect 13)", async () => {
    const code = "try { await tools.call('vm:destroy', {}) } catch (e) { [e.name, e.type, e.message] }";
    expect((await run(kernel, code)).value).toEqual(["ToolError", "tool_not_found", "code may not call tools here"]);
    const { value } = await run(kernel, code, { onCall: echo });
    expect(value).toEqual(["ToolError", "forbidden", "code may not call vm:destroy"]);
  });

  it("queues calls over the limit of those in flight, and refuses those over the budget", async () => {
    const tight = await runtime.create({ limits: { callsInFlight: 2, calls: 5 } }, never);
    const caller = await tight.openKernel("javascript", never);
    const together = Promise.withResolvers<void>();
    let inFlight = 0;
    let most = 0;
    const { value } = await run(
      caller,
      "(await Promise.allSettled(Array.from({ length: 7 }, (_, n) => tools.call('echo', { n })))).map((r) => r.status)",
      {
        onCall: async (call) => {
          most = Math.max(most, ++inFlight);
          // The two may come in reads of their own.
          if (inFlight === 2) together.resolve();
          await together.promise;
          await new Promise(setImmediate);
          inFlight -= 1;
          return echo(call);
        },
      },
    );
    expect(most).toBe(2);
    expect(value).toEqual([...Array(5).fill("fulfilled"), "rejected", "rejected"]);
    await tight.stop();
  });

  it.each([
    [
      "an error's line that is no integer",
      "const e = new Error('m'); e.lineNumber = 1.5; e.stack = ''; throw e",
      "error",
    ],
    [
      "an error's line that is no safe integer",
      "const f = new Error('m'); f.stack = `cell-${'X'}.js:${'9'.repeat(30)}`; throw f",
      "error",
    ],
    ["an error that no frame can hold", "throw new Error('x'.repeat(9_000_000))", "error"],
    [
      "more output and result than a frame can hold",
      "console.log('\\x01'.repeat(8_000_000)); '中'.repeat(1_000_000)",
      "ok",
    ],
    [
      "more calls in flight than allowed",
      "Object.defineProperty(Map.prototype, 'size', { get: () => 0 }); for (let i = 0; i < 9; i++) tools.call('echo'); 1",
      "ok",
    ],
  ])("takes for the guest's own: %s", async (_name, code, expected) => {
    const bent = await runtime.create({ limits: { callsInFlight: 2, outputBytes: 8 << 20 } }, never);
    const own = await bent.openKernel("javascript", never);
    const cell = code.replace("'X'", "1");
    expect(await run(own, cell, { onCall: () => new Promise(() => {}) })).toMatchObject({ status: expected });
    expect((await run(own, "2")).value).toBe(2);
    await bent.stop();
  });

  it("aborts the tools that are still running when the code ends", async () => {
    const aborted = Promise.withResolvers<void>();
    await run(kernel, "tools.call('slow', {}); 1", {
      onCall: (_, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => {
            aborted.resolve();
            reject(new Error("aborted"));
          });
        }),
    });
    await aborted.promise;
  });

  it("is dead, and says so, once its engine was killed from outside", async () => {
    const lonely = new QuickJsRuntime({ spares: 0 });
    const before = new Set(listChildren());
    const doomed = await lonely.create({}, never);
    const victim = await doomed.openKernel("javascript", never);
    await run(victim, "1");
    const engines = listChildren().filter((pid) => !before.has(pid));
    const running = run(victim, "await tools.call('wait', {})", { onCall: () => new Promise(() => {}) });
    for (const pid of engines) process.kill(pid, "SIGKILL");
    await expect(running).rejects.toMatchObject({ error: "sandbox_dead" });
    await expect(doomed.closed).resolves.toMatchObject({ expected: false });
    await expect(run(victim, "1")).rejects.toMatchObject({ error: "sandbox_dead" });
    await expect(doomed.openKernel("javascript", never)).rejects.toMatchObject({ error: "sandbox_dead" });
    await lonely.close();
  });
});

describe("quickjs processes", () => {
  it("die with a server that is killed, even when they cannot be interrupted", async () => {
    const server = spawn(process.execPath, [fileURLToPath(new URL("./orphan-server.ts", import.meta.url))], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [line] = await once(server.stdout, "data");
    const pids = String(line).trim().split(" ").map(Number);
    expect(pids.length).toBeGreaterThan(0);
    server.kill("SIGKILL");
    await expect.poll(() => pids.filter(isRunning)).toEqual([]);
  });
});
