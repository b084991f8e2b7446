import { readdir, realpath, stat } from "node:fs/promises";
import { isAbsolute, join, relative, resolve, sep } from "node:path";
import { ToolyardError } from "../../core/errors.ts";
import { type DataFile, formatOf } from "./data-file.ts";

const MAX_DEPTH = 4;
const MAX_ENTRIES = 10_000;
const MAX_NAME = 1_024;

/** A folder to read from, without symbolic links. */
export interface SeedFolder {
  readonly path: string;
  /** The configured folder that it is or lies in. */
  readonly root: string;
}

/** The configured folders: nothing outside of them is read. */
export class SeedFolders {
  readonly #roots: readonly string[];

  constructor(folders: readonly string[]) {
    this.#roots = folders.map((folder) => resolve(folder));
  }

  /**
   * The folder that a caller names: absolute, or relative to a configured one; the configured one when there is only one.
   *
   * @throws ToolyardError `path_refused` for one outside, `path_not_found`.
   */
  async open(seedPath: string | undefined): Promise<SeedFolder> {
    const roots = (await Promise.all(this.#roots.map((root) => realpath(root).catch(() => null)))).filter(
      (root) => root !== null,
    );
    if (this.#roots.length === 0) {
      throw new ToolyardError("invalid_input", "the server's config names no folders of data", {
        suggestion: "Name them in the ds backend's `folders`, or read the session's own files with source: sandbox.",
      });
    }
    if (seedPath === undefined) {
      const [only] = roots;
      if (only !== undefined && roots.length === 1) return { path: only, root: only };
      throw new ToolyardError("missing_field", "seed_path must say which folder: the config names several");
    }
    checkName(seedPath);
    for (const root of roots) {
      // oxlint-disable-next-line no-await-in-loop
      const path = await realpath(isAbsolute(seedPath) ? seedPath : join(root, seedPath)).catch(() => null);
      if (path !== null && isWithin(path, root)) return { path, root };
    }
    // One answer for what is outside and what is not there: it tells nothing of the machine.
    throw new ToolyardError("path_refused", "seed_path is not a folder of data of this server", {
      suggestion: "Name a configured folder, or one inside of it.",
    });
  }

  /** Lists the files of data in a folder and in those below it, by name. */
  async list({ path: folder, root }: SeedFolder): Promise<DataFile[]> {
    const files: DataFile[] = [];
    const walk = async (inside: string, depth: number): Promise<void> => {
      const entries = await readdir(inside, { withFileTypes: true }).catch(() => []);
      for (const entry of entries.toSorted((left, right) => (left.name < right.name ? -1 : 1))) {
        if (entry.name.startsWith(".") || files.length >= MAX_ENTRIES) continue;
        const path = join(inside, entry.name);
        // oxlint-disable-next-line no-await-in-loop
        if (entry.isDirectory() && depth < MAX_DEPTH) await walk(path, depth + 1);
        if (formatOf(entry.name) === undefined) continue;
        // oxlint-disable-next-line no-await-in-loop
        const file = await judge(path, toName(path, folder), root).catch(() => null);
        if (file !== null) files.push(file);
      }
    };
    await walk(folder, 0);
    return files;
  }

  /**
   * Finds one file of a folder by its name in it.
   *
   * @throws ToolyardError `path_refused` for one outside of the folder, or that is no file of data; `path_not_found`.
   */
  async find({ path: folder }: SeedFolder, name: string): Promise<DataFile> {
    checkName(name);
    const wanted = resolve(folder, name);
    if (!isWithin(wanted, folder)) throw outside(name);
    return judge(wanted, toName(wanted, folder), folder);
  }
}

/** Looks at what a path leads to, symbolic links and all. */
async function judge(path: string, name: string, root: string): Promise<DataFile> {
  const format = formatOf(name);
  if (format === undefined) {
    throw new ToolyardError("path_refused", `${name} is none of CSV, TSV, Parquet, XLSX and JSON lines`);
  }
  let real: string;
  try {
    real = await realpath(path);
  } catch {
    throw new ToolyardError("path_not_found", `there is no file ${name}`, {
      suggestion: "ds:inspect_data lists the files that there are.",
    });
  }
  if (!isWithin(real, root)) throw outside(name);
  const facts = await stat(real);
  if (!facts.isFile()) throw new ToolyardError("path_refused", `${name} is no regular file`);
  return { name, path: real, root, format, sizeBytes: facts.size };
}

/** Whether a path is a folder or lies in it; `/a/seed2` does not lie in `/a/seed`. */
function isWithin(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

function toName(path: string, folder: string): string {
  return relative(folder, path).split(sep).join("/");
}

function checkName(name: string): void {
  if (name.length <= MAX_NAME && !name.includes("\0") && !name.includes("\\")) return;
  throw new ToolyardError("path_refused", "a path is of at most 1024 characters, without backslashes and NUL");
}

function outside(name: string): ToolyardError {
  return new ToolyardError("path_refused", `${name.slice(0, 200)} leads out of the folder`);
}
