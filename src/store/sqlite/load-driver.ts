import type Driver from "better-sqlite3";
import { StoreError } from "../../core/store.ts";

/** A database as the driver gives it. */
export type Database = Driver.Database;

/** How a database is opened. */
export type DatabaseConstructor = typeof Driver;

const OLDEST_NODE = 22;

/**
 * Loads better-sqlite3, which is native code: on a Node that is too old it would take the process down, so that is asked first.
 * @throws StoreError `unavailable`, naming the package and what it needs.
 */
export async function loadDriver(nodeVersion = process.versions.node): Promise<DatabaseConstructor> {
  if (Number.parseInt(nodeVersion, 10) < OLDEST_NODE) {
    throw new StoreError(
      "unavailable",
      `The sqlite store needs Node ${OLDEST_NODE} or newer for better-sqlite3, and this is ${nodeVersion}. ` +
        `Use a newer Node, or the memory store.`,
    );
  }
  try {
    const { default: constructor } = await import("better-sqlite3");
    // The binary is loaded by the first database, so a missing one shows here.
    new constructor(":memory:").close();
    return constructor;
  } catch (error) {
    throw new StoreError(
      "unavailable",
      `The package better-sqlite3 cannot be loaded on Node ${nodeVersion}, ${process.platform} ${process.arch}: ` +
        `install it again with \`npm install better-sqlite3\`, or use the memory store.`,
      { cause: error },
    );
  }
}
