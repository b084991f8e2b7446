import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { ProcessPool } from "../../src/processes/process-pool.ts";
import type { JobLimits } from "../../src/processes/job-process.ts";
import { isRunning } from "../kit/child-processes.ts";
import { settle } from "../kit/manual-clock.ts";

const SLOW = { module: new URL("./fixtures/slow-start.ts", import.meta.url), startMs: 1_000 };
const MODULE = new URL("./fixtures/jobs.ts", import.meta.url);

function openPool(maxProcesses = 2, module = MODULE) {
  const pool = new ProcessPool({ module, maxProcesses });
  onTestFinished(() => pool.close());
  const run = (job: string, limits: Partial<JobLimits> = {}) =>
    pool.run(
      job,
      {},
      { timeoutMs: 120_000, memoryMiB: 1_024, graceMs: 0, signal: new AbortController().signal, ...limits },
    );
  return { pool, run };
}

describe("a pool of processes", () => {
  it("runs jobs outside of the server, with nothing of its environment, and uses a process again", async () => {
    const { run } = openPool();
    const { value: first } = await run("pid");
    expect(first).not.toBe(process.pid);
    expect(await run("pid")).toEqual({ value: first, cutShort: null });
    expect(await run("environment")).toMatchObject({ value: { cwd: "/" } });
    const { value } = await run("environment");
    expect(Reflect.get(Object(value), "env")).not.toContain("PATH");
  });

  it("passes on what a job refuses, and masks what is a bug", async () => {
    const { run } = openPool();
    await expect(run("fail")).rejects.toMatchObject({ error: "business_failure", details: { code: "X" } });
    await expect(run("bug")).rejects.toThrow("TypeError: a bug");
    await expect(run("nothing")).rejects.toThrow('there is no job "nothing"');
    expect(await run("pid")).toHaveProperty("value");
  });

  it("kills what holds its thread at the end of its time, and goes on with another process", async () => {
    const { pool, run } = openPool();
    const { value: pid } = await run("pid");
    await expect(run("spin", { timeoutMs: 500 })).rejects.toMatchObject({
      error: "timeout",
      details: { limit: "timeout_ms", max: 500 },
    });
    await expect.poll(() => isRunning(Number(pid))).toBe(false);
    expect(pool.pids).not.toContain(pid);
    expect((await run("pid")).value).not.toBe(pid);
  });

  it("answers what a job had told until its time was over, and says that it was cut short", async () => {
    const { run } = openPool();
    const cut = await run("spinAfterPartial", { timeoutMs: 5_000 });
    expect(cut).toMatchObject({ value: { found: 1 }, cutShort: { error: "timeout" } });
  });

  it("lets an engine that hears end by itself, whose process then serves again", async () => {
    const { run } = openPool();
    const { value: pid } = await run("pid");
    await expect(run("hear", { timeoutMs: 200, graceMs: 60_000 })).rejects.toMatchObject({ error: "timeout" });
    expect((await run("pid")).value).toBe(pid);
    await expect(run("spin", { timeoutMs: 200, graceMs: 200 })).rejects.toMatchObject({ error: "timeout" });
  });

  it("ends a job whose caller went away", async () => {
    const { run } = openPool();
    const { value: pid } = await run("pid");
    const controller = new AbortController();
    const running = run("spin", { signal: controller.signal });
    await settle();
    controller.abort();
    await expect(running).rejects.toMatchObject({ error: "cancelled" });
    await expect.poll(() => isRunning(Number(pid))).toBe(false);
    await expect(run("pid", { signal: AbortSignal.abort() })).rejects.toMatchObject({ error: "cancelled" });
  });

  it("counts no job's time before its process has started, on however slow a machine", async () => {
    const { pool, run } = openPool(1, SLOW.module);
    const asked = performance.now();
    await expect(run("spin", { timeoutMs: 1 })).rejects.toMatchObject({ error: "timeout" });
    expect(performance.now() - asked).toBeGreaterThan(SLOW.startMs);
    expect(pool.pids).toEqual([]);
  });

  it("leaves a process whose caller went away while it started to the next one", async () => {
    const { pool, run } = openPool(1, SLOW.module);
    const controller = new AbortController();
    const running = run("spin", { signal: controller.signal });
    // The turn comes first, the process with it.
    await settle();
    const pids = pool.pids;
    controller.abort();
    await expect(running).rejects.toMatchObject({ error: "cancelled" });
    expect(pids).toHaveLength(1);
    expect([(await run("pid")).value]).toEqual(pids);
  });

  it.runIf(process.platform === "linux")("ends a job that holds more memory than it may (A02)", async () => {
    const { run } = openPool();
    await expect(run("hoard", { memoryMiB: 512 })).rejects.toMatchObject({
      error: "limit_exceeded",
      outcome: "limit",
      details: { limit: "memory_mib", max: 512 },
    });
    expect(await run("pid")).toHaveProperty("value");
  });

  it("tells an end that nobody asked for as the server's own failure (D11)", async () => {
    const { run } = openPool();
    await expect(run("exit")).rejects.toMatchObject({ error: "backend_unavailable", outcome: "infra_error" });
    expect(await run("pid")).toHaveProperty("value");
  });

  it("runs no more at once than it may, and lets the others wait as long as their callers do", async () => {
    const { pool, run } = openPool(1);
    const first = run("spin", { timeoutMs: 500 });
    first.catch(() => undefined);
    const gone = new AbortController();
    const second = run("pid", { signal: gone.signal });
    const third = run("pid");
    gone.abort();
    await expect(second).rejects.toMatchObject({ error: "cancelled" });
    expect(pool.pids).toHaveLength(1);
    await expect(first).rejects.toMatchObject({ error: "timeout" });
    expect(await third).toHaveProperty("value");
  });

  it("gives a free place to who runs the fewest jobs, so that nobody waits for all of another's", async () => {
    const { run } = openPool(2);
    const order: string[] = [];
    const held = new AbortController();
    const start = (name: string, owner: string, limits: Partial<JobLimits> = {}) =>
      run(limits.timeoutMs === undefined ? "pid" : "spin", { owner, ...limits })
        .catch(() => undefined)
        .then(() => order.push(name));
    const greedy = [
      start("greedy 1", "a", { timeoutMs: 1_500 }),
      start("greedy 2", "a", { timeoutMs: 600_000, signal: held.signal }),
      start("greedy 3", "a"),
      start("greedy 4", "a"),
    ];
    const polite = [start("polite 1", "b"), start("polite 2", "b")];
    await Promise.all(polite);
    held.abort();
    await Promise.all(greedy);
    // While the second of the greedy one's runs, the place of the first goes to the other, as often as that one asks.
    expect(order.slice(0, 3)).toEqual(["greedy 1", "polite 1", "polite 2"]);
  });

  it.runIf(process.platform === "linux")(
    "leaves no process behind when the server is killed under its work (F01)",
    async () => {
      const program = `
      import { ProcessPool } from ${JSON.stringify(new URL("../../src/processes/process-pool.ts", import.meta.url).href)};
      const pool = new ProcessPool({ module: new URL(${JSON.stringify(MODULE.href)}), maxProcesses: 1 });
      const limits = { timeoutMs: 600_000, memoryMiB: 1024, graceMs: 0, signal: new AbortController().signal };
      await pool.run("pid", {}, limits);
      pool.run("spin", {}, limits).catch(() => undefined);
      console.log(pool.pids[0]);`;
      const server = spawn(process.execPath, ["--input-type=module", "-e", program], {
        cwd: fileURLToPath(new URL("../..", import.meta.url)),
        stdio: ["ignore", "pipe", "ignore"],
      });
      onTestFinished(() => void server.kill("SIGKILL"));
      const [line] = await new Promise<string[]>((resolve) =>
        server.stdout.once("data", (data: Buffer) => resolve(String(data).split("\n"))),
      );
      const pid = Number(line);
      expect(isRunning(pid)).toBe(true);
      server.kill("SIGKILL");
      await expect.poll(() => isRunning(pid)).toBe(false);
    },
  );
});
