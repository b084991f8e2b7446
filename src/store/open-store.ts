import type { Store } from "../core/store.ts";
import { createMemoryStore } from "./memory/memory-store.ts";
import { openSqliteStore } from "./sqlite/sqlite-store.ts";

export type StoreDriver = "sqlite" | "memory";

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
  return driver === "memory" ? createMemoryStore() : await openSqliteStore(dataDir);
}
