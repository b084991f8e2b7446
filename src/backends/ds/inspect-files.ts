import { ToolyardError } from "../../core/errors.ts";
import type { JobResult } from "../../processes/job-process.ts";
import type { DataFile } from "./data-file.ts";
import type { FoundProfiles } from "./jobs/jobs.ts";
import type { FileProfile } from "./jobs/profile.ts";

/** Less is not worth the start of a job. */
const LEAST_MS = 500;

export interface InspectOptions {
  /** Milliseconds for all of them together. */
  readonly timeoutMs: number;
  /** How many are looked into at once. */
  readonly lanes: number;
  /** Ends it when it is aborted. */
  readonly signal: AbortSignal;
  /** Looks into one file. */
  readonly inspect: (file: DataFile, timeoutMs: number) => Promise<JobResult>;
}

/** What became of the files, in their order. */
export interface Inspection {
  readonly profiles: FoundProfiles;
  /** Files for which no time was left. */
  readonly late: readonly DataFile[];
}

/**
 * Looks into files, each by itself: what is wrong with one costs the others neither memory nor more than its own share of the time.
 * The smallest come first, so that the time which they do not need is there for the large ones.
 *
 * @throws the signal's reason
 */
export async function inspectFiles(files: readonly DataFile[], options: InspectOptions): Promise<Inspection> {
  const { timeoutMs, lanes, signal, inspect } = options;
  const endsAt = performance.now() + timeoutMs;
  const waiting = files.toSorted((left, right) => left.sizeBytes - right.sizeBytes);
  const found = new Map<DataFile, FoundProfiles>();
  const work = async () => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      const leftMs = endsAt - performance.now();
      if (leftMs < LEAST_MS) return;
      const shareMs = Math.max(LEAST_MS, leftMs / Math.ceil((waiting.length + 1) / lanes));
      try {
        // One after another in each lane.
        // oxlint-disable-next-line no-await-in-loop
        found.set(file, toProfiles(file, await inspect(file, shareMs)));
      } catch (error) {
        signal.throwIfAborted();
        found.set(file, [toFailed(file, error)]);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(lanes, files.length) }, work));
  const late = files.filter((file) => !found.has(file));
  return { profiles: files.flatMap((file) => found.get(file) ?? []), late };
}

function toProfiles(file: DataFile, { value, cutShort }: JobResult): FoundProfiles {
  const profiles = value as FoundProfiles; // what the job "inspect" answers
  return cutShort === null ? profiles : [...profiles, toFailed(file, cutShort)];
}

function toFailed({ name, format, sizeBytes }: DataFile, error: unknown): FileProfile {
  // What no limit ended is a failure of the server's own.
  if (!ToolyardError.is(error)) throw error;
  const advice = error.error === "timeout" ? "; give it more time by itself, with files and timeout_ms" : "";
  return { file: name, format, size_bytes: sizeBytes, sheet: null, error: `${error.message}${advice}` };
}
