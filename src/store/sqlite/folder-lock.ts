import { join } from "node:path";
import { StoreError } from "../../core/store.ts";
import type { DatabaseConstructor } from "./load-driver.ts";

/**
 * Takes a data folder for this process, and returns what gives it back.
 * The lock is an open transaction on a database of its own: the operating system drops it with the process, however that ends,
 * so a killed server leaves nothing to clean up. It does not hold across machines on a network file system.
 * @throws StoreError `locked` when another server has it.
 */
export function lockFolder(Database: DatabaseConstructor, dataDir: string): () => void {
  const database = new Database(join(dataDir, "toolyard.lock"), { timeout: 0 });
  try {
    database.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    database.close();
    throw new StoreError(
      "locked",
      `Another Toolyard server uses the data folder ${dataDir}: stop it, or name another folder with --data.`,
      { cause: error },
    );
  }
  return () => database.close();
}
