import { chmodSync, closeSync, existsSync, mkdirSync, openSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { type Store, StoreError } from "../../core/store.ts";
import { OpenGate } from "../open-gate.ts";
import { EventFiles } from "./event-files.ts";
import { lockFolder } from "./folder-lock.ts";
import { type Database, type DatabaseConstructor, loadDriver } from "./load-driver.ts";
import { migrate } from "./migrate.ts";
import { makeShrinkable, Shrinker } from "./shrinker.ts";
import { SqliteAudit } from "./sqlite-audit.ts";
import { SqliteEvents } from "./sqlite-events.ts";
import { SqliteIdempotency } from "./sqlite-idempotency.ts";
import { SqliteJobs } from "./sqlite-jobs.ts";
import { SqliteKeys } from "./sqlite-keys.ts";
import { SqliteSessions } from "./sqlite-sessions.ts";
import { toStoreError } from "./store-failure.ts";
import { WriteQueue } from "./write-queue.ts";

/**
 * Keeps the state in `toolyard.db` of a data folder, and the events in files of its folder `events`, which only its owner may read, for one server at a time.
 * What has resolved survives the end of the process, also by `kill -9`. A power cut or a crash of the operating system may take the
 * last moments with it, since commits do not wait for the disk; it leaves the file whole, and never a part of a write. A file system
 * without working locks (NFS) is not for it. Dropped answers and jobs give their room back, but for some megabytes or a third of the file; dropped events take their files along.
 * @throws StoreError `locked`, `newer`, `corrupt` or `unavailable`.
 */
export async function openSqliteStore(dataDir: string): Promise<Store> {
  const Database = await loadDriver();
  try {
    // An existing folder keeps its mode: it may be shared on purpose, and the files in it are private either way.
    makeFolders(dataDir);
    for (const file of ["toolyard.lock", "toolyard.db"]) makePrivate(join(dataDir, file));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new StoreError("unavailable", `The data folder ${dataDir} cannot be used: ${reason}`, { cause: error });
  }
  const unlock = lockFolder(Database, dataDir);
  let database: Database | null = null;
  try {
    database = openDatabase(Database, join(dataDir, "toolyard.db"));
    return createStore(database, new EventFiles(join(dataDir, "events")), unlock);
  } catch (error) {
    database?.close();
    unlock();
    throw toStoreError(error, `The database in ${dataDir} cannot be opened`);
  }
}

/** Makes what is missing of a path one folder at a time: Node's recursive `mkdir` never returns where the system makes none, as in /proc. */
function makeFolders(path: string): void {
  const missing: string[] = [];
  for (let folder = resolve(path); !existsSync(folder); folder = dirname(folder)) missing.unshift(folder);
  for (const folder of missing) {
    try {
      mkdirSync(folder, { mode: 0o700 });
    } catch (error) {
      // Another server may have made it meanwhile.
      if (!existsSync(folder)) throw error;
    }
  }
}

function makePrivate(file: string): void {
  if (!existsSync(file)) closeSync(openSync(file, "a", 0o600));
  chmodSync(file, 0o600);
}

function openDatabase(Constructor: DatabaseConstructor, file: string): Database {
  const database = new Constructor(file, { timeout: 5_000 });
  try {
    makeShrinkable(database);
    database.pragma("journal_mode = WAL");
    database.pragma("synchronous = NORMAL");
    database.pragma("foreign_keys = ON");
    database.pragma("trusted_schema = OFF");
    database.pragma("journal_size_limit = 67108864");
    migrate(database);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

function createStore(database: Database, files: EventFiles, unlock: () => void): Store {
  const gate = new OpenGate();
  const queue = new WriteQueue(database);
  const shrinker = new Shrinker(gate, database);
  return {
    name: "sqlite",
    durable: true,
    events: new SqliteEvents(gate, queue, database, files),
    idempotency: new SqliteIdempotency(gate, queue, database, shrinker),
    jobs: new SqliteJobs(gate, queue, database, shrinker),
    sessions: new SqliteSessions(gate, queue, database),
    keys: new SqliteKeys(gate, queue, database),
    audit: new SqliteAudit(gate, queue, database),
    async close() {
      if (!gate.shut()) return;
      queue.flush();
      files.close();
      database.close();
      unlock();
    },
  };
}
