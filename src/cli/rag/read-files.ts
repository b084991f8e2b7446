import { readdir, readFile, stat } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import type { IncomingDocument } from "../../backends/rag/read/prepare.ts";
import { mediaTypeOf } from "../../documents/media-type.ts";
import { CommandError } from "../command.ts";

/** Folders that hold no documents. */
const SKIPPED = new Set(["node_modules", ".git", ".hg", ".svn", "__pycache__", ".toolyard"]);

/**
 * Reads files as documents whose id is their path from the current folder; of folders, every file below whose ending is known.
 *
 * @throws CommandError for a path that is not there
 */
export async function* readFiles(paths: readonly string[]): AsyncGenerator<IncomingDocument> {
  for (const path of paths) {
    const absolute = resolve(path);
    const facts = await stat(absolute).catch(() => undefined);
    if (facts === undefined) throw new CommandError(`there is no file ${path}`);
    if (!facts.isDirectory()) yield await toDocument(absolute);
    else {
      const entries = await readdir(absolute, { recursive: true, withFileTypes: true });
      const files = entries
        .filter((entry) => entry.isFile() && mediaTypeOf(entry.name) !== undefined)
        .map((entry) => join(entry.parentPath, entry.name))
        .filter(
          (file) =>
            !relative(absolute, file)
              .split(/[\\/]/)
              .some((part) => SKIPPED.has(part)),
        )
        .toSorted();
      for (const file of files) yield await toDocument(file);
    }
  }
}

async function toDocument(file: string): Promise<IncomingDocument> {
  const name = relative(process.cwd(), file);
  const content = await readFile(file);
  return { id: name, content, name, mediaType: undefined, title: null, source: name, metadata: undefined };
}
