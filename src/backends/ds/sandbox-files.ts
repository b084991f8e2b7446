import { constants, mkdtemp, open, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { ToolyardError } from "../../core/errors.ts";
import { type DataFile, formatOf } from "./data-file.ts";
import type { SandboxCalls } from "./sandbox-calls.ts";

/** What one call carries. */
const CHUNK_BYTES = 4 * 1024 * 1024;

const Listed = z.looseObject({
  entries: z.array(z.looseObject({ path: z.string(), size_bytes: z.number(), modified_at: z.string() })),
});
const Looked = z.looseObject({ entry: z.looseObject({ kind: z.string(), size_bytes: z.number() }).nullable() });
const Read = z.looseObject({ content: z.string(), length: z.number() });
const Anything = z.unknown();

/** What became of the files that were to be copied into a sandbox. */
export interface CopiedFiles {
  readonly files: readonly string[];
  readonly notCopied: readonly string[];
}

/**
 * Copies files into the working folder of the worker's sandbox, under their names. One that is there and no older stays as it
 * is: what code made of a file is not taken from it.
 */
export async function copyIntoSandbox(
  sandbox: SandboxCalls,
  files: readonly DataFile[],
  maxBytes: number,
): Promise<CopiedFiles> {
  const copied: string[] = [];
  const notCopied: string[] = [];
  const { entries } = await sandbox.call("file:list", { path: ".", depth: 8, limit: 10_000 }, Listed);
  const there = new Map(entries.map((entry) => [entry.path.replace(/^.*\/workspace\/|^\.\//, ""), entry]));
  let total = 0;
  for (const file of files) {
    total += file.sizeBytes;
    if (total > maxBytes) {
      total -= file.sizeBytes;
      notCopied.push(file.name);
      continue;
    }
    const entry = there.get(file.name);
    // One after the other: they go through the same session.
    // oxlint-disable-next-line no-await-in-loop
    await copy(sandbox, file, entry === undefined ? undefined : Date.parse(entry.modified_at));
    copied.push(file.name);
  }
  return { files: copied, notCopied };
}

async function copy(sandbox: SandboxCalls, file: DataFile, copiedAt: number | undefined): Promise<void> {
  await using handle = await open(file.path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  const { mtimeMs } = await handle.stat();
  if (copiedAt !== undefined && copiedAt >= mtimeMs) return;
  const chunk = Buffer.alloc(CHUNK_BYTES);
  for (let at = 0, append = false; at < file.sizeBytes || !append; append = true) {
    // oxlint-disable-next-line no-await-in-loop
    const { bytesRead } = await handle.read(chunk, 0, CHUNK_BYTES, at);
    const content = chunk.toString("base64", 0, bytesRead);
    // oxlint-disable-next-line no-await-in-loop
    await sandbox.call("file:write", { path: file.name, content, encoding: "base64", append }, Anything);
    if (bytesRead === 0) return;
    at += bytesRead;
  }
}

/** Files of a sandbox, in a folder of this machine's until they are disposed of. */
export interface FetchedFiles extends AsyncDisposable {
  readonly files: readonly DataFile[];
}

/**
 * Fetches files of the worker's sandbox.
 *
 * @throws ToolyardError `path_not_found`, `path_refused`, `limit_exceeded`
 */
export async function fetchFromSandbox(
  sandbox: SandboxCalls,
  names: readonly string[],
  maxBytes: number,
): Promise<FetchedFiles> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "toolyard-ds-")));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    const files: DataFile[] = [];
    let left = maxBytes;
    for (const [index, name] of names.entries()) {
      const path = join(folder, String(index));
      // oxlint-disable-next-line no-await-in-loop
      const content = await fetchFile(sandbox, name, left);
      left -= content.byteLength;
      // oxlint-disable-next-line no-await-in-loop
      await writeFile(path, content, { mode: 0o600 });
      const format = formatOf(name);
      if (format === undefined) throw new ToolyardError("path_refused", `${name} is no file of data`);
      files.push({ name, path, root: folder, format, sizeBytes: content.byteLength });
    }
    return { files, [Symbol.asyncDispose]: remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

async function fetchFile(sandbox: SandboxCalls, name: string, maxBytes: number): Promise<Buffer> {
  const { entry } = await sandbox.call("file:stat", { path: name }, Looked);
  if (entry === null) throw new ToolyardError("path_not_found", `there is no file ${name} in the sandbox`);
  // A symbolic link is the sandbox's own matter: what it leads to is read inside.
  if (!["file", "symlink"].includes(entry.kind)) throw new ToolyardError("path_refused", `${name} is no regular file`);
  const chunks: Buffer[] = [];
  for (let at = 0; ; ) {
    const params = { path: name, offset: at, length: CHUNK_BYTES, max_bytes: CHUNK_BYTES, encoding: "base64" };
    // oxlint-disable-next-line no-await-in-loop
    const { content, length } = await sandbox.call("file:read", params, Read);
    if (length === 0) return Buffer.concat(chunks);
    at += length;
    if (at > maxBytes) {
      throw new ToolyardError("limit_exceeded", `the files of the sandbox are larger than ${maxBytes} bytes`, {
        details: { limit: "max_fetch_mib", max: Math.floor(maxBytes / (1 << 20)) },
      });
    }
    chunks.push(Buffer.from(content, "base64"));
  }
}
