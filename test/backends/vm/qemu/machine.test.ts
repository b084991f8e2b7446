import { fork } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, readdir, readFile, readlink, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Action, type ActionInput } from "../../../../src/backends/vm/actions/action.ts";
import VmBackend from "../../../../src/backends/vm/backend.ts";
import { Desktop } from "../../../../src/backends/vm/desktop/desktop.ts";
import type { DesktopSnapshots } from "../../../../src/backends/vm/desktop/provider.ts";
import { QemuDesktopProvider } from "../../../../src/backends/vm/qemu/qemu-provider.ts";
import { isBlank } from "../../../../src/backends/vm/screen/picture.ts";
import { systemClock } from "../../../../src/core/clock.ts";
import type { SandboxFiles } from "../../../../src/core/sandbox-files.ts";
import { lackingVmGuest, SMALL_MACHINE, vmGuestConfig } from "../../../kit/vm-guest.ts";

const signal = () => AbortSignal.timeout(120_000);
const lacking = (await lackingVmGuest()) ?? (await new QemuDesktopProvider(vmGuestConfig()).check(signal()));
if (lacking !== undefined) console.warn(`skipped: virtual machines; ${lacking}`);
let machines = "";
beforeAll(async () => {
  machines = await mkdtemp(path.join(tmpdir(), "toolyard-qemu-test-"));
  await chmod(machines, 0o711);
});
afterAll(() => rm(machines, { recursive: true }));

/** The processes of machines that have their folders under `machines`. */
async function machineProcesses(): Promise<string[]> {
  const numbers = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    numbers.map(async (pid) => ({ pid, cwd: await readlink(`/proc/${pid}/cwd`).catch(() => "") })),
  );
  return found.filter(({ cwd }) => cwd.startsWith(machines)).map(({ pid }) => pid);
}

describe.skipIf(lacking !== undefined)("a virtual machine", () => {
  let desktop: Desktop;
  let files: SandboxFiles;
  let snapshots: DesktopSnapshots;
  const perform = (action: ActionInput) => desktop.operator.perform(Action.parse(action), signal());
  const exec = (command: readonly string[], more = {}) => desktop.running.exec({ command, ...more }, signal());
  const run = async (script: string, more = {}) => {
    const { exitCode, stdout, stderr } = await exec(["sh", "-c", script], more);
    return { exitCode, stdout: stdout.text, stderr: stderr.text };
  };
  const typeAt = async (text: string) => perform({ action: "type", text });

  beforeAll(async () => {
    const provider = new QemuDesktopProvider(vmGuestConfig({ folder: machines, snapshot: "ready" }));
    const { accelerator, withoutKvm } = await provider.acceleration(signal());
    console.info(`virtual machines run with ${accelerator} here${withoutKvm === undefined ? "" : `: ${withoutKvm}`}`);
    const spec = { ...SMALL_MACHINE, width: 800, height: 600 };
    desktop = await Desktop.open(provider, spec, { clock: systemClock }, signal());
    if (desktop.running.files === undefined || desktop.running.snapshots === undefined) throw new Error("no agent");
    ({ files, snapshots } = desktop.running);
  }, 150_000);

  afterAll(() => desktop?.close());

  it("shows its screen, of the size that was asked for", async () => {
    const picture = await desktop.operator.driver.capture(signal());
    expect({ width: picture.width, height: picture.height }).toEqual({ width: 800, height: 600 });
    expect(isBlank(picture)).toBe(false);
  });

  it("takes keys, with a shift where a character needs one, and shows what they did", async () => {
    const before = await desktop.operator.driver.capture(signal());
    const line = 'Hello ~!@#$%^&*()_+{}|:"<>? `-=[]\\;,./ aZ';
    await typeAt(`cat >typed\n${line}\n`);
    await perform({ action: "key", keys: "ctrl+d" });
    await expect.poll(() => run("cat typed").then(({ stdout }) => stdout), { timeout: 30_000 }).toBe(`${line}\n`);
    const after = await desktop.operator.driver.capture(signal());
    expect(after.pixels.equals(before.pixels)).toBe(false);
    await expect(typeAt("æ")).rejects.toMatchObject({ error: "limit_exceeded", details: { spare_keys: 0 } });
  });

  it("runs commands, with their input, folder and environment", async () => {
    expect(await run("echo out; echo err >&2; exit 3")).toEqual({ exitCode: 3, stdout: "out\n", stderr: "err\n" });
    expect(
      await run("pwd; echo $A; cat", { cwd: "/tmp", environment: { A: "b c" }, input: Buffer.from("in") }),
    ).toEqual({
      exitCode: 0,
      stdout: "/tmp\nb c\nin",
      stderr: "",
    });
    expect(await exec(["no-such-program"])).toMatchObject({ exitCode: 127 });
    expect(await exec(["sh", "-c", "kill -15 $$"])).toMatchObject({ exitCode: null, signal: "SIGTERM" });
    expect(await exec(["seq", "1", "500"], { outputBytes: 4 })).toMatchObject({
      stdout: { text: "1\n2\n", bytes: 1892, truncated: true },
    });
  });

  it("kills a command with what it started when its time is over or its caller goes", async () => {
    const slow = "sleep 1234 & sleep 1234";
    expect(await exec(["sh", "-c", slow], { timeoutMs: 300 })).toMatchObject({ timedOut: true, exitCode: null });
    const caller = new AbortController();
    const left = desktop.running.exec({ command: ["sh", "-c", `echo >began; ${slow}`] }, caller.signal);
    await expect.poll(() => run("cat began").then(({ exitCode }) => exitCode)).toBe(0);
    caller.abort(new Error("gone"));
    await expect(left).rejects.toThrow("gone");
    expect(await run("ps | grep -c 'sleep [1]234'")).toMatchObject({ stdout: "0\n" });
  });

  it("takes files in and gives them out, of any bytes and name", async () => {
    const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, index) => (index * 7) & 0xff));
    const name = "a folder/b 'c\" \n é";
    expect(await files.write(name, bytes, { mode: 0o600 }, signal())).toEqual({
      sizeBytes: bytes.length,
      created: true,
    });
    expect(await files.write("small", Buffer.from("one"), {}, signal())).toEqual({ sizeBytes: 3, created: true });
    expect(await files.write("small", Buffer.from("two"), { append: true }, signal())).toMatchObject({
      created: false,
    });
    await expect(files.write("small", Buffer.from("x"), { exclusive: true }, signal())).rejects.toMatchObject({
      error: "path_exists",
    });
    expect(Buffer.from(await files.read("small", { offset: 2, length: 3 }, signal())).toString()).toBe("etw");
    const back = await files.read(name, { offset: 0, length: bytes.length }, signal());
    expect(bytes.equals(back)).toBe(true);
    const about = { path: `/workspace/${name}`, kind: "file", sizeBytes: bytes.length, mode: 0o600 };
    expect(await files.stat(name, signal())).toMatchObject(about);
    const { entries } = await files.list("a folder", { depth: 1, limit: 10 }, signal());
    expect(entries).toEqual([expect.objectContaining(about)]);
  });

  it("says of files what is the matter, and does not wait for a pipe", async () => {
    await run("mkfifo pipe; ln -s small link");
    expect(await files.stat("nothing", signal())).toBeNull();
    expect(await files.stat("link", signal())).toMatchObject({ kind: "symlink", target: "small" });
    await expect(files.read("nothing", { offset: 0, length: 1 }, signal())).rejects.toMatchObject({
      error: "path_not_found",
    });
    await expect(files.read("pipe", { offset: 0, length: 1 }, signal())).rejects.toMatchObject({
      error: "path_refused",
    });
    await expect(files.write("/proc/x", Buffer.from("1"), {}, signal())).rejects.toMatchObject({
      error: "path_forbidden",
    });
    await files.makeDirectory("deep/er", signal());
    await files.move("small", "deep/er/moved", { overwrite: false }, signal());
    await files.copy("deep", "copied", { overwrite: false }, signal());
    await expect(files.copy("deep", "copied", { overwrite: false }, signal())).rejects.toMatchObject({
      error: "path_exists",
    });
    expect((await files.list("copied", { depth: 2, limit: 1 }, signal())).truncated).toBe(true);
    await expect(files.remove("copied", { recursive: false }, signal())).rejects.toMatchObject({
      error: "path_refused",
    });
    expect(await files.remove("copied", { recursive: true }, signal())).toBe(true);
    expect(await files.remove("copied", { recursive: true }, signal())).toBe(false);
    await expect(files.grep({ path: ".", pattern: "x", limit: 1 }, signal())).rejects.toMatchObject({
      error: "runtime_unavailable",
    });
  });

  it("goes back to a moment that was kept, its disk and its memory", async () => {
    await run("echo kept >/workspace/on-disk; echo kept >/tmp/in-memory");
    await snapshots.save("moment", signal());
    await run("echo lost >/workspace/on-disk; echo lost >/tmp/in-memory; sync");
    await snapshots.restore("moment", signal());
    expect(await run("cat /workspace/on-disk /tmp/in-memory")).toMatchObject({ stdout: "kept\nkept\n" });
    await snapshots.save("moment", signal());
    await run("rm /workspace/on-disk");
    await snapshots.restore("moment", signal());
    await typeAt("echo again >>on-disk\n");
    await expect.poll(() => run("cat on-disk").then(({ stdout }) => stdout), { timeout: 30_000 }).toBe("kept\nagain\n");
    expect(snapshots.names).toEqual(["ready", "moment"]);
    await expect(snapshots.restore("another", signal())).rejects.toMatchObject({ error: "unknown_name" });
  });

  it("is reset to the moment when it was ready", async () => {
    await run("echo lost >/workspace/on-disk");
    await desktop.wipe(signal());
    expect(await run("ls /workspace")).toMatchObject({ stdout: "" });
    expect(isBlank(await desktop.operator.driver.capture(signal()))).toBe(false);
  });

  it("is powered off and booted again on the same disk, with a screen of another size", async () => {
    await run("echo kept >/workspace/on-disk");
    await desktop.halt();
    expect(await machineProcesses()).toEqual([]);
    await expect(run("true")).rejects.toMatchObject({ error: "sandbox_dead" });
    await desktop.start(signal(), { width: 1024, height: 768, dpi: 96 });
    expect(await run("cat on-disk")).toMatchObject({ stdout: "kept\n" });
    expect(await desktop.operator.driver.capture(signal())).toMatchObject({ width: 1024, height: 768 });
  }, 150_000);

  it("has no network, and a process without privileges", async () => {
    expect(await run("ls /sys/class/net")).toMatchObject({ stdout: "lo\n" });
    const [pid = ""] = await machineProcesses();
    const status = await readFile(`/proc/${pid}/status`, "utf8");
    const user = process.getuid?.() === 0 ? 65_534 : process.getuid?.();
    expect(status).toMatch(new RegExp(`^Uid:\\t${user}\\t${user}\\t${user}\\t${user}$`, "m"));
    expect(status).toMatch(/^NoNewPrivs:\t1$/m);
    expect(status).toMatch(/^Seccomp:\t2$/m);
    if (process.getuid?.() === 0) expect(status).toMatch(/^CapBnd:\t0+$/m);
  });

  it("is over when its guest powers off, and leaves nothing behind", async () => {
    const { mtimeMs } = await stat(vmGuestConfig().image);
    void exec(["poweroff", "-f"]).catch(() => {});
    expect(await desktop.running.ended).toMatch(/is over/);
    await expect(run("true")).rejects.toMatchObject({ error: "sandbox_dead" });
    await desktop.close();
    expect(await readdir(machines)).toEqual([]);
    expect(await machineProcesses()).toEqual([]);
    expect((await stat(vmGuestConfig().image)).mtimeMs).toBe(mtimeMs);
  });
});

describe.skipIf(lacking !== undefined)("the provider of virtual machines", () => {
  // Without a kernel the disk of the small guest has nothing to boot.
  const endless = () => vmGuestConfig({ folder: machines, accelerator: "tcg", kernel: undefined, initrd: undefined });

  it("says what is missing before anything is started", async () => {
    const provider = new QemuDesktopProvider(vmGuestConfig({ image: "/nowhere/disk.qcow2" }));
    expect(await provider.check(signal())).toContain("/nowhere/disk.qcow2 is no file that the user");
    await expect(provider.start(SMALL_MACHINE, signal())).rejects.toMatchObject({ error: "runtime_unavailable" });
    const config = { provider: "qemu", qemu: { image: "/nowhere/disk.qcow2" } };
    const health = await new VmBackend({ config }).health({ signal: signal() } as never);
    expect(health).toMatchObject({ up: false, reason: expect.stringContaining("/nowhere/disk.qcow2") });
    expect(new VmBackend({ config }).configSchema.safeParse({ provider: "qemu" }).success).toBe(false);
  });

  it("gives up a guest whose agent does not answer in time, and leaves nothing behind", async () => {
    const provider = new QemuDesktopProvider({ ...endless(), boot_timeout_ms: 1_000 });
    await expect(provider.start(SMALL_MACHINE, signal())).rejects.toMatchObject({
      error: "dependency_failed",
      message: expect.stringContaining("within 1000 ms"),
    });
    expect(await readdir(machines)).toEqual([]);
  });

  it("tells qemu's own complaint when a machine does not start", async () => {
    const provider = new QemuDesktopProvider({ ...endless(), arguments: ["-device", "no-such-device"] });
    await expect(provider.start(SMALL_MACHINE, signal())).rejects.toThrow(/does not start: .*no-such-device/);
    expect(await readdir(machines)).toEqual([]);
  });

  it("ends its machines with a server that is killed, whose folders the next one removes", async () => {
    const crash = JSON.stringify({ ...endless(), guest_agent: false });
    const server = fork(new URL("../../../kit/qemu-crash-process.ts", import.meta.url), {
      execArgv: ["--import", "tsx"],
      env: { ...process.env, CRASH: crash },
    });
    await once(server, "message");
    expect(await machineProcesses()).toHaveLength(1);
    server.kill("SIGKILL");
    await once(server, "exit");
    await expect.poll(machineProcesses).toEqual([]);
    const left = await readdir(machines);
    expect(left).toHaveLength(1);
    const provider = new QemuDesktopProvider({ ...endless(), guest_agent: false });
    const running = await provider.start(SMALL_MACHINE, signal());
    expect(await readdir(machines)).not.toContain(left[0]);
    await expect(running.exec({ command: ["true"] }, signal())).rejects.toMatchObject({ error: "runtime_unavailable" });
    await running.stop();
    expect(await readdir(machines)).toEqual([]);
  });
});
