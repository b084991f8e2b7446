import type { Database } from "./load-driver.ts";
import { toStoreError } from "./store-failure.ts";

interface Write {
  run(): unknown;
  resolve(result: unknown): void;
  reject(error: Error): void;
}

/**
 * Writes in turn, and commits together what came in one turn of the event loop: a transaction of its own for each small write
 * would cost several times the write. A write that fails takes no other with it, and leaves nothing behind.
 */
export class WriteQueue {
  readonly #database: Database;
  readonly #begin: () => void;
  readonly #commit: () => void;
  /** Called after every rollback: what was read or counted inside a transaction may be wrong. */
  readonly #onRollback = new Set<() => void>();
  #waiting: Write[] = [];
  #scheduled = false;

  constructor(database: Database) {
    this.#database = database;
    const begin = database.prepare("BEGIN IMMEDIATE");
    const commit = database.prepare("COMMIT");
    this.#begin = () => begin.run();
    this.#commit = () => commit.run();
  }

  onRollback(listener: () => void): void {
    this.#onRollback.add(listener);
  }

  /** Runs work inside a transaction, and resolves once that is committed. It may run twice, so it changes the database only. */
  write<T>(work: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      // `resolve` gets what this `run` returned, and nothing else.
      this.#waiting.push({ run: work, resolve: resolve as (result: unknown) => void, reject });
      if (this.#scheduled) return;
      this.#scheduled = true;
      setImmediate(() => this.flush());
    });
  }

  /**
   * Runs work in a transaction of its own, at once, before what waits.
   *
   * @throws StoreError when it could not be committed; nothing of it is left then.
   */
  writeNow<T>(work: () => T): T {
    try {
      this.#begin();
      const result = work();
      this.#commit();
      return result;
    } catch (cause) {
      this.#rollBack();
      throw toStoreError(cause, "The store could not write");
    }
  }

  /** Writes what waits, now. */
  flush(): void {
    this.#scheduled = false;
    const writes = this.#waiting;
    this.#waiting = [];
    if (writes.length === 0) return;
    if (this.#transact(writes) === null) return;
    // Something in it failed: alone, each shows whether it was the one.
    for (const write of writes) {
      const error = this.#transact([write]);
      if (error !== null) write.reject(toStoreError(error.cause, "The store could not write"));
    }
  }

  /** Returns what kept the writes from being committed. */
  #transact(writes: readonly Write[]): { readonly cause: unknown } | null {
    const results: unknown[] = [];
    try {
      this.#begin();
      for (const write of writes) results.push(write.run());
      this.#commit();
    } catch (cause) {
      this.#rollBack();
      return { cause };
    }
    for (const [index, write] of writes.entries()) write.resolve(results[index]);
    return null;
  }

  #rollBack(): void {
    try {
      // A full disk has rolled it back already.
      if (this.#database.inTransaction) this.#database.exec("ROLLBACK");
    } catch {
      // The next write finds its transaction open, cannot begin, and so rolls back again; this one's own failure says more.
    }
    for (const listener of this.#onRollback) listener();
  }
}
