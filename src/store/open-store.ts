import type { Store } from "../core/store.ts";
import { createMemoryStore } from "./memory/memory-store.ts";
import { openSqliteStore } from "./sqlite/sqlite-store.ts";

export type StoreDriver = "sqlite" | "memory";

/**
 * No run has more events than this in each millisecond of its time, so that the ids of a memory store's events are above all of the
 * runs before: a reader that comes with one of those is told that what followed it is gone.
 */
const MAX_EVENTS_PER_MS = 50;

/**
 * Opens the store that the config names; the memory store has no use for `dataDir`.
 * @throws StoreError `locked` when another server uses the folder, `newer`, `corrupt` or `unavailable` when it cannot be used.
 */
export async function openStore({
  driver,
  dataDir,
}: {
  readonly driver: StoreDriver;
  readonly dataDir: string;
}): Promise<Store> {
  if (driver === "sqlite") return openSqliteStore(dataDir);
  return createMemoryStore({ lastEventId: Date.now() * MAX_EVENTS_PER_MS });
}
