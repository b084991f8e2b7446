import { readdir, readFile, stat } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import type { IncomingDocument } from "../../backends/rag/read/prepare.ts";
import { mediaTypeOf } from "../../documents/media-type.ts";
import { CommandError } from "../command.ts";

/** Folders that hold no documents. */
const SKIPPED = new Set(["node_modules", ".git", ".hg", ".svn", "__pycache__", ".toolyard"]);

/** A file as a document, whose source is its id. */
export interface FileDocument extends IncomingDocument {
  readonly id: string;
  /** Where the file lies. */
  readonly file: string;
}

/**
 * Reads files as documents; of folders, every file below whose ending is known. Each file comes once, also where a folder that
 * holds it is named beside it.
 *
 * The id is the path from `root`, or else from the folder that holds what was named: that of `docs/a.md` by `docs` is `docs/a.md`,
 * wherever the command runs.
 *
 * @throws CommandError for a path that is not there, or not below `root`, and for two files that would have one id
 */
export async function* readFiles(paths: readonly string[], root?: string): AsyncGenerator<FileDocument> {
  const files = new Map<string, string>();
  for (const path of withoutNested(paths.map((one) => resolve(one)))) {
    for await (const file of filesOf(path)) {
      const id = toId(root === undefined ? dirname(path) : resolve(root), file);
      const other = files.get(id);
      if (other !== undefined) {
        throw new CommandError(`${other} and ${file} would both have the id ${id}: name a folder above both as --root`);
      }
      files.set(id, file);
      const content = await readFile(file);
      yield { id, file, content, name: id, mediaType: undefined, title: null, source: id, metadata: undefined };
    }
  }
}

function withoutNested(paths: readonly string[]): string[] {
  return [...new Set(paths)].filter((path) => !paths.some((other) => other !== path && isBelow(other, path)));
}

function isBelow(folder: string, path: string): boolean {
  const [first] = splitPath(relative(folder, path));
  return first !== "..";
}

function toId(root: string, file: string): string {
  if (!isBelow(root, file)) throw new CommandError(`${file} is not below ${root}, which --root names`);
  return splitPath(relative(root, file)).join("/");
}

function splitPath(path: string): string[] {
  return path.split(process.platform === "win32" ? /[\\/]/ : "/");
}

async function* filesOf(path: string): AsyncGenerator<string> {
  const facts = await stat(path).catch(() => undefined);
  if (facts === undefined) throw new CommandError(`there is no file ${path}`);
  if (!facts.isDirectory()) {
    yield path;
    return;
  }
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  yield* entries
    .filter((entry) => entry.isFile() && mediaTypeOf(entry.name) !== undefined)
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !splitPath(relative(path, file)).some((part) => SKIPPED.has(part)))
    .toSorted();
}
