import type { OpenGate } from "../open-gate.ts";
import type { Database } from "./load-driver.ts";

/**
 * What is left free for the next writes: so many pages of 4 KiB, or this part of the file. A full store forgets a quarter of what it
 * keeps, again and again, and would take the same room anew each time.
 */
const KEPT_PAGES = 1_024;
const KEPT_PART = 1 / 3;
/** How much goes back to the file system at once: a page takes 20 µs. */
const PART_PAGES = 128;
/** A file of a version that never gave room back is rewritten once if that takes no more than a moment, in bytes. */
const QUICK_BYTES = 256 * 1_048_576;

/** Lets a database give the room of what it forgets back; to be called before its tables are made. */
export function makeShrinkable(database: Database): void {
  if (database.pragma("auto_vacuum", { simple: true }) === 2) return;
  database.pragma("auto_vacuum = INCREMENTAL");
  const pages = Number(database.pragma("page_count", { simple: true }));
  const pageBytes = Number(database.pragma("page_size", { simple: true }));
  // The file of an empty database takes it as it is.
  if (pages > 0 && pages * pageBytes <= QUICK_BYTES) database.exec("VACUUM");
}

/** Gives the room of what was forgotten back to the file system, part by part. */
export class Shrinker {
  readonly #gate: OpenGate;
  readonly #database: Database;

  constructor(gate: OpenGate, database: Database) {
    this.#gate = gate;
    this.#database = database;
  }

  /** Stops where the store is closed; what cannot be given back now is the next time. */
  async shrink(): Promise<void> {
    if (this.#count("auto_vacuum") !== 2) return;
    while (this.#gate.isOpen && this.#count("freelist_count") > this.#keptPages()) {
      try {
        this.#database.pragma(`incremental_vacuum(${PART_PAGES})`);
      } catch {
        // A full disk, of all things: what was pruned is pruned.
        return;
      }
      // oxlint-disable-next-line no-await-in-loop -- others go on between two parts
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  #keptPages(): number {
    return Math.max(KEPT_PAGES, this.#count("page_count") * KEPT_PART);
  }

  #count(what: "auto_vacuum" | "freelist_count" | "page_count"): number {
    return Number(this.#database.pragma(what, { simple: true }));
  }
}
