import { ToolyardError } from "../core/errors.ts";
import type { JobLimits } from "../processes/job-process.ts";
import { ProcessPool } from "../processes/process-pool.ts";
import type { ApartFormat, ReadJob } from "./jobs.ts";
import type { ReadFormat } from "./read-document.ts";

const JOBS = new URL(`./jobs${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url);
const IDLE_MS = 60_000;
/** A reader holds its thread: it hears nothing before it is done. */
const GRACE_MS = 0;

/** What one document may take to be read. */
export type ReaderLimits = Pick<JobLimits, "timeoutMs" | "memoryMiB" | "signal" | "owner">;

/** What a document may take where nobody says. */
export const READER_LIMITS = { timeoutMs: 60_000, memoryMiB: 1_024 };

/** Up to so many bytes HTML is read where it is: hostile or not, that takes no time that anybody would notice. */
export const SMALL_HTML = 16_384;

/** Starts nothing before the first document, and keeps nothing a minute after the last. */
const pool = new ProcessPool({ module: JOBS, maxProcesses: 2, idleMs: IDLE_MS });

/**
 * Reads a document of a format whose libraries believe what it says in a process of its own: a PDF of 200 kB can hold its
 * reader for a minute, and one of a few megabytes all of the machine's memory.
 *
 * @throws ToolyardError what the format's reader throws; `timeout`; `limit_exceeded` (`memory_mib`)
 */
export async function readApart(
  format: ApartFormat,
  content: string | Uint8Array,
  limits: ReaderLimits,
): Promise<ReadFormat> {
  // What the job "read" answers.
  return (await runReader(pool, "read", { format, content } satisfies ReadJob, limits)) as ReadFormat;
}

/** Runs a job that reads a document. A process that ends by itself had no memory left: what it read made it so. */
export async function runReader(
  readers: ProcessPool,
  job: string,
  params: unknown,
  limits: ReaderLimits,
): Promise<unknown> {
  try {
    return (await readers.run(job, params, { ...limits, graceMs: GRACE_MS })).value;
  } catch (error) {
    if (!ToolyardError.is(error) || error.error !== "backend_unavailable") throw error;
    throw new ToolyardError("limit_exceeded", "the document needs more memory to be read than it may have", {
      details: { limit: "memory_mib", max: limits.memoryMiB },
      cause: error,
    });
  }
}
