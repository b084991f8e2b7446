import type { SandboxFiles } from "../../core/sandbox-files.ts";

const CHUNK_BYTES = 1 << 20;
const NEWLINE = 10;

/** A stretch of a file by its lines, and what is known of the file from reading so far. */
export interface LineRange {
  readonly bytes: Buffer;
  /** Of the first byte, in the file. */
  readonly offset: number;
  /** 1-based, of the first and the last line that is there, whole or in part. */
  readonly firstLine: number;
  readonly lastLine: number;
  /** `null` when the reading ended before the file did. */
  readonly totalLines: number | null;
  /** There was more of what was asked for than `maxBytes`. */
  readonly truncated: boolean;
}

/** Reads the lines from `first` to `last`, 1-based and inclusive, at most `maxBytes` of them. */
export async function readLines(
  files: SandboxFiles,
  path: string,
  { first, last, maxBytes }: { readonly first: number; readonly last: number; readonly maxBytes: number },
  signal: AbortSignal,
): Promise<LineRange> {
  const kept: Buffer[] = [];
  let [keptBytes, start, line, offset] = [0, 0, 1, 0];
  let [truncated, ended, midLine] = [false, false, false];
  while (!ended && !truncated && line <= last) {
    // Each stretch begins where the last one ended.
    // oxlint-disable-next-line no-await-in-loop
    const chunk = Buffer.from(await files.read(path, { offset, length: CHUNK_BYTES }, signal));
    let at = 0;
    while (at < chunk.length && line <= last && !truncated) {
      const newline = chunk.indexOf(NEWLINE, at);
      const end = newline < 0 ? chunk.length : newline + 1;
      if (line >= first) {
        if (keptBytes === 0) start = offset + at;
        const part = chunk.subarray(at, Math.min(end, at + maxBytes - keptBytes));
        kept.push(part);
        keptBytes += part.length;
        truncated = part.length < end - at;
      }
      if (truncated) break;
      midLine = newline < 0;
      if (newline >= 0) line += 1;
      at = end;
    }
    offset += chunk.length;
    ended = chunk.length < CHUNK_BYTES && at === chunk.length && !truncated;
  }
  const lines = midLine ? line : line - 1;
  return {
    bytes: Buffer.concat(kept),
    offset: start,
    firstLine: first,
    lastLine: Math.min(truncated ? line : lines, last),
    totalLines: ended ? lines : null,
    truncated,
  };
}
