import { Worker } from "node:worker_threads";
import { ToolyardError } from "../core/errors.ts";
import type { FromProcess, Job, JobFailure, ToProcess } from "./job.ts";

// Runs the jobs of one module, one at a time; see job-process.ts, which starts it.

const GRACE_NS = 5_000_000_000n;

const [modulePath = ""] = process.argv.slice(2);
/** When this process ends itself, in nanoseconds of its own clock; 0 while it has nothing to do. */
const endAt = new BigInt64Array(new SharedArrayBuffer(8));
const guard = new URL(`./guard${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url);
new Worker(guard, { workerData: { endAt, parent: process.ppid } }).unref();

const loading: Promise<{ readonly jobs: Readonly<Record<string, Job>> }> = import(modulePath);
// A module that does not load is told to whoever has a job for it.
void loading.catch(() => undefined).then(() => send({ kind: "ready" }));
let running: { readonly id: number; readonly controller: AbortController } | undefined;

process.on("disconnect", () => process.exit(0));
process.on("message", (message: ToProcess) => {
  if (message.kind === "start") void run(message);
  else if (running?.id === message.id) running.controller.abort();
});

async function run({ id, job, params, ms }: Extract<ToProcess, { kind: "start" }>): Promise<void> {
  const controller = new AbortController();
  running = { id, controller };
  Atomics.store(endAt, 0, process.hrtime.bigint() + BigInt(Math.ceil(ms)) * 1_000_000n + GRACE_NS);
  try {
    const found = (await loading).jobs[job];
    if (found === undefined) throw new Error(`there is no job "${job}"`);
    const partial = (value: unknown) => send({ kind: "partial", id, value });
    // Who starts a job knows its params.
    const value = await found(params as never, { signal: controller.signal, partial });
    send({ kind: "done", id, value });
  } catch (error) {
    send({ kind: "failed", id, failure: toFailure(error) });
  } finally {
    Atomics.store(endAt, 0, 0n);
    running = undefined;
  }
}

function send(message: FromProcess): void {
  if (process.connected) process.send?.(message);
}

function toFailure(error: unknown): JobFailure {
  if (ToolyardError.is(error)) {
    const { details, suggestion } = error;
    return { error: error.error, message: error.message, details, suggestion };
  }
  return error instanceof Error
    ? { message: `${error.name}: ${error.message}`, stack: error.stack }
    : { message: String(error) };
}
