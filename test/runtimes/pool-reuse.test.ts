import { describe, expect, it, onTestFinished } from "vitest";
import type { SandboxInstance, SandboxRuntime } from "../../src/core/runtime.ts";
import { LocalRuntime } from "../../src/runtimes/local/runtime.ts";
import { PooledRuntime } from "../../src/runtimes/pool/pooled-runtime.ts";
import { missingEngine, openDeployment } from "../kit/docker-engine.ts";

const never = new AbortController().signal;

async function print(instance: SandboxInstance, code: string): Promise<string> {
  const kernel = await instance.openKernel("python", never, { name: "python" });
  const { stdout, error } = await kernel.run({ code, deadlineMs: 20_000 }, { signal: never });
  return stdout.text || String(error?.message);
}

/** Leaves what a session can leave, gives the sandbox back, and looks what the next session finds. */
async function tryReuse(runtime: SandboxRuntime): Promise<void> {
  const pooled = new PooledRuntime(runtime, { min: 1, max: 3, reuse: true, kernels: ["python"] });
  onTestFinished(() => pooled.close());
  await pooled.warmup(never);
  const ready = async () => (await pooled.check(never)).pool;
  await expect.poll(ready).toMatchObject({ ready: 1 });
  const first = await pooled.create({}, never);
  const litter = [
    "import os, subprocess",
    "x = 1",
    "for place in ('/workspace/a/b', '/tmp/.c', '/dev/shm/d'):",
    "    os.makedirs(place); open(place + '/f', 'w').write('secret')",
    "subprocess.Popen(['sleep', '1000'], start_new_session=True)",
    "os.environ['LEFT'] = 'secret'",
    "print('done')",
  ].join("\n");
  expect(await print(first, litter)).toBe("done\n");
  const kernel = await first.openKernel("python", never, { name: "python" });
  const kept = await kernel.dumpState?.("/workspace/state", { deadlineMs: 20_000, maxBytes: 1 << 20, signal: never });
  expect(kept?.saved).toContain("x");
  await first.stop();
  const second = await pooled.create({}, never);
  expect(second.id).toBe(first.id);
  const look = [
    "import os",
    "found = [os.listdir(place) for place in ('/workspace', '/tmp', '/dev/shm')]",
    "sleeps = [pid for pid in os.listdir('/proc') if pid.isdigit() and b'sleep' in open(f'/proc/{pid}/cmdline', 'rb').read()]",
    "print(found, sleeps, 'x' in globals(), 'LEFT' in os.environ)",
  ].join("\n");
  expect(await print(second, look)).toBe("[[], [], []] [] False False\n");
  await expect(first.openKernel("python", never)).rejects.toMatchObject({ error: "sandbox_dead" });
  await second.stop();
}

const local = new LocalRuntime();
const { available, reason } = await local.check(never);

describe("a sandbox that is taken back and lent again holds nothing of who had it before", () => {
  it.skipIf(!available)(`in local${available ? "" : ` (skipped: ${reason})`}`, () => tryReuse(local));

  it.skipIf(missingEngine !== null)(
    `in docker${missingEngine === null ? "" : ` (skipped: ${missingEngine})`}`,
    async () => {
      const deployment = await openDeployment();
      onTestFinished(() => deployment[Symbol.asyncDispose]());
      await tryReuse(deployment.runtime());
    },
  );
});
