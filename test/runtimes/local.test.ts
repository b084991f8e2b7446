import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { GuestCall, Kernel, SandboxInstance } from "../../src/core/runtime.ts";
import { LocalRuntime } from "../../src/runtimes/local/runtime.ts";
import { createCallFilter } from "../../src/runtimes/local/call-filter.ts";
import { isRunning, listChildren } from "../kit/child-processes.ts";
import { describeRuntime, echo, run } from "../kit/runtime-conformance.ts";
import { describeCommands, describeProcesses } from "../kit/runtime-conformance-commands.ts";
import { describeFiles } from "../kit/runtime-conformance-files.ts";
import { describePorts } from "../kit/runtime-conformance-ports.ts";
import { describePause, describeState } from "../kit/runtime-conformance-state.ts";
import { PROGRAMS } from "../kit/runtime-programs.ts";

const never = new AbortController().signal;
const status = await new LocalRuntime().check(never);
const has = (language: keyof typeof PROGRAMS) => status.languages[language]?.available === true;

if (!status.available) {
  describe("local", () => {
    it.skip(`is not tested here: ${status.reason}; remedy: ${status.remedy}`, () => {});
  });
} else {
  describeRuntime("local", {
    create: () => new LocalRuntime(),
    programs: {
      ...(has("python") ? { python: PROGRAMS.python } : {}),
      ...(has("bash") ? { bash: PROGRAMS.bash } : {}),
      ...(has("javascript") ? { javascript: PROGRAMS.javascript } : {}),
    },
  });
  describeCommands("local", () => new LocalRuntime());
  describeProcesses("local", () => new LocalRuntime());
  describeFiles("local", () => new LocalRuntime());
  describePorts("local", () => new LocalRuntime());
  describeState("local", () => new LocalRuntime());
  describePause("local", () => new LocalRuntime());
}

describe.runIf(status.available)("local", () => {
  const runtime = new LocalRuntime({ limits: { memoryMiB: 256, pids: 48, outputBytes: 4096, diskMiB: 16 } });
  let sandbox: SandboxInstance;
  let python: Kernel;
  let bash: Kernel;
  beforeAll(async () => {
    sandbox = await runtime.create({ environment: { GREETING: "hello" } }, never);
    python = await sandbox.openKernel("python", never);
    bash = await sandbox.openKernel("bash", never);
  });
  afterAll(() => runtime.close());

  const inBash = async (code: string, deadlineMs?: number) =>
    (await run(bash, code, deadlineMs === undefined ? {} : { deadlineMs })).stdout.text.trim();

  it("prints as Python does (seed defect 3)", async () => {
    const { stdout } = await run(python, "print()\nprint('a', 'b', sep='-')\nprint('no newline', end='')");
    expect(stdout.text).toBe("\na-b\nno newline");
  });

  it("keeps imports, functions and the loop's objects", async () => {
    await run(python, "import asyncio, math\ndef f(n):\n    return n + 1\nlock = asyncio.Lock()");
    expect((await run(python, "async with lock:\n    pass\nf(math.floor(1.5))")).value).toBe(2);
    expect((await run(python, "async def main():\n    return 3\nasyncio.run(main())")).value).toBe(3);
  });

  it("shows true lines and the source in tracebacks, and none of its own frames", async () => {
    const { error } = await run(python, "def inner():\n    return 1 / 0\n\ninner()");
    expect(error).toMatchObject({ name: "ZeroDivisionError", line: 2 });
    expect(error?.traceback).toMatch(/line 4, in <module>\n\s+inner\(\)/);
    expect(error?.traceback).toContain("return 1 / 0");
    expect(error?.traceback).not.toContain("python_kernel");
    expect((await run(python, "x = (")).error).toMatchObject({ name: "SyntaxError", line: 1 });
  });

  it("A17 survives sys.exit, and tells os._exit and signals exactly (seed defect 15)", async () => {
    await run(python, "kept = 1");
    expect(await run(python, "import sys; sys.exit(3)")).toMatchObject({ exitCode: 3, stateLost: false });
    const spoken = await run(python, "sys.exit('bad')");
    expect(spoken).toMatchObject({ exitCode: 1, stderr: { text: "bad\n" }, stateLost: false });
    expect((await run(python, "kept")).value).toBe(1);
    expect(await run(python, "import os; os._exit(4)")).toMatchObject({
      status: "exited",
      exitCode: 4,
      stateLost: true,
    });
    expect(await run(python, "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")).toMatchObject({
      status: "exited",
      signal: "SIGSEGV",
    });
    expect(await run(bash, "exit 5")).toMatchObject({ status: "ok", exitCode: 5, stateLost: false });
    expect((await run(python, "1 + 1")).value).toBe(2);
  });

  it("A09 answers EOF to whoever reads stdin", async () => {
    expect((await run(python, "input()")).error?.name).toBe("EOFError");
    expect(await run(bash, "cat; echo after")).toMatchObject({ stdout: { text: "after\n" } });
  });

  it("A02 answers a memory bomb with the limit, in one process and in many", async () => {
    expect(await run(python, "hog = bytearray(600 << 20)")).toMatchObject({ status: "limit", limit: "memory" });
    const many =
      "for i in 1 2 3 4; do python3 -c 'import time; b = bytearray(b\"x\") * (150 << 20); time.sleep(60)' & done; wait";
    expect(await run(bash, many)).toMatchObject({ status: "limit", limit: "memory", stateLost: true });
    expect(await inBash("echo back")).toBe("back");
  });

  it("A01 holds a fork bomb under its limit of processes", async () => {
    const bomb =
      "import os, time\ntry:\n    while True:\n        if os.fork() == 0:\n            time.sleep(60)\n            os._exit(0)\nexcept BlockingIOError as error:\n    print('refused', flush=True)\nwhile True: pass";
    const over = new AbortController();
    const { status: ended, stdout } = await run(python, bomb, { signal: over.signal, onOutput: () => over.abort() });
    expect([ended, stdout.text]).toEqual(["cancelled", "refused\n"]);
    expect((await run(python, "1 + 1")).value).toBe(2);
  });

  it("A05 leaves no process behind after a timeout, however it hid", async () => {
    const hide =
      "(setsid sh -c 'trap \"\" TERM INT HUP; sleep 999') & nohup sleep 998 >/dev/null 2>&1 & (sleep 997 &) ; sleep 996";
    const { status: ended } = await run(bash, hide, { deadlineMs: 300 });
    expect(ended).toBe("timeout");
    expect(await inBash("cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -o 'sleep 99[0-9]' | sort -u")).toBe("");
  });

  it("A06 A07 bounds floods with exact counts", async () => {
    const { stdout, stderr } = await run(bash, "head -c 30000000 /dev/zero | tr '\\0' 'x'; yes | head -c 2000001 >&2");
    expect(stdout).toMatchObject({ bytes: 30_000_000, truncated: true });
    expect(stderr).toMatchObject({ bytes: 2_000_001, truncated: true });
    expect(stdout.text).toMatch(/^x+\n… \d+ bytes left out …\nx+$/);
    expect(stdout.text.length + stderr.text.length).toBeLessThan(8400);
  });

  it("A08 replaces bytes that are no UTF-8 and keeps characters whole across writes", async () => {
    const { stdout } = await run(
      bash,
      "printf '\\xe2\\x82'; sleep 0.05; printf '\\xac|\\xff|'; head -c 1000 /dev/urandom",
    );
    expect(stdout.text.startsWith("€|\ufffd|")).toBe(true);
    expect(stdout.bytes).toBe(1006);
  });

  it("A10 fills its own disk only, and A13 its own descriptors", async () => {
    expect(
      await inBash(
        "dd if=/dev/zero of=/workspace/big bs=1M count=64 2>&1 | grep -o 'No space left'; rm -f big; echo ok > f; cat f",
      ),
    ).toBe("No space left\nok");
    const { error } = await run(python, "files = []\nwhile True: files.append(open('/dev/null'))");
    expect(error?.name).toBe("OSError");
    expect((await run(python, "files.clear(); 1")).value).toBe(1);
  });

  it("A15 cannot be spoken for: forged frames cost the forger its interpreter", async () => {
    await run(python, "kept = 1");
    const forge = (frame: string) =>
      `import os, struct\npayload = ${JSON.stringify(frame)}.encode()\nos.write(3, struct.pack(">I", len(payload)) + payload)\n`;
    const forged = await run(python, forge('{"t":"end","x":1,"status":"ok"}'));
    expect(forged).toMatchObject({ status: "error", error: { name: "ProtocolViolation" }, stateLost: true });
    const seen: string[] = [];
    await run(python, `${forge('{"t":"call","x":0,"i":0,"tool":"vm:destroy","args":{}}')}1`, {
      onCall: (call) => {
        seen.push(call.tool);
        return echo(call);
      },
    });
    expect(seen).toEqual([]);
    expect((await run(python, "1 + 1")).value).toBe(2);
    expect(
      await inBash(
        "cat /proc/1/environ /proc/1/mem 2>&1 | grep -c 'Permission denied'; ls /proc/1/fd 2>&1 | grep -c denied",
      ),
    ).toBe("2\n1");
  });

  it("A14 survives kill -9 -1, and tells every kernel that lost its state", async () => {
    await run(python, "kept = 1");
    expect(await run(bash, "kill -9 -1; echo still here")).toMatchObject({ stdout: { text: "still here\n" } });
    expect(await run(python, "'kept' in globals()")).toMatchObject({ stateLost: true });
    expect(await run(python, "1 + 1")).toMatchObject({ value: 2, stateLost: false });
    expect(await run(bash, "kill -9 $$")).toMatchObject({ status: "exited", signal: "SIGKILL", stateLost: true });
    expect(await inBash("echo alive")).toBe("alive");
  });

  it("A16 bounds poisoned results", async () => {
    expect(await run(python, "float('nan')")).toMatchObject({ value: null, text: "nan", lossy: ["$: nan"] });
    const cycle = { value: [null], text: "[[...]]", lossy: ["$[0]: a cycle"] };
    expect(await run(python, "c = []; c.append(c); c")).toMatchObject(cycle);
    expect(await run(python, "'x' * 3_000_000")).toMatchObject({ value: null, valueTruncated: true });
    const evil = "class Evil:\n    def __repr__(self): raise RuntimeError('no')\nEvil()";
    expect(await run(python, evil)).toMatchObject({ status: "ok", text: "<Evil: its repr raised RuntimeError>" });
    const slow = "import time\nclass Slow:\n    def __repr__(self): time.sleep(60)\nSlow()";
    expect(await run(python, slow, { deadlineMs: 200 })).toMatchObject({ status: "timeout", stateLost: false });
    const deep = "d = []\nfor _ in range(100_000): d = [d]\nd";
    expect(await run(python, deep)).toMatchObject({ status: "ok", value: null });
  });

  it("does not let a fork of user code speak for it", async () => {
    expect((await run(python, "import os\npid = os.fork()\n'child' if pid == 0 else 'parent'")).value).toBe("parent");
    expect((await run(python, "2")).value).toBe(2);
  });

  it("B01 B02 B03 B05 B07 shows nothing of the host and gives no privilege", async () => {
    expect(await inBash("grep -E 'CapEff|NoNewPrivs' /proc/self/status | tr -s '\\t\\n' ' '; id -u")).toBe(
      "CapEff: 0000000000000000 NoNewPrivs: 1 65534",
    );
    expect(await inBash("unshare -Ur true 2>/dev/null || echo refused")).toBe("refused");
    if (createCallFilter() !== undefined) expect(await inBash("grep ^Seccomp: /proc/self/status | cut -f2")).toBe("2");
    const attempts = `import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def attempt(name, *args):
    libc[name].restype = ctypes.c_long
    return ctypes.get_errno() if libc[name](*args) == -1 else 0
CLONE_NEWUSER, PTRACE_SEIZE = 0x10000000, 0x4206
[attempt("mount", b"none", b"/tmp", b"tmpfs", 0, None), attempt("unshare", CLONE_NEWUSER), attempt("ptrace", PTRACE_SEIZE, 1, None, None),
 attempt("setuid", 0), attempt("sethostname", b"x", 1), attempt("chroot", b"/tmp")]`;
    // EPERM, and EINVAL for a user that has no name here.
    expect((await run(python, attempts)).value).toEqual([1, 1, 1, 22, 1, 1]);
    expect(await inBash("ls / | tr '\\n' ' '")).not.toMatch(/\b(home|root|work|var)\b/);
    expect(await inBash("cat /etc/passwd")).toBe("sandbox:x:65534:65534::/workspace:/bin/bash");
    expect(await inBash("env | cut -d= -f1 | sort | tr '\\n' ' '")).not.toMatch(/TOOLYARD|npm|VITEST|NODE/);
    expect(await inBash("echo $GREETING; touch /x /usr/x /etc/x /dev/x 2>&1 | grep -c 'Read-only'")).toBe("hello\n4");
    expect(await inBash("cat /proc/net/dev | grep -c ':'")).toBe("1");
    const net = "import socket\nsocket.create_connection(('1.1.1.1', 53), 2)";
    expect((await run(python, net)).error?.name).toBe("OSError");
    // 3 is the folder that ls reads; 8 and 9 are the shell's own ends of its channel and its code.
    expect(await inBash("ls /proc/self/fd | tr '\\n' ' '")).toBe("0 1 2 3 8 9");
  });

  it("B06 B11 shares no keys of the kernel with other sandboxes, which no namespace keeps apart", async () => {
    const SYSCALL: Readonly<Record<string, number>> = { x64: 248, arm64: 217 };
    const add = `import ctypes
libc = ctypes.CDLL(None, use_errno=True)
[libc.syscall(${SYSCALL[process.arch] ?? 248}, b"user", b"toolyard-test", b"secret", 6, ctypes.c_long(ring)) for ring in (-1, -2, -3, -4, -5)]`;
    expect((await run(python, add)).value).toEqual([-1, -1, -1, -1, -1]);
    expect(await inBash("grep -c toolyard-test /proc/keys")).toBe("0");
  });

  it("takes large results while user code computes and reads nothing", async () => {
    const code = `import asyncio, time
tasks = [asyncio.ensure_future(tools.call('echo', n=n)) for n in range(4)]
await asyncio.sleep(0)
time.sleep(1.2)
[len(answer['big']) for answer in await asyncio.gather(*tasks)]`;
    const onCall = (call: GuestCall) => echo({ ...call, args: { big: "x".repeat(1_000_000) } });
    expect(await run(python, code, { onCall })).toMatchObject({ status: "ok", value: Array(4).fill(1_000_000) });
  });

  it("shares files between the kernels of a sandbox, and with no other sandbox", async () => {
    await run(python, "open('/workspace/shared', 'w').write('from python')");
    expect(await inBash("cat /workspace/shared")).toBe("from python");
    const other = await runtime.create({}, never);
    const stranger = await other.openKernel("bash", never);
    expect((await run(stranger, "ls -A /workspace /tmp /dev/shm | grep -c shared")).stdout.text).toBe("0\n");
    await other.stop();
  });

  it("is gone with all its processes when it stops", async () => {
    const before = new Set(listChildren());
    const doomed = await runtime.create({}, never);
    const kernel = await doomed.openKernel("bash", never);
    await run(kernel, "setsid sleep 999 & disown");
    const pids = listChildren().filter((pid) => !before.has(pid));
    await doomed.stop();
    expect(pids.filter(isRunning)).toEqual([]);
  });

  it("F06 is dead, and says so, once it was killed from outside", async () => {
    const before = new Set(listChildren());
    const doomed = await runtime.create({}, never);
    const kernel = await doomed.openKernel("python", never);
    const running = run(kernel, "while True: pass");
    for (const pid of listChildren().filter((child) => !before.has(child))) process.kill(pid, "SIGKILL");
    await expect(running).rejects.toMatchObject({ error: "sandbox_dead" });
    await expect(doomed.closed).resolves.toMatchObject({ expected: false });
    await expect(run(kernel, "1")).rejects.toMatchObject({ error: "sandbox_dead" });
  });

  it("E07 cleans up when its creation is cancelled", async () => {
    const before = new Set(listChildren());
    await expect(runtime.create({}, AbortSignal.abort())).rejects.toMatchObject({ error: "cancelled" });
    expect(listChildren().filter((pid) => !before.has(pid) && isRunning(pid))).toEqual([]);
  });
});
