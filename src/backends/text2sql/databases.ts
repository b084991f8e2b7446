import { readdir, stat } from "node:fs/promises";
import { extname, join, resolve } from "node:path";
import { ToolyardError } from "../../core/errors.ts";
import { nearNames } from "../../core/near-names.ts";
import type { DatabaseConfig, Text2SqlConfig } from "./config.ts";
import type { Target } from "./engines/reader.ts";

const ENGINES: Readonly<Record<string, "sqlite" | "duckdb">> = {
  ".sqlite": "sqlite",
  ".sqlite3": "sqlite",
  ".db": "sqlite",
  ".duckdb": "duckdb",
};

/** How to have databases served, for whoever finds none. */
export const NO_DATABASES =
  "The server serves no databases. Its config names them in `databases` and `folders` of the text2sql backend; with the default config, set TOOLYARD_DATABASES to a folder of .sqlite, .db and .duckdb files before it starts.";

/** What the configuration serves, by id. */
export class Databases {
  readonly #named: ReadonlyMap<string, Target>;
  readonly #folders: readonly string[];

  constructor({ databases, db_paths: paths, folders }: Text2SqlConfig) {
    this.#named = new Map(Object.entries({ ...paths, ...databases }).map(([id, entry]) => [id, toTarget(entry)]));
    this.#folders = folders.map((folder) => resolve(folder));
  }

  /** Every database by its id; those of the folders are looked for anew, so that a new one is served at once. */
  async list(): Promise<ReadonlyMap<string, Target>> {
    const found = await Promise.all(this.#folders.map(findIn));
    const all = new Map([...found.flat(), ...this.#named]);
    return new Map([...all].toSorted(([left], [right]) => (left < right ? -1 : 1)));
  }

  /** @throws ToolyardError `unknown_name`; `dependency_failed` when its file is gone. */
  async find(id: string): Promise<Target> {
    const target = this.#named.get(id) ?? (await this.list()).get(id);
    if (target === undefined) {
      const known = [...(await this.list()).keys()];
      const near = nearNames(id, known);
      const others = known.length === 0 ? NO_DATABASES : "text2sql:list_databases lists those that there are.";
      throw new ToolyardError("unknown_name", `there is no database "${id}"`, {
        suggestion: near.length > 0 ? `Did you mean ${near.join(", ")}?` : others,
      });
    }
    if (target.engine !== "postgres" && (await sizeOf(target)) === null) {
      throw new ToolyardError("dependency_failed", `the file of the database "${id}" is not there`);
    }
    return target;
  }
}

/** Bytes of a database's file; `null` for one on a server, and for one that is gone. */
export async function sizeOf(target: Target): Promise<number | null> {
  if (target.engine === "postgres") return null;
  const facts = await stat(target.path).catch(() => null);
  return facts?.isFile() === true ? facts.size : null;
}

function toTarget(entry: DatabaseConfig): Target {
  if (typeof entry === "string") {
    return /^postgres(ql)?:\/\//.test(entry)
      ? { engine: "postgres", url: entry, allowPrivilegedRole: false }
      : { engine: engineOf(entry), path: resolve(entry) };
  }
  if ("url" in entry) return { engine: "postgres", url: entry.url, allowPrivilegedRole: entry.allow_privileged_role };
  return { engine: entry.engine ?? engineOf(entry.path), path: resolve(entry.path) };
}

function engineOf(path: string): "sqlite" | "duckdb" {
  return ENGINES[extname(path).toLowerCase()] ?? "sqlite";
}

/** The databases of a folder: its files, and in each of its folders the file of the folder's own name. */
async function findIn(folder: string): Promise<(readonly [string, Target])[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const found = await Promise.all(
    entries.map(async (entry): Promise<readonly (readonly [string, Target])[]> => {
      const engine = ENGINES[extname(entry.name).toLowerCase()];
      if (!entry.isDirectory()) {
        const id = entry.name.slice(0, -extname(entry.name).length);
        return engine === undefined || id === "" ? [] : [[id, { engine, path: join(folder, entry.name) }]];
      }
      const inside = await readdir(join(folder, entry.name)).catch(() => []);
      return inside.flatMap((name) => {
        const its = ENGINES[extname(name).toLowerCase()];
        const isNamesake = name.slice(0, -extname(name).length) === entry.name;
        return its !== undefined && isNamesake
          ? [[entry.name, { engine: its, path: join(folder, entry.name, name) }] as const]
          : [];
      });
    }),
  );
  return found.flat();
}
