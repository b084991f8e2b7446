import { expect, it, vi } from "vitest";
import CodeBackend from "../../../src/backends/code/backend.ts";
import type { CodeContext } from "../../../src/backends/code/session.ts";
import { LocalRuntime } from "../../../src/runtimes/local/runtime.ts";
import { QuickJsRuntime } from "../../../src/runtimes/quickjs/runtime.ts";
import { createRuntimeSelector } from "../../../src/runtimes/selector.ts";
import { testServer } from "../../kit/test-server.ts";
import { openCodeSession } from "./code-session.ts";
import { describeLocal } from "./local-sandboxes.ts";

const open = (sessionConfig: Record<string, unknown> = {}) => openCodeSession([new LocalRuntime()], {}, sessionConfig);

/** A wheel that holds one module, as pip takes it. */
const MAKE_WHEEL = `
import zipfile
with zipfile.ZipFile('/workspace/tiny-1.0-py3-none-any.whl', 'w') as wheel:
    wheel.writestr('tiny.py', 'answer = 42')
    wheel.writestr('tiny-1.0.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: tiny\\nVersion: 1.0\\n')
    wheel.writestr('tiny-1.0.dist-info/WHEEL', 'Wheel-Version: 1.0\\nGenerator: t\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
    wheel.writestr('tiny-1.0.dist-info/RECORD', '')`;

describeLocal("the box of a session", () => {
  it("says what it is and what it uses", async () => {
    const { call } = await open({ pids: 50, disk_mib: 8 });
    await call("code:run", { language: "python", code: "1" });
    expect(await call("sandbox:info", {})).toMatchObject({
      runtime: "local",
      isolation: "namespace",
      network: "none",
      limits: { memory_mib: 1024, pids: 50, disk_mib: 8, cpus: null },
      folder: "/workspace",
      abilities: expect.arrayContaining(["files", "exec", "reset", "pause"]),
      paused: false,
      kernels: [{ name: "python", language: "python", busy: false }],
    });
    const stats = await call("code:stats", {});
    expect(stats).toMatchObject({ pids_limit: 50 });
    expect(stats.disk_limit_bytes).toBeGreaterThanOrEqual(8 << 20);
    expect(stats.memory_bytes).toBeGreaterThan(0);
  });

  it("is refused to calls while it is paused, and goes on as it was", async () => {
    const { call } = await open();
    await call("code:run", { language: "python", code: "x = 1" });
    expect(await call("sandbox:pause", {})).toEqual({ paused: true });
    expect(await call("sandbox:pause", {})).toEqual({ paused: true });
    for (const refused of [call("code:run", { code: "1" }), call("file:list", {}), call("code:interrupt", {})])
      await expect(refused).rejects.toMatchObject({ error: "conflict", suggestion: expect.stringContaining("resume") });
    expect(await call("sandbox:info", {})).toMatchObject({ paused: true });
    expect(await call("sandbox:resume", {})).toEqual({ paused: false });
    expect(await call("code:run", { language: "python", code: "x" })).toMatchObject({ result: 1 });
  });

  it("B11 is as a fresh one after a reset", async () => {
    const { call } = await open();
    const look = {
      command:
        "cd ~; find /workspace /tmp /dev/shm -mindepth 1 | sort; env | grep -v '^_=' | sort; ls /proc | grep -c '^[0-9]'",
    };
    const fresh = await call("bash:run", look);
    await call("code:run", { language: "python", code: "import builtins; builtins.print = None; x = 1" });
    await call("bash:run", {
      command: "echo x > /tmp/f; echo y > /dev/shm/f; mkdir d; export LEFT=1; git config --global a.b c; sleep 60 &",
    });
    await call("bash:run", { command: "sleep 60", background: true });
    expect(await call("code:reset", {})).toEqual({ reset: true });
    expect(await call("code:kernels", {})).toEqual({ kernels: [] });
    expect(await call("bash:list", {})).toEqual({ commands: [] });
    // What emptied it may be on its way out still.
    const after = async () => ({ ...(await call("bash:run", look)), duration_ms: 0 });
    await expect.poll(after).toEqual({ ...fresh, duration_ms: 0 });
    expect(await call("code:run", { language: "python", code: "print('x' in globals())" })).toMatchObject({
      stdout: "False\n",
    });
  });

  it("takes packages by path without a network, and says why it takes none by name", async () => {
    const { call } = await open();
    const setOutcome = vi.fn<CodeContext["setOutcome"]>();
    for (const manager of ["pip", "npm"] as const) {
      await expect(call("code:install", { packages: ["left-pad"], manager })).rejects.toMatchObject({
        error: "address_refused",
        outcome: "rejected",
        suggestion: expect.stringContaining("network"),
      });
    }
    await expect(call("code:install", { packages: ["--index-url=http://evil"] })).rejects.toThrow(/package/);
    await call("code:run", { language: "python", code: MAKE_WHEEL });
    await call("code:run", { language: "python", code: "import tiny" });
    const done = await call("code:install", { packages: ["./tiny-1.0-py3-none-any.whl"] }, { setOutcome });
    if (!done.installed) {
      // A machine without pip says so, as a failure of the work.
      expect(done.stderr).toMatch(/No module named pip/);
      expect(setOutcome).toHaveBeenCalledWith("tool_error");
      return;
    }
    expect(await call("bash:run", { command: "python3 -c 'import tiny; print(tiny.answer)'" })).toMatchObject({
      stdout: "42\n",
    });
    // The interpreter that has looked for it in vain finds it, too.
    const run = await call("code:run", { language: "python", code: "import tiny; tiny.answer" });
    expect(run).toMatchObject({ error: null, result: 42 });
    // No distribution's mark keeps the shell's own pip from a sandbox.
    const again = "pip install --no-index --force-reinstall ./tiny-1.0-py3-none-any.whl";
    expect(await call("bash:run", { command: `python3 -m ${again}` })).toMatchObject({ exit_code: 0 });
  });

  it("opens a port to who has the URL, until it is closed", async () => {
    const runtimes = createRuntimeSelector({ order: ["local"] });
    await using server = await testServer({ backends: [new CodeBackend({ config: {}, runtimes })] });
    await server.post("/api/v1/session/create", { worker_id: "w1", resource_type: "code" });
    await server.execute("file:write", { path: "index.html", content: "from inside" });
    await server.execute("bash:run", { command: "python3 -m http.server 8123 --bind 127.0.0.1", background: true });
    const { data } = (await server.execute("sandbox:expose", { port: 8123 })).body;
    await expect.poll(async () => (await fetch(data.url)).text(), { timeout: 30_000 }).toBe("from inside");
    expect((await server.execute("sandbox:ports")).body.data).toMatchObject({ ports: [{ id: data.id, port: 8123 }] });
    expect((await server.execute("sandbox:unexpose", { port: 8123 })).body.data).toEqual({ port: 8123, closed: 1 });
    expect((await fetch(data.url)).ok).toBe(false);
    await runtimes.close();
  });
});

describeLocal("the five names without a prefix", () => {
  it("do what their seed says, and tell failures of the model as text", async () => {
    const { call } = await open();
    const setOutcome = vi.fn<CodeContext["setOutcome"]>();
    expect(await call("execute_command", { command: "echo out; echo err >&2; exit 3" }, { setOutcome })).toEqual({
      status: "success",
      output: "out\n\nerr\n",
      error: null,
      stdout: "out\n",
      stderr: "err\n",
      exit_code: 3,
    });
    expect(setOutcome).toHaveBeenCalledExactlyOnceWith("tool_error");
    expect(await call("write_file", { path: "d/a.txt", content: "text" })).toMatchObject({
      status: "success",
      output: "File written successfully: d/a.txt (4 bytes)",
    });
    expect(await call("read_file", { path: "d/a.txt" })).toEqual({ status: "success", output: "text", error: null });
    expect(await call("list_files", { path: "d" })).toMatchObject({
      output: "/workspace/d/a.txt",
      files: ["/workspace/d/a.txt"],
    });
    expect(await call("list_files", { path: ".", pattern: "**/*.txt" })).toMatchObject({
      files: ["/workspace/d/a.txt"],
    });
    expect(await call("read_file", { path: "none" }, { setOutcome })).toEqual({
      status: "error",
      output: "",
      error: expect.stringContaining("none"),
    });
    expect(setOutcome).toHaveBeenCalledTimes(2);
    expect(await call("list_files", { path: "none" })).toMatchObject({ status: "error", files: [] });
  });

  it("run code by the names that their languages have there", async () => {
    const { call } = await open();
    expect(await call("run_code", { language: "python", code: "print('hi'); 6 * 7" })).toMatchObject({
      status: "success",
      output: "hi\n42",
      result: "42",
    });
    expect(await call("run_code", { language: "js", code: "6 * 7" })).toMatchObject({ result: "42" });
    expect(await call("run_code", { language: "ts", code: "const n: number = 6; n" })).toMatchObject({ result: "6" });
    expect(await call("run_code", { language: "bash", code: "echo $((6 * 7))" })).toMatchObject({ output: "42\n" });
    expect(await call("run_code", { language: "python", code: "1 / 0" })).toMatchObject({
      status: "error",
      error: "ZeroDivisionError: division by zero",
    });
  });
});

describeLocal("a runtime without files", () => {
  it("says which runtimes have them", async () => {
    const { call } = await openCodeSession([new QuickJsRuntime({ spares: 0 }), new LocalRuntime()]);
    await expect(call("file:list", {})).rejects.toMatchObject({
      error: "runtime_unavailable",
      message: 'sandboxes of the runtime "quickjs" cannot hold files',
      details: { ability: "files", runtime: "quickjs", runtimes: expect.arrayContaining(["local"]) },
      suggestion: expect.stringContaining('session_config {"runtime": "local"}'),
    });
  });
});
