import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { SandboxInstance } from "../../src/core/runtime.ts";
import type { CommandSpec } from "../../src/core/sandbox-process.ts";
import { openCodeSession } from "../backends/code/code-session.ts";
import { DEFAULT_IMAGE } from "../../src/runtimes/docker/image-policy.ts";
import { describeDocker, docker, openDeployment, type TestDeployment } from "../kit/docker-engine.ts";

const never = new AbortController().signal;
const name = `toolyard-test-plain:${randomBytes(4).toString("hex")}`;

/** The default image without its python3, and with a root user as images have it. */
async function buildImage(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "ty-image-"));
  await writeFile(join(folder, "Dockerfile"), `FROM ${DEFAULT_IMAGE}\nUSER root\nRUN rm -f /usr/bin/python3*\n`);
  const stream = await docker.buildImage({ context: folder, src: ["Dockerfile"] }, { t: name });
  await new Promise<void>((resolve, reject) =>
    docker.modem.followProgress(stream, (error: Error | null) => (error === null ? resolve() : reject(error))),
  );
  await rm(folder, { recursive: true, force: true });
}

describeDocker("a docker sandbox of an image without python3", () => {
  let deployment: TestDeployment;
  let sandbox: SandboxInstance;
  beforeAll(async () => {
    deployment = await openDeployment();
    await buildImage();
    const runtime = deployment.runtime({ images: ["toolyard-test-plain"], limits: { outputBytes: 1000 } });
    sandbox = await runtime.create({ image: name, environment: { GREETING: "hello" } }, never);
  });
  afterAll(async () => {
    await deployment[Symbol.asyncDispose]();
    await docker.getImage(name).remove({ force: true });
  });

  const exec = async (script: string, spec: Partial<CommandSpec> = {}, signal = never) => {
    if (sandbox.exec === undefined) throw new Error("it cannot run commands");
    return sandbox.exec({ command: ["sh", "-c", script], ...spec }, { signal });
  };

  it("runs commands, streams apart, with their exit code, input, folder and environment", async () => {
    expect(await exec("echo out; echo err >&2; exit 3")).toMatchObject({
      ...{ exitCode: 3, signal: null, timedOut: false },
      stdout: { text: "out\n", bytes: 4, truncated: false },
      stderr: { text: "err\n" },
    });
    const spec = { cwd: "/tmp", environment: { NAME: "w" }, input: Buffer.from("given") };
    expect((await exec('echo "$GREETING $NAME $PWD $(cat) $(id -u) $HOME"', spec)).stdout.text).toBe(
      "hello w /tmp given 1000 /workspace\n",
    );
    expect(await exec("", { command: ["/no/such"] })).toMatchObject({
      ...{ exitCode: 127, stdout: { text: "" }, stderr: { text: "/no/such: not found\n" } },
    });
  });

  it("A06 keeps the head and the tail of an output, and counts all of it", async () => {
    const { stdout } = await exec("head -c 3000000 /dev/zero | tr '\\0' x");
    expect(stdout).toMatchObject({ bytes: 3_000_000, truncated: true });
    expect(stdout.text).toMatch(/^x{500}\n… 2999000 bytes left out …\nx{500}$/);
  });

  it("A05 kills all that a command started at its timeout, also what hid from it", async () => {
    const hidden = "setsid sh -c 'trap : TERM; env -i sleep 999' & (sleep 998 &) ; sleep 997";
    const started = performance.now();
    expect(await exec(hidden, { timeoutMs: 500 })).toMatchObject({ timedOut: true, signal: "SIGKILL", exitCode: null });
    expect(performance.now() - started).toBeLessThan(8_000);
    expect((await exec("cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c 'sleep 99[0-9]'")).stdout.text).toBe("0\n");
  });

  it("A05 kills only its own while another command runs", async () => {
    const other = exec("sleep 1.5; echo done");
    expect(await exec("sleep 996 & sleep 995", { timeoutMs: 300 })).toMatchObject({ timedOut: true });
    expect(await other).toMatchObject({ stdout: { text: "done\n" }, exitCode: 0 });
    expect((await exec("cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c 'sleep 99[0-9]'")).stdout.text).toBe("0\n");
  });

  it.each(["while it starts", "while it runs"])("ends a command whose caller gives up %s", async (moment) => {
    const abort = new AbortController();
    const running = exec("echo on > /tmp/on; sleep 994", {}, abort.signal);
    const begun = async () => (await exec("cat /tmp/on")).stdout.text;
    if (moment === "while it runs") await expect.poll(begun).toBe("on\n");
    abort.abort();
    await expect(running).rejects.toMatchObject({ error: "cancelled" });
    const count = "cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c 'sleep 99[0-9]'";
    expect((await exec(`rm -f /tmp/on; ${count}`)).stdout.text).toBe("0\n");
  });

  it("runs the commands of a code session, each in a shell of its own", async () => {
    const runtime = deployment.runtime({ images: ["toolyard-test-plain"] });
    const { call } = await openCodeSession([runtime], {}, { image: name });
    expect(await call("bash:run", { command: "echo out; echo err >&2; x=1; echo kept > f; exit 3" })).toMatchObject({
      ...{ exit_code: 3, stdout: "out\n", stderr: "err\n" },
    });
    expect(await call("bash:run", { command: 'echo "[$x] $(cat /workspace/f) $PWD"', cwd: "/tmp" })).toMatchObject({
      stdout: "[] kept /tmp\n",
    });
    expect(await call("execute_command", { command: "echo plain" })).toMatchObject({
      status: "success",
      stdout: "plain\n",
    });
    await expect(call("bash:run", { command: "sleep 993", timeout_ms: 300 })).rejects.toMatchObject({
      error: "timeout",
    });
    await expect(call("code:run", { language: "python", code: "1" })).rejects.toMatchObject({
      error: "runtime_unavailable",
      message: expect.stringContaining("has no python3"),
    });
  });

  it("says what the image lacks to who wants a kernel or files", async () => {
    await expect(sandbox.openKernel("python", never)).rejects.toMatchObject({
      error: "runtime_unavailable",
      message: expect.stringContaining("has no python3"),
      suggestion: expect.stringContaining("toolyard/code"),
    });
    const lacking = { error: "runtime_unavailable", message: expect.stringContaining("has no python3") };
    await expect(sandbox.files?.stat("/", never)).rejects.toMatchObject(lacking);
    const watching = sandbox.files?.watch("/", { recursive: false }, never)[Symbol.asyncIterator]();
    await expect(watching?.next()).rejects.toMatchObject(lacking);
  });

  it("F06 is dead when its container is killed", async () => {
    const [container] = await deployment.containers();
    const running = exec("sleep 60").catch((error: unknown) => error);
    await docker.getContainer(container?.Id ?? "").kill();
    expect(await sandbox.closed).toMatchObject({ expected: false, exitCode: 137 });
    expect(await running).toMatchObject({ error: "sandbox_dead" });
    await expect(exec("echo")).rejects.toMatchObject({ error: "sandbox_dead" });
  });
});
