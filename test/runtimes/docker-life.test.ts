import { afterAll, beforeAll, expect, it } from "vitest";
import type { Kernel, SandboxInstance } from "../../src/core/runtime.ts";
import type { DockerRuntime } from "../../src/runtimes/docker/runtime.ts";
import { describeDocker, docker, engineSocket, openDeployment, type TestDeployment } from "../kit/docker-engine.ts";
import { startFaultyEngine } from "../kit/faulty-engine.ts";
import { run } from "../kit/runtime-conformance.ts";

const never = new AbortController().signal;
// The promise is two seconds; the machine that runs the tests may be busy.
const SOON_MS = 15_000;

const containerOf = (sandbox: SandboxInstance) => {
  const { handle } = sandbox;
  const id = typeof handle === "object" && handle !== null && "container" in handle ? String(handle.container) : "";
  return docker.getContainer(id);
};

describeDocker("the life of a docker sandbox", () => {
  let deployment: TestDeployment;
  let runtime: DockerRuntime;
  beforeAll(async () => {
    deployment = await openDeployment();
    runtime = deployment.runtime({ version: "1.2.3" });
  });
  afterAll(() => deployment[Symbol.asyncDispose]());

  const open = async (): Promise<{ sandbox: SandboxInstance; bash: Kernel }> => {
    const sandbox = await runtime.create({}, never);
    return { sandbox, bash: await sandbox.openKernel("bash", never) };
  };

  it("is labelled with whose it is", async () => {
    const sandbox = await runtime.create({ sessionId: "s-1", workerId: "w-1" }, never);
    const { Config: config } = await containerOf(sandbox).inspect();
    expect(config.Labels).toMatchObject({
      "toolyard.deployment": deployment.id,
      "toolyard.instance": expect.stringMatching(/^[0-9a-f]{12}$/),
      "toolyard.session": "s-1",
      "toolyard.worker": "w-1",
      "toolyard.version": "1.2.3",
      "toolyard.created": expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    });
    await sandbox.stop();
    expect(await deployment.containers()).toEqual([]);
  });

  it.each(["idle", "running"])(
    "F06 is dead within two seconds when its container is killed from outside, %s",
    async (state) => {
      const { sandbox, bash } = await open();
      const outcome = state === "idle" ? null : run(bash, "sleep 60").catch((error: unknown) => error);
      const killedAt = performance.now();
      await containerOf(sandbox).kill();
      await expect(sandbox.closed).resolves.toMatchObject({
        expected: false,
        exitCode: 137,
        reason: "its container was killed",
      });
      expect(performance.now() - killedAt).toBeLessThan(SOON_MS);
      if (outcome !== null)
        expect(await outcome).toMatchObject({ error: "sandbox_dead", message: expect.stringContaining("killed") });
      await expect(run(bash, "echo")).rejects.toMatchObject({ error: "sandbox_dead" });
    },
  );

  it("A03 is dead of memory, and says so, when its supervisor goes too", async () => {
    const small = deployment.runtime({ limits: { memoryMiB: 48, diskMiB: 256, pids: 32 } });
    const sandbox = await small.create({}, never);
    const bash = await sandbox.openKernel("bash", never);
    const filled = await run(bash, "while :; do head -c 4M /dev/zero >> /dev/shm/x; done").catch(
      (error: unknown) => error,
    );
    // User code goes first; the files stay, and with them nothing has room any more.
    if (!(filled instanceof Error)) expect(filled).toMatchObject({ status: "limit", limit: "memory" });
    const again = await run(bash, "head -c 64M /dev/zero >> /dev/shm/x").catch((error: unknown) => error);
    if (again instanceof Error) {
      expect(again).toMatchObject({ error: "sandbox_dead", message: expect.stringContaining("oom") });
      expect(await sandbox.closed).toMatchObject({ expected: false, reason: expect.stringContaining("oom") });
    } else {
      expect(again).toMatchObject({ status: "limit", limit: "memory" });
    }
    await sandbox.stop();
  });

  it("is frozen while it is paused, keeps its state, and may be told so twice", async () => {
    const { sandbox, bash } = await open();
    await run(bash, "x=1; (while :; do echo . >> ticks; sleep 0.01; done) &");
    await sandbox.pause?.(never);
    await sandbox.pause?.(never);
    const { State: state } = await containerOf(sandbox).inspect();
    expect(state.Paused).toBe(true);
    await expect(run(bash, "echo")).rejects.toMatchObject({ error: "conflict" });
    await sandbox.resume?.(never);
    await sandbox.resume?.(never);
    expect((await run(bash, "echo $x")).stdout.text).toBe("1\n");
    await sandbox.pause?.(never);
    await sandbox.stop();
    expect(await deployment.containers()).toEqual([]);
  });

  it("tells what it uses, from its own cgroup", async () => {
    const sandbox = await runtime.create({ limits: { memoryMiB: 100, pids: 20 } }, never);
    const stats = await sandbox.stats?.(never);
    expect(stats).toMatchObject({ source: "cgroup", memoryLimitBytes: 148 * 1024 * 1024, pidsLimit: 24, cpus: 1 });
    expect(stats?.memoryBytes).toBeGreaterThan(1024 * 1024);
    await sandbox.stop();
  });

  it("E07 leaves nothing when its creation is cancelled, before it begins or while its container starts", async () => {
    await expect(runtime.create({}, AbortSignal.abort())).rejects.toMatchObject({ error: "cancelled" });
    await using engine = await startFaultyEngine(engineSocket);
    const watched = deployment.runtime({ socket: engine.socketPath });
    await watched.check(never);
    const abort = new AbortController();
    engine.plan = (_method, path) => {
      if (path.endsWith("/start")) abort.abort();
      return "none";
    };
    await expect(watched.create({}, abort.signal)).rejects.toMatchObject({ error: "cancelled" });
    expect(await deployment.containers()).toEqual([]);
  });

  it("E07 leaves nothing of a creation that the end of the server overtakes", async () => {
    const ending = deployment.runtime();
    const creating = ending.create({}, never).catch((error: unknown) => error);
    await ending.close();
    expect(await creating).toMatchObject({ error: "shutting_down" });
    await expect(ending.create({}, never)).rejects.toMatchObject({ error: "shutting_down" });
    expect(await deployment.containers()).toEqual([]);
  });

  it("is of an image that the config allows, and missing ones are told with their remedy", async () => {
    const without = deployment.runtime({ pull: false, images: ["toolyard-test-absent/*"] });
    await expect(without.create({ image: "elsewhere/other" }, never)).rejects.toMatchObject({ error: "forbidden" });
    await expect(without.create({ image: "not a name" }, never)).rejects.toMatchObject({ error: "invalid_input" });
    await expect(without.create({ image: "toolyard-test-absent/a" }, never)).rejects.toMatchObject({
      error: "runtime_unavailable",
      suggestion: "To get it: docker pull toolyard-test-absent/a:latest",
    });
    const nothing = deployment.runtime({ image: "toolyard/absent" });
    expect(await nothing.check(never)).toMatchObject({ available: false, remedy: "toolyard images build absent" });
    await expect(nothing.create({}, never)).rejects.toMatchObject({
      suggestion: "To get it: toolyard images build absent",
    });
  });

  it("is run by the OCI runtime that the config names, and not at all where the engine has none of that name", async () => {
    const named = deployment.runtime({ ociRuntime: "runc" });
    expect(await named.check(never)).toMatchObject({ available: true });
    const sandbox = await named.create({}, never);
    expect((await containerOf(sandbox).inspect()).HostConfig).toMatchObject({ Runtime: "runc" });
    await sandbox.stop();
    const missing = deployment.runtime({ ociRuntime: "toolyard-test-absent" });
    expect(await missing.check(never)).toMatchObject({
      available: false,
      reason: 'the Docker Engine has no runtime "toolyard-test-absent"',
      remedy: expect.stringContaining("daemon.json"),
    });
  });

  it("refuses limits above the configured maxima, and what it cannot hold", async () => {
    const bounded = deployment.runtime({ maxLimits: { memoryMiB: 1024, cpus: 1 } });
    await expect(bounded.create({ limits: { memoryMiB: 2048 } }, never)).rejects.toMatchObject({
      error: "limit_exceeded",
      details: { limit: "memory_mib", maximum: 1024 },
    });
    await expect(bounded.create({ limits: { cpus: 2 } }, never)).rejects.toMatchObject({ details: { limit: "cpus" } });
  });

  it("holds those who ask for nothing to the maxima, too, where the defaults are above them", async () => {
    const small = deployment.runtime({ maxLimits: { memoryMiB: 100, pids: 20, cpus: 0.5 } });
    const sandbox = await small.create({ limits: { diskMiB: 16 } }, never);
    expect(await sandbox.stats?.(never)).toMatchObject({
      ...{ memoryLimitBytes: 148 * 1024 * 1024, pidsLimit: 24, cpus: 0.5, diskLimitBytes: 48 * 1024 * 1024 },
    });
    await sandbox.stop();
  });
});
