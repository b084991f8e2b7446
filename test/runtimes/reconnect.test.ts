import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FrameDecoder } from "../../src/runtimes/kernel/frame.ts";
import { DEFAULT_LIMITS } from "../../src/runtimes/kernel/limits.ts";
import { readSupervisorSources } from "../../src/runtimes/kernel/sources.ts";
import { SupervisedInstance } from "../../src/runtimes/kernel/supervised-instance.ts";
import { SANDBOX_UID } from "../../src/runtimes/local/bubblewrap.ts";
import { probe } from "../../src/runtimes/local/probe.ts";
import { exec, readLog, spawn as spawnInside } from "../kit/runtime-conformance-commands.ts";
import { run } from "../kit/runtime-conformance.ts";

const never = new AbortController().signal;
const { bwrap = "", python, status } = await probe(never);
const TOKEN = "0123456789abcdef".repeat(4);

describe.runIf(status.available)("a supervisor that seeks its host", () => {
  let folder: string;
  let child: ChildProcess;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "toolyard-reconnect-"));
    chmodSync(folder, 0o755);
    for (const { name, content } of readSupervisorSources()) writeFileSync(join(folder, name), content);
    writeFileSync(join(folder, "token"), TOKEN);
  });
  afterEach(async () => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill("SIGKILL");
      await once(child, "exit");
    }
    rmSync(folder, { recursive: true });
  });

  function start(patienceSeconds: number): void {
    const inside = (name: string) => join("/run/toolyard", name);
    const args = [
      ...["--unshare-all", "--unshare-user", "--die-with-parent", "--as-pid-1", "--cap-drop", "ALL"],
      ...["--uid", String(SANDBOX_UID), "--gid", String(SANDBOX_UID), "--ro-bind", "/usr", "/usr"],
      ...["/bin", "/lib", "/lib64"].flatMap((path) => ["--ro-bind-try", path, path]),
      ...(python?.binds ?? []).flatMap((path) => ["--ro-bind", path, path]),
      ...[
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        "--tmpfs",
        "/tmp",
        "--tmpfs",
        "/workspace",
        "--ro-bind",
        folder,
        "/run/toolyard",
      ],
      ...["--clearenv", "--setenv", "HOME", "/workspace", "--setenv", "PATH", "/usr/bin:/bin", "--chdir", "/workspace"],
      ...["--", python?.path ?? "", "-B", inside("supervisor.py")],
      ...["--connect", inside("socket"), "--token", inside("token"), "--patience", String(patienceSeconds)],
    ];
    child = spawn(bwrap, args, {
      ...(process.getuid?.() === 0 ? { uid: SANDBOX_UID, gid: SANDBOX_UID } : {}),
      cwd: "/",
      env: {},
      stdio: ["ignore", "ignore", "inherit"],
    });
  }

  /** Waits as a host does, and takes the connection once it has told the token. */
  async function host(): Promise<{ readonly instance: SupervisedInstance; readonly die: () => void }> {
    const path = join(folder, "socket");
    rmSync(path, { force: true });
    const server = createServer();
    server.listen(path);
    await once(server, "listening");
    chmodSync(path, 0o666);
    const [socket] = (await once(server, "connection")) as [Socket];
    const [first] = (await once(socket, "data")) as [Buffer];
    expect(new FrameDecoder().push(first)).toEqual([{ t: "auth", token: TOKEN }]);
    const ended = Promise.withResolvers<{ exitCode: null; signal: null }>();
    const instance = new SupervisedInstance({
      id: "s",
      runtime: "test",
      isolation: "namespace",
      channel: socket,
      limits: DEFAULT_LIMITS,
      languages: status.languages,
      kill: () => ended.resolve({ exitCode: null, signal: null }),
      ended: ended.promise,
    });
    await instance.ready(never);
    server.close();
    return { instance, die: () => socket.destroy() };
  }

  it("F01 keeps kernels, processes and logs for the next host, and ends what the lost one waited for", async () => {
    start(30);
    const first = await host();
    const kernel = await first.instance.openKernel("python", never, { name: "mine" });
    await run(kernel, "kept = 41");
    const process = await spawnInside(first.instance, "echo before; read x; echo after $x; exit 3", {
      keepInput: true,
    });
    await readLog(process, "before");
    const bash = await first.instance.openKernel("bash", never);
    const lost = [run(bash, "sleep 7790"), exec(first.instance, "sleep 7791")].map((pending) =>
      pending.catch(() => null),
    );
    await exec(first.instance, "true");
    first.die();
    await Promise.all(lost);

    const second = await host();
    const again = await second.instance.openKernel("python", never, { name: "mine" });
    expect(await run(again, "kept + 1")).toMatchObject({ value: 42, stateLost: false });
    await expect(second.instance.openKernel("bash", never, { name: "mine" })).rejects.toMatchObject({
      error: "invalid_input",
    });
    const [found] = await second.instance.processes(never);
    expect(found).toMatchObject({ id: process.id, pid: process.pid, exit: null });
    await found?.write(Buffer.from("it\n"));
    expect(await found?.exited).toMatchObject({ exitCode: 3 });
    const log = await found?.read({ cursor: 0, signal: never });
    expect(Buffer.concat(log?.chunks.map(({ data }) => data) ?? []).toString()).toBe("before\nafter it\n");
    expect((await exec(second.instance, "cat /proc/[0-9]*/cmdline | grep -c 'sleep.779[01]'")).stdout.text).toBe("0\n");
    second.die();
  });

  it("ends when it finds no host in time", async () => {
    start(0.5);
    const first = await host();
    first.die();
    const [code] = (await once(child, "exit")) as [number];
    expect(code).toBe(0);
  });

  it("B05 shows the token to nobody", async () => {
    start(30);
    const { instance, die } = await host();
    rmSync(join(folder, "token"));
    const hidden = [...TOKEN].toReversed().join("");
    const search = `needle = "${hidden}"[::-1].encode()
import os, re
found = []
for pid in filter(str.isdigit, os.listdir("/proc")):
    for name in ("environ", "cmdline"):
        try: found += [(pid, name)] if needle in open(f"/proc/{pid}/{name}", "rb").read() else []
        except OSError: pass
    try:
        memory = open(f"/proc/{pid}/mem", "rb", 0)
        ranges = [re.match(r"(\\w+)-(\\w+) r", line) for line in open(f"/proc/{pid}/maps")]
    except OSError: continue
    for each in filter(None, ranges):
        start, end = (int(part, 16) for part in each.groups())
        try:
            memory.seek(start)
            data = memory.read(min(end - start, 1 << 26))
        except (OSError, ValueError, OverflowError): continue
        # Our own copy of it is what we search with.
        if data.count(needle) > 0 and int(pid) != os.getpid(): found.append((pid, start))
found`;
    const kernel = await instance.openKernel("python", never);
    const forked = `import os\nneedle_count = open("/proc/self/maps").read().count("token")\n`;
    expect(await run(kernel, forked + search)).toMatchObject({ status: "ok", value: [] });
    die();
  });
});
