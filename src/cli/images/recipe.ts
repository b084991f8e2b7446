import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join, sep } from "node:path";
import { fileURLToPath } from "node:url";

/** The package's own images, whose folder lies beside src and dist alike. */
export const IMAGES_FOLDER = fileURLToPath(new URL("../../../images/", import.meta.url));

/** What an image is built from. */
export interface ImageRecipe {
  /** Of its folder: `code-slim` makes `toolyard/code-slim`. */
  readonly name: string;
  readonly folder: string;
  /** Relative to the folder. */
  readonly files: readonly string[];
  /** Identifies the content of the files and the further packages: equal versions are built from the same. */
  version(packages: readonly string[]): string;
}

/** The repository that an image of ours is tagged in. */
export function repositoryOf(name: string): string {
  return `toolyard/${name}`;
}

/** Reads every folder that has a Dockerfile, in the order of their names. */
export async function readRecipes(folder = IMAGES_FOLDER): Promise<readonly ImageRecipe[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory() && existsSync(join(folder, entry.name, "Dockerfile")));
  return Promise.all(
    names
      .map((entry) => entry.name)
      .toSorted()
      .map((name) => readRecipe(name, join(folder, name))),
  );
}

async function readRecipe(name: string, folder: string): Promise<ImageRecipe> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .toSorted();
  const contents = await Promise.all(files.map((file) => readFile(join(folder, file))));
  return {
    name,
    folder,
    files,
    version: (packages) => hashOf([...files.map((file) => file.split(sep).join("/")), ...packages], contents),
  };
}

/** Lengths go before the parts, so that no two lists of parts look alike. */
function hashOf(names: readonly string[], contents: readonly Buffer[]): string {
  const hash = createHash("sha256");
  for (const part of [...names.map((name) => Buffer.from(name)), ...contents]) {
    hash.update(`${part.length}:`).update(part);
  }
  return hash.digest("hex").slice(0, 12);
}
