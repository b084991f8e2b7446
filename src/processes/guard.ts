import { workerData } from "node:worker_threads";

// Ends its process from a thread of its own, whatever holds the main one: when the server is gone, and when a job is far
// over its time. An engine that computes hears neither a closed channel nor a timer.

const { endAt, parent } = workerData as { readonly endAt: BigInt64Array; readonly parent: number }; // as child.ts sends it
const PERIOD_MS = 200;
const never = new Int32Array(new SharedArrayBuffer(4));

for (;;) {
  Atomics.wait(never, 0, 0, PERIOD_MS);
  const end = Atomics.load(endAt, 0);
  const late = end !== 0n && process.hrtime.bigint() > end;
  if (late || process.ppid !== parent) process.kill(process.pid, "SIGKILL");
}
