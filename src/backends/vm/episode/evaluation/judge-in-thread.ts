import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import type { Clock } from "../../../../core/clock.ts";
import { ToolyardError } from "../../../../core/errors.ts";
import type { Check, Judged } from "./judge.ts";

/** What judging may take. */
export interface JudgeLimits {
  /** Milliseconds for all checks together. */
  readonly timeMs: number;
  /** MiB of the thread's heap. */
  readonly memoryMiB: number;
}

const FROM_SOURCES = import.meta.url.endsWith(".ts");

/**
 * Judges in a thread of its own: what the agent left is parsed and matched there, so that neither a pattern without end nor a file
 * that unpacks to more than it says holds the server.
 *
 * @throws ToolyardError `limit_exceeded` when it takes too long or too much memory; `dependency_failed`; the signal's reason.
 */
export async function judgeInThread(
  checks: readonly Check[],
  { timeMs, memoryMiB }: JudgeLimits,
  clock: Clock,
  signal: AbortSignal,
): Promise<readonly Judged[]> {
  signal.throwIfAborted();
  const judged: Judged[] = [];
  const worker = new Worker(new URL(FROM_SOURCES ? "./judge-worker.ts" : "./judge-worker.js", import.meta.url), {
    workerData: checks,
    resourceLimits: { maxOldGenerationSizeMb: memoryMiB },
    execArgv: FROM_SOURCES ? ["--import", pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href] : [],
    name: "toolyard evaluation",
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const over = (limit: string, max: number) =>
    reject(
      new ToolyardError("limit_exceeded", `the metric ${checks[judged.length]?.func ?? ""} took too much: ${limit}`, {
        details: { limit, max },
        suggestion: "Compare less, or use a pattern that backtracks less.",
      }),
    );
  const cancel = clock.after(timeMs, () => over("evaluation_ms", timeMs));
  const abort = () => reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  worker.on("message", (one: Judged) => judged.push(one));
  worker.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "ERR_WORKER_OUT_OF_MEMORY") return over("evaluation_mib", memoryMiB);
    return reject(new ToolyardError("internal_error", "the metrics' thread broke", { cause: error }));
  });
  worker.on("exit", () => resolve());
  try {
    await promise;
    if (judged.length === checks.length) return judged;
    throw new ToolyardError("internal_error", "the metrics' thread ended early");
  } finally {
    cancel();
    signal.removeEventListener("abort", abort);
    await worker.terminate();
  }
}
