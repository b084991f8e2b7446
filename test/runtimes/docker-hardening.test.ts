import { afterAll, beforeAll, expect, it } from "vitest";
import type { Kernel, SandboxInstance } from "../../src/core/runtime.ts";
import { toContainerOptions } from "../../src/runtimes/docker/container-options.ts";
import { DEFAULT_LIMITS } from "../../src/runtimes/kernel/limits.ts";
import { describeDocker, docker, openDeployment, type TestDeployment } from "../kit/docker-engine.ts";
import { run } from "../kit/runtime-conformance.ts";

const never = new AbortController().signal;

it("asks the engine for what every container must have, and for nothing of the host but its own folder", () => {
  const options = toContainerOptions({
    name: "toolyard-x",
    imageId: "sha256:0",
    command: ["/usr/bin/python3"],
    user: "1000:1000",
    environment: {},
    labels: {},
    limits: { ...DEFAULT_LIMITS, memoryMiB: 100, pids: 10, cpus: 0.5, diskMiB: 8 },
    socketFolder: "/state/s/1/m",
    ociRuntime: "runsc",
  });
  expect(options).toMatchObject({ User: "1000:1000", NetworkDisabled: true });
  expect(options.HostConfig).toMatchObject({
    NetworkMode: "none",
    ReadonlyRootfs: true,
    CapDrop: ["ALL"],
    Privileged: false,
    SecurityOpt: ["no-new-privileges:true"],
    PidsLimit: 14,
    Memory: 148 * 1024 * 1024,
    MemorySwap: 148 * 1024 * 1024,
    NanoCpus: 5e8,
    IpcMode: "private",
    ShmSize: 8 * 1024 * 1024,
    LogConfig: { Type: "none" },
    Binds: ["/state/s/1/m:/run/toolyard:ro"],
    Runtime: "runsc",
  });
  expect(options.HostConfig?.Ulimits?.map(({ Name: name }) => name)).toEqual(
    expect.arrayContaining(["nofile", "fsize", "core"]),
  );
});

describeDocker("a docker sandbox", () => {
  let deployment: TestDeployment;
  let sandbox: SandboxInstance;
  let python: Kernel;
  let bash: Kernel;
  beforeAll(async () => {
    deployment = await openDeployment();
    process.env["SERVER_SECRET_FOR_B05"] = "5e42e7";
    const runtime = deployment.runtime({ limits: { memoryMiB: 192, pids: 48, diskMiB: 16, outputBytes: 4096 } });
    sandbox = await runtime.create({ environment: { GREETING: "hello" } }, never);
    [python, bash] = await Promise.all([sandbox.openKernel("python", never), sandbox.openKernel("bash", never)]);
  });
  afterAll(async () => {
    delete process.env["SERVER_SECRET_FOR_B05"];
    await deployment[Symbol.asyncDispose]();
  });
  const inBash = async (code: string) => (await run(bash, code)).stdout.text.trim();

  it("B01 has no capability, may gain none, is filtered by seccomp, and may not mount, unshare or trace", async () => {
    expect(
      await inBash(
        "grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status | tr -s '\\t\\n' ' '; echo; id -u",
      ),
    ).toBe("CapEff: 0000000000000000 CapBnd: 0000000000000000 NoNewPrivs: 1 Seccomp: 2 \n1000");
    const attempts = `import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def attempt(name, *args):
    libc[name].restype = ctypes.c_long
    return ctypes.get_errno() if libc[name](*args) == -1 else 0
CLONE_NEWUSER, PTRACE_ATTACH, PTRACE_SEIZE = 0x10000000, 16, 0x4206
[attempt("mount", b"none", b"/tmp", b"tmpfs", 0, None), attempt("unshare", CLONE_NEWUSER), attempt("ptrace", PTRACE_SEIZE, 1, None, None),
 attempt("setuid", 0), attempt("sethostname", b"x", 1), attempt("chroot", b"/tmp")]`;
    // EPERM, each of them.
    expect((await run(python, attempts)).value).toEqual([1, 1, 1, 1, 1, 1]);
  });

  it("B02 B04 shows nothing of the host that could be used", async () => {
    const refused = (path: string) =>
      `(cat ${path} >/dev/null 2>&1 || [ ! -s ${path} ]) && echo refused || echo READ ${path}`;
    expect(
      await inBash(["/var/run/docker.sock", "/proc/kcore", "/proc/keys", "/proc/timer_list"].map(refused).join("\n")),
    ).toBe("refused\nrefused\nrefused\nrefused");
    const written = [
      "/proc/sys/kernel/core_pattern",
      "/proc/sysrq-trigger",
      "/sys/kernel/uevent_helper",
      "/x",
      "/usr/x",
      "/etc/x",
      "/dev/x",
      "/run/toolyard/x",
    ];
    for (const path of written)
      expect(await inBash(`(echo x > ${path}) 2>/dev/null && echo WROTE || echo refused`)).toBe("refused");
    expect(await inBash("find /sys/fs/cgroup -name release_agent -writable 2>/dev/null | wc -l")).toBe("0");
    // Nothing is mounted from the host but what the engine makes, and the session's own folder, read-only.
    expect(
      await inBash(
        'awk \'$3 == "ext4" || $3 == "xfs" || $3 == "btrfs" {print $2, substr($4, 1, 3)}\' /proc/mounts | sort | grep -vE \'^/etc/(hosts|hostname|resolv.conf) \'',
      ),
    ).toMatch(/^(\/run\/toolyard ro,)?$/);
  });

  it("B03 has no descriptor beyond its own", async () => {
    // 3 is the folder that ls reads; 8 and 9 are the shell's own ends of its channel and its code.
    expect(await inBash("ls /proc/self/fd | tr '\\n' ' '")).toBe("0 1 2 3 8 9");
    expect(await inBash("ls /proc/1/fd 2>&1 | grep -c denied")).toBe("1");
  });

  it("B05 sees no secret: not the server's, not the one that its supervisor proved itself with", async () => {
    expect(
      await inBash(
        "cat /proc/1/environ /proc/1/mem 2>&1 | grep -c 'Permission denied'; ls /run/toolyard/token 2>&1 | grep -c 'No such'; env | grep -c -e 5e42e7 -e TOOLYARD",
      ),
    ).toBe("2\n1\n0");
    expect(await inBash("echo $GREETING")).toBe("hello");
  });

  it("B06 sees nothing of another sandbox", async () => {
    const other = await deployment.runtime().create({}, never);
    const stranger = await other.openKernel("bash", never);
    await run(stranger, "echo secret > /workspace/f; echo secret > /dev/shm/f; echo secret > /tmp/f; sleep 987 &");
    expect(
      await inBash(
        "cat /workspace/f /dev/shm/f /tmp/f 2>/dev/null | wc -c; grep -al '[s]leep.987' /proc/[0-9]*/cmdline 2>/dev/null | wc -l",
      ),
    ).toBe("0\n0");
    expect(await inBash("cut -d' ' -f8 /proc/net/unix | grep -c '^@'")).toBe("0");
    await other.stop();
  });

  it("B07 has a loopback and nothing else, and no name leaves it", async () => {
    expect(await inBash("grep -c : /proc/net/dev; cat /proc/net/arp | tail -n +2 | wc -l")).toBe("1\n0");
    const attempts = `import socket
def attempt(kind, address, send=None, protocol=0):
    try:
        with socket.socket(socket.AF_INET, kind, protocol) as s:
            s.settimeout(2)
            s.sendto(send, address) if send else s.connect(address)
        return "sent"
    except OSError as error:
        return type(error).__name__
def resolve(name):
    try: return str(socket.getaddrinfo(name, 80))
    except OSError: return "refused"
[attempt(socket.SOCK_STREAM, ("1.1.1.1", 53)), attempt(socket.SOCK_DGRAM, ("1.1.1.1", 53), b"x"), resolve("data.evil.example"),
 attempt(socket.SOCK_RAW, ("1.1.1.1", 0), b"x", socket.IPPROTO_ICMP)]`;
    expect((await run(python, attempts)).value).toEqual(["OSError", "OSError", "refused", "PermissionError"]);
  });

  it("A10 A12 fills its own folders only, and is told so", async () => {
    const fill = (folder: string) =>
      `dd if=/dev/zero of=${folder}/big bs=1M count=64 2>&1 | grep -o 'No space left'; rm -f ${folder}/big`;
    for (const folder of ["/workspace", "/tmp", "/dev/shm"]) expect(await inBash(fill(folder))).toBe("No space left");
    expect(await inBash("echo ok > /workspace/f; cat /workspace/f")).toBe("ok");
  });

  it("A11 runs out of files before the host does", async () => {
    const many =
      "i=0; while : > /tmp/many$i; do i=$((i+1)); done 2>/tmp/none; echo $((i < 20000)); rm -f /tmp/many*; : > /tmp/one && echo ok";
    expect(await inBash(many)).toBe("1\nok");
  });

  it("A02 tells a memory bomb as a limit, in one process and in many", async () => {
    expect(await run(python, "x = bytearray(400 * 1024 * 1024)")).toMatchObject({ status: "limit", limit: "memory" });
    const tree = `for i in 1 2; do python3 -c 'x = b"x" * (150 << 20); import time; time.sleep(60)' & done; wait -n`;
    expect(await run(bash, tree)).toMatchObject({ status: "limit", limit: "memory" });
    expect(await inBash("echo alive")).toBe("alive");
  });

  it("A01 survives a fork bomb within its processes", async () => {
    await run(bash, ":(){ :|:& };:", { deadlineMs: 2_000 });
    expect(await run(bash, "echo alive")).toMatchObject({ status: "ok" });
    const [container] = await deployment.containers();
    const { HostConfig: host } = await docker.getContainer(container?.Id ?? "").inspect();
    expect(host.PidsLimit).toBe(52);
  });
});
