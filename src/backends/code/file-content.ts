import type { SandboxFiles } from "../../core/sandbox-files.ts";

const CHUNK_BYTES = 1 << 20;

/** Reads a whole file of a sandbox, a stretch at a time. */
export async function* contentOf(files: SandboxFiles, path: string, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  for (let offset = 0; ; ) {
    // Each stretch begins where the last one ended.
    // oxlint-disable-next-line no-await-in-loop
    const part = await files.read(path, { offset, length: CHUNK_BYTES }, signal);
    if (part.length > 0) yield part;
    if (part.length < CHUNK_BYTES) return;
    offset += part.length;
  }
}
