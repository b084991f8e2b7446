import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { HttpServiceClient } from "../../src/client/http-client.ts";

const CALLS = 100_000;
const WORKERS = 8;
/** Calls of one round of one worker: one batch, some by themselves, some as a job or under a key. */
const BATCH = 480;
const SINGLE = 10;
const MIB = 1_048_576;

interface Held {
  readonly heapBytes: number;
  readonly files: number;
  readonly sessions: number;
  readonly calls: number;
}

async function ask(child: ChildProcess): Promise<Held> {
  child.send("measure");
  const [held] = await once(child, "message");
  return held as Held; // what soak-server.ts sends
}

/** Waits until the last cleanups are over. */
async function askOnceIdle(child: ChildProcess): Promise<Held> {
  await expect
    .poll(async () => {
      const { sessions, calls } = await ask(child);
      return { sessions, calls };
    })
    .toEqual({ sessions: 0, calls: 0 });
  return ask(child);
}

/** One worker's round: explicit and temporary sessions, calls by themselves and in a batch, failures, a job. */
async function round(client: HttpServiceClient): Promise<number> {
  await client.createSession("counter");
  const before = await client.executeUntyped<{ readonly value: number }>("counter:get");
  const batch = await client.executeBatch(
    Array.from({ length: BATCH }, (_, index) => ({ action: index % 9 === 0 ? "probe:plot" : "counter:incr" })),
    { parallel: true, stopOnError: false },
  );
  expect(batch.executed).toBe(BATCH);
  const after = await client.executeUntyped<{ readonly value: number }>("counter:get");
  expect(after.value - before.value).toBe(batch.successCount);
  await client.destroySession("counter");
  for (let call = 0; call < SINGLE; call += 1) {
    expect(await client.call("counter:incr")).toMatchObject({ ok: true, data: { value: 1 } });
  }
  const job = await client.startJob("probe:echo", { a: 1 });
  expect(await job.result()).toEqual({ a: 1 });
  return BATCH + SINGLE + 3;
}

it("F12: a hundred thousand calls leave no files, no sessions and no heap behind", { timeout: 600_000 }, async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "toolyard-soak-"));
  const entry = fileURLToPath(new URL("soak-server.ts", import.meta.url));
  const execArgv = ["--expose-gc", "--import", import.meta.resolve("tsx")];
  const tsconfig = fileURLToPath(new URL("../../tsconfig.json", import.meta.url));
  const child = fork(entry, [dataDir], { execArgv, env: { ...process.env, TSX_TSCONFIG_PATH: tsconfig } });
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await rm(dataDir, { recursive: true, force: true });
  });
  const [{ url }] = await once(child, "message");
  const client = new HttpServiceClient({ baseUrl: url, workerId: "soak" });
  await client.connect();
  const workers = Array.from({ length: WORKERS }, (_, index) => client.forWorker(`soak-${index}`));
  const rounds = async (calls: number) => {
    for (let done = 0; done < calls; ) {
      done += (await Promise.all(workers.map(round))).reduce((sum, count) => sum + count, 0);
    }
  };
  // What is filled once (caches, pools, compiled code) is not what grows.
  await rounds(CALLS / 4);
  const before = await askOnceIdle(child);
  await rounds(CALLS);
  const after = await askOnceIdle(child);
  expect(after.files - before.files).toBeLessThanOrEqual(4);
  expect((after.heapBytes - before.heapBytes) / MIB).toBeLessThan(8);
});
