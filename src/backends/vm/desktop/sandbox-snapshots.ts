import { createReadStream, createWriteStream } from "node:fs";
import { mkdtemp, rename, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { ToolyardError } from "../../../core/errors.ts";
import type { SandboxFiles } from "../../../core/sandbox-files.ts";
import type { DesktopSnapshots } from "./provider.ts";

const HOME = "/workspace";
const FORMAT = "tar.gz";
const MAX_SNAPSHOTS = 8;
const MAX_BYTES = 1024 ** 3;
// What the sandbox itself bounds more narrowly.
const UNPACKED = { entries: 1_000_000, totalBytes: 64 * 1024 ** 3 };

/**
 * The files of a desktop's home as they were at moments, in a folder of the server's that goes with the desktop. Programs are not in
 * them: after a restore the display starts anew over the files.
 */
export class SandboxSnapshots implements DesktopSnapshots {
  readonly keeps = "files";
  readonly #files: SandboxFiles;
  readonly #wipe: (signal: AbortSignal) => Promise<void>;
  /** By name: the number of its file, and its size. */
  readonly #kept = new Map<string, { readonly number: number; readonly bytes: number }>();
  #folder: Promise<string> | undefined;
  #last = 0;

  /** @param wipe ends everything in the sandbox and empties its folders. */
  constructor(files: SandboxFiles, wipe: (signal: AbortSignal) => Promise<void>) {
    this.#files = files;
    this.#wipe = wipe;
  }

  get names(): readonly string[] {
    return [...this.#kept.keys()];
  }

  /** @throws ToolyardError `limit_exceeded` when there are too many, or too large ones; as `SandboxFiles` does. */
  async save(name: string, signal: AbortSignal): Promise<void> {
    if (!this.#kept.has(name) && this.#kept.size >= MAX_SNAPSHOTS) {
      throw new ToolyardError("limit_exceeded", `a desktop may have ${MAX_SNAPSHOTS} snapshots`, {
        details: { limit: "snapshots" },
      });
    }
    this.#folder ??= mkdtemp(join(tmpdir(), "toolyard-desktop-"));
    const folder = await this.#folder;
    const number = (this.#last += 1);
    const partial = join(folder, `${number}.partial`);
    const others = [...this.#kept].reduce((sum, [other, { bytes }]) => (other === name ? sum : sum + bytes), 0);
    try {
      const archive = this.#files.archive(HOME, { format: FORMAT }, signal);
      await pipeline(atMost(archive, MAX_BYTES - others), createWriteStream(partial, { mode: 0o600 }), { signal });
      const { size: bytes } = await stat(partial);
      await rename(partial, join(folder, String(number)));
      const before = this.#kept.get(name);
      this.#kept.set(name, { number, bytes });
      if (before !== undefined) await rm(join(folder, String(before.number)), { force: true });
    } catch (error) {
      await rm(partial, { force: true });
      signal.throwIfAborted();
      throw error;
    }
  }

  async restore(name: string, signal: AbortSignal): Promise<void> {
    const kept = this.#kept.get(name);
    if (kept === undefined || this.#folder === undefined) {
      throw new ToolyardError("unknown_name", `the desktop has no snapshot "${name}"`);
    }
    await this.#wipe(signal);
    const archive = createReadStream(join(await this.#folder, String(kept.number)));
    await this.#files.extract(HOME, archive, { format: FORMAT, limits: UNPACKED, anyLinks: true }, signal);
  }

  /** Forgets all of them; idempotent. */
  async close(): Promise<void> {
    this.#kept.clear();
    const folder = await this.#folder?.catch(() => undefined);
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  }
}

async function* atMost(content: AsyncIterable<Uint8Array>, bytes: number): AsyncGenerator<Uint8Array> {
  let left = bytes;
  for await (const chunk of content) {
    left -= chunk.length;
    if (left < 0) {
      throw new ToolyardError("limit_exceeded", `the snapshots of a desktop may take ${MAX_BYTES} bytes`, {
        details: { limit: "snapshot_bytes" },
      });
    }
    yield chunk;
  }
}
