import type { z } from "zod";
import type { FileChange, SandboxFiles } from "../../core/sandbox-files.ts";
import type { WatchParams, WatchResult } from "./file-schemas.ts";
import type { CodeContext } from "./session.ts";

/** Kept of the call's own time, to answer with what was seen in place of a timeout. */
const ANSWER_MS = 250;

/** Tells changes as they come until the watch's time is over or there are enough. */
export async function watchFiles(
  files: SandboxFiles,
  { path, recursive, timeout_ms: timeoutMs, max_changes: most }: z.output<typeof WatchParams>,
  context: CodeContext,
): Promise<WatchResult> {
  const changes: FileChange[] = [];
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(), Math.max(0, Math.min(timeoutMs, context.timeLeftMs - ANSWER_MS)));
  try {
    for await (const change of files.watch(path, { recursive }, AbortSignal.any([over.signal, context.signal]))) {
      changes.push(change);
      context.progress({ change });
      if (changes.length >= most) return { changes, ended: "max_changes" };
    }
  } catch (error) {
    // The watch's own time is no failure; the call's own end, and whatever else, is.
    if (!over.signal.aborted || context.signal.aborted) throw error;
  } finally {
    clearTimeout(timer);
  }
  context.signal.throwIfAborted();
  return { changes, ended: "timeout" };
}
