import { describe, expect, it, vi } from "vitest";
import { toShellCode } from "../../../src/backends/code/shell-code.ts";
import type { CodeContext } from "../../../src/backends/code/session.ts";
import { FakeRuntime } from "../../../src/runtimes/fake/runtime.ts";
import { LocalRuntime } from "../../../src/runtimes/local/runtime.ts";
import { openCodeSession } from "./code-session.ts";
import { describeLocal } from "./local-sandboxes.ts";

async function open(config: Record<string, unknown> = {}) {
  const session = await openCodeSession([new LocalRuntime()], config);
  const run = (command: string, more: object = {}, overrides: Partial<CodeContext> = {}) =>
    session.call("bash:run", { command, ...more }, overrides);
  const start = async (command: string, more: object = {}) => {
    const started = await run(command, { background: true, ...more });
    if (!started.background) throw new Error("it ran in the foreground");
    return started;
  };
  return { ...session, run, start };
}

describe("a command for a shell", () => {
  it("is the command itself unless it is to run elsewhere or with more environment", () => {
    expect(toShellCode("ls", {})).toBe("ls");
    expect(toShellCode("ls", { env: { A: "it's" } })).toBe("A='it'\\''s' eval 'ls'");
    expect(toShellCode("ls", { cwd: "/tmp" })).toBe("builtin cd -- '/tmp' || builtin return; ls");
  });

  it("needs a runtime with bash, and says which when it runs in the background", async () => {
    const { call } = await openCodeSession([new FakeRuntime({ name: "js", languages: ["javascript"] })]);
    await expect(call("bash:run", { command: "ls" })).rejects.toMatchObject({ error: "runtime_unavailable" });
    await expect(call("bash:run", { command: "ls", background: true })).rejects.toMatchObject({
      error: "runtime_unavailable",
      details: { ability: "spawn" },
    });
  });
});

describeLocal("bash:run", () => {
  it("keeps functions, variables, exported environment and the folder from command to command", async () => {
    const { run } = await open();
    await run("greet() { echo hello $1; }; plain=1; export SHOWN=2; mkdir -p there && cd there");
    expect(await run('greet you; echo "$plain $SHOWN $PWD"; bash -c "echo $SHOWN"')).toMatchObject({
      background: false,
      exit_code: 0,
      stdout: "hello you\n1 2 /workspace/there\n2\n",
      stderr: "",
    });
  });

  it("A17 tells stderr apart and the exit code, and outlives an exit", async () => {
    const { run } = await open();
    const setOutcome = vi.fn<CodeContext["setOutcome"]>();
    await run("kept=yes");
    expect(await run("echo out; echo err >&2; exit 3", {}, { setOutcome })).toMatchObject({
      exit_code: 3,
      stdout: "out\n",
      stderr: "err\n",
      state_lost: false,
    });
    expect(setOutcome).toHaveBeenCalledExactlyOnceWith("tool_error");
    expect(await run("echo $kept")).toMatchObject({ stdout: "yes\n", exit_code: 0 });
  });

  it("runs elsewhere and with more environment for one command alone, however it ends", async () => {
    const { run } = await open();
    expect(await run('echo "$PWD $A"; kept=1', { cwd: "/tmp", env: { A: "b c" } })).toMatchObject({
      stdout: "/tmp b c\n",
    });
    expect(await run('echo "$PWD [$A] $kept"')).toMatchObject({ stdout: "/workspace [] 1\n" });
    await run("exit 4", { cwd: "/tmp" });
    await expect(run("sleep 60", { cwd: "/tmp", timeout_ms: 300 })).rejects.toMatchObject({ error: "timeout" });
    expect(await run("pwd")).toMatchObject({ stdout: "/workspace\n" });
    expect(await run("true", { cwd: "/nowhere" })).toMatchObject({
      exit_code: 1,
      stderr: expect.stringContaining("/nowhere"),
    });
  });

  it("A04 A05 kills what outlives its time, and what that started", async () => {
    const { run } = await open();
    await expect(run("sleep 4711 & setsid sleep 4711 & sleep 4711", { timeout_ms: 300 })).rejects.toMatchObject({
      error: "timeout",
      outcome: "limit",
    });
    const left = await run("grep -al 'sleep.471[1]' /proc/[0-9]*/cmdline 2>/dev/null; true");
    expect(left).toMatchObject({ stdout: "" });
  });

  it("has shells by name that share files only", async () => {
    const { run } = await open();
    await run("x=1; echo file > shared");
    expect(await run("echo [$x] $(cat shared)", { shell: "other" })).toMatchObject({ stdout: "[] file\n" });
  });
});

describeLocal("a command in the background", () => {
  it("answers at once, writes a log that is read by cursor, and tells its end", async () => {
    const { call, start } = await open();
    const { id } = await start("echo one; read line; echo got $line >&2; exit 7");
    const first = await call("bash:logs", { id, wait_ms: 10_000 });
    expect(first).toMatchObject({ chunks: [{ stream: "stdout", text: "one\n" }], skipped_bytes: 0, ended: false });
    expect(await call("bash:status", { id })).toMatchObject({ running: true, exit_code: null });
    expect(await call("bash:input", { id, text: "you\n", end: true })).toMatchObject({ written_bytes: 4, ended: true });
    expect(await call("bash:status", { id, wait_ms: 10_000 })).toMatchObject({
      running: false,
      exit_code: 7,
      command: "echo one; read line; echo got $line >&2; exit 7",
    });
    expect(await call("bash:logs", { id, cursor: first.cursor, wait_ms: 10_000 })).toMatchObject({
      chunks: [{ stream: "stderr", text: "got you\n" }],
      ended: true,
    });
    expect(await call("bash:list", {})).toMatchObject({ commands: [{ id, running: false }] });
  });

  it("starts where its shell is, with what that exported and its functions", async () => {
    const { call, run, start } = await open();
    await run("cd /tmp; export SHOWN=1; hidden=2; say() { echo said $1; }");
    const { id } = await start('say "$PWD $SHOWN $hidden $MORE"', { env: { MORE: "more" } });
    await call("bash:status", { id, wait_ms: 10_000 });
    expect(await call("bash:logs", { id })).toMatchObject({ chunks: [{ text: "said /tmp 1 more\n" }] });
  });

  it("runs on while commands run in the foreground, and ends by a signal or a kill", async () => {
    const { call, run, start } = await open();
    const [one, two] = [await start("trap 'echo bye; exit 5' TERM; sleep 60 & wait"), await start("sleep 60")];
    await run("true");
    await expect.poll(async () => (await call("bash:status", { id: one.id })).running).toBe(true);
    await call("bash:signal", { id: one.id, signal: "SIGTERM" });
    expect(await call("bash:status", { id: one.id, wait_ms: 10_000 })).toMatchObject({ running: false });
    expect(await call("bash:kill", { id: two.id })).toEqual({ id: two.id, killed: true });
    await expect(call("bash:status", { id: two.id })).rejects.toMatchObject({ error: "unknown_name", status: 404 });
  });

  it("is bounded in number, and may be longer than an argument can be", async () => {
    const { call, start } = await open({ max_background: 1 });
    const { id } = await start(`: ${"x".repeat(200_000)}\necho end`);
    await call("bash:status", { id, wait_ms: 10_000 });
    expect(await call("bash:logs", { id })).toMatchObject({ chunks: [{ text: "end\n" }] });
    await expect(start("true")).rejects.toMatchObject({ details: { limit: "background_commands" } });
    await call("bash:kill", { id });
    await start("true");
  });
});
