import { StoreError } from "../../core/store.ts";
import type { Database } from "./load-driver.ts";
import { records } from "./migrations/001-records.ts";
import { eventLog } from "./migrations/002-event-log.ts";

/** The steps from an empty file to today's, in order; `user_version` counts those that were taken. A released one never changes. */
export const MIGRATIONS: readonly string[] = [records, eventLog];

/**
 * Brings a database up to date, each step in a transaction of its own.
 * @throws StoreError `newer` when it has taken steps that are not known here; it is left as it is.
 */
export function migrate(database: Database, migrations: readonly string[] = MIGRATIONS): void {
  const version = Number(database.pragma("user_version", { simple: true }));
  if (version > migrations.length) {
    throw new StoreError(
      "newer",
      `The database ${database.name} has version ${version} and this Toolyard knows ${migrations.length}: ` +
        `a newer Toolyard wrote it. Use that one, or another data folder.`,
    );
  }
  for (const [index, step] of migrations.entries()) {
    if (index < version) continue;
    const take = database.transaction(() => {
      database.exec(step);
      database.pragma(`user_version = ${index + 1}`);
    });
    take.immediate();
  }
}
