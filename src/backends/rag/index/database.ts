import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import type Driver from "better-sqlite3";
import { ToolyardError } from "../../../core/errors.ts";
import { MIGRATIONS } from "./migrations.ts";

export type Database = Driver.Database;

/** Milliseconds to wait while another process writes. */
const BUSY_MS = 10_000;

/**
 * Opens the file of an index, made and brought up to date where that is needed.
 *
 * @throws ToolyardError `dependency_failed` without better-sqlite3, or when a newer Toolyard wrote the file
 */
export async function openDatabase(path: string): Promise<Database> {
  const database = await connect(path);
  try {
    // Must be said before the first table; pages of what is deleted go back to the file system then.
    database.pragma("auto_vacuum = INCREMENTAL");
    database.pragma("journal_mode = WAL");
    // A crash of the machine may cost the last generation, never the file.
    database.pragma("synchronous = NORMAL");
    database.pragma("cache_size = -16384");
    migrate(database);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Opens a file of the driver's with nothing in it. */
export async function connect(path: string): Promise<Database> {
  let constructor: typeof Driver;
  try {
    ({ default: constructor } = await import("better-sqlite3"));
  } catch (error) {
    throw new ToolyardError("dependency_failed", "The package better-sqlite3 cannot be loaded", {
      suggestion: "Install it again with `npm install better-sqlite3`.",
      cause: error,
    });
  }
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  return new constructor(path, { timeout: BUSY_MS });
}

function migrate(database: Database): void {
  const step = database.transaction(() => {
    const version = Number(database.pragma("user_version", { simple: true }));
    if (version > MIGRATIONS.length) {
      throw new ToolyardError(
        "dependency_failed",
        `The index ${database.name} has version ${version} and this Toolyard knows ${MIGRATIONS.length}`,
        { suggestion: "Use the newer Toolyard that wrote it, or index again into another data folder." },
      );
    }
    for (const migration of MIGRATIONS.slice(version)) database.exec(migration);
    database.pragma(`user_version = ${MIGRATIONS.length}`);
  });
  step.immediate();
}
