import { constants, mkdtemp, open, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { ToolyardError } from "../../core/errors.ts";
import { type DataFile, formatOf } from "./data-file.ts";
import type { SandboxCalls } from "./sandbox-calls.ts";

/** What one call carries. */
const CHUNK_BYTES = 4 * 1024 * 1024;
/** How far below its working folder a sandbox is searched for files, and how many entries are looked at. */
const MAX_DEPTH = 8;
const MAX_ENTRIES = 10_000;

const Listed = z.looseObject({
  entries: z.array(
    z.looseObject({ path: z.string(), kind: z.string(), size_bytes: z.number(), modified_at: z.string() }),
  ),
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
  const { entries } = await sandbox.call("file:list", { path: ".", depth: MAX_DEPTH, limit: MAX_ENTRIES }, Listed);
  const there = new Map(entries.map((entry) => [toName(entry.path), entry]));
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
  /** Files that are meant, too, and that there was no room for. */
  readonly notFetched: readonly string[];
}

/** A file of data in a sandbox's working folder. */
export interface FoundFile {
  /** From the working folder. */
  readonly name: string;
  readonly sizeBytes: number;
}

/** Finds the files of data in the working folder of the worker's sandbox and in those below it, by name. */
export async function listInSandbox(sandbox: SandboxCalls): Promise<readonly FoundFile[]> {
  const { entries } = await sandbox.call("file:list", { path: ".", depth: MAX_DEPTH, limit: MAX_ENTRIES }, Listed);
  return entries
    .map(({ path, kind, size_bytes: sizeBytes }) => ({ name: toName(path), kind, sizeBytes }))
    .filter(({ name, kind }) => kind === "file" && formatOf(name) !== undefined && !/(?:^|\/)\./.test(name))
    .toSorted((left, right) => (left.name < right.name ? -1 : 1));
}

/** Fetches as many of the files that were found as there is room for, the first ones first. */
export async function fetchFitting(
  sandbox: SandboxCalls,
  found: readonly FoundFile[],
  limits: { readonly maxFiles: number; readonly maxBytes: number },
): Promise<FetchedFiles> {
  let left = limits.maxBytes;
  const fitting: string[] = [];
  const notFetched: string[] = [];
  for (const { name, sizeBytes } of found) {
    if (fitting.length < limits.maxFiles && sizeBytes <= left) {
      fitting.push(name);
      left -= sizeBytes;
    } else notFetched.push(name);
  }
  return { ...(await fetchFromSandbox(sandbox, fitting, limits.maxBytes)), notFetched };
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
    let fetchedBytes = 0;
    for (const [index, name] of names.entries()) {
      const format = formatOf(name);
      if (format === undefined) throw new ToolyardError("path_refused", `${name} is no file of data`);
      const path = join(folder, String(index));
      // oxlint-disable-next-line no-await-in-loop
      const sizeBytes = await fetchFile(sandbox, name, path, { fetchedBytes, maxBytes });
      fetchedBytes += sizeBytes;
      files.push({ name, path, root: folder, format, sizeBytes });
    }
    return { files, notFetched: [], [Symbol.asyncDispose]: remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** Writes a file of the sandbox to a path of this machine, a stretch at a time. */
async function fetchFile(
  sandbox: SandboxCalls,
  name: string,
  path: string,
  { fetchedBytes, maxBytes }: { readonly fetchedBytes: number; readonly maxBytes: number },
): Promise<number> {
  const { entry } = await sandbox.call("file:stat", { path: name }, Looked);
  if (entry === null) throw new ToolyardError("path_not_found", `there is no file ${name} in the sandbox`);
  // A symbolic link is the sandbox's own matter: what it leads to is read inside.
  if (!["file", "symlink"].includes(entry.kind)) throw new ToolyardError("path_refused", `${name} is no regular file`);
  await using file = await open(path, "wx", 0o600);
  for (let at = 0; ; ) {
    const params = { path: name, offset: at, length: CHUNK_BYTES, max_bytes: CHUNK_BYTES, encoding: "base64" };
    // oxlint-disable-next-line no-await-in-loop
    const { content, length } = await sandbox.call("file:read", params, Read);
    if (length === 0) return at;
    at += length;
    if (fetchedBytes + at > maxBytes) {
      throw new ToolyardError("limit_exceeded", `the files of the sandbox are larger than ${maxBytes} bytes`, {
        details: { limit: "max_fetch_mib", max: Math.floor(maxBytes / (1 << 20)) },
      });
    }
    // oxlint-disable-next-line no-await-in-loop
    await file.appendFile(Buffer.from(content, "base64"));
  }
}

/** From the working folder, as the tools take it. */
function toName(path: string): string {
  return path.replace(/^.*\/workspace\/|^\.\//, "");
}
