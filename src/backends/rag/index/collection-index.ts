import { type Database, openDatabase } from "./database.ts";
import { chooseMerge, discardStaged, mergeSegments, purge, shrink } from "./maintenance.ts";
import type { PostingsCache } from "./postings-cache.ts";
import { IndexReader } from "./reader.ts";
import { DenseIndex } from "../dense/dense-index.ts";
import { SemanticIndex } from "../lsa/semantic-index.ts";
import { TimeSlice } from "../time-slice.ts";
import { IndexWriter } from "./writer.ts";
import { lockForWriting } from "./writer-lock.ts";

/** How often learning is put off for a writer before one waits for it. */
const MAX_PUT_OFF = 100;

/**
 * One collection's index in its file: readers see whole generations only, writers come one after another.
 *
 * What a generation leaves behind is cleared away after it was published, before the next writer's turn.
 */
export class CollectionIndex {
  readonly path: string;
  readonly reader: IndexReader;
  readonly semantic: SemanticIndex;
  readonly dense: DenseIndex;
  readonly #database: Database;
  #queue: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  /** Ends the learning that is under way, which the next writer starts again. */
  #learning: AbortController | undefined;
  #putOff = 0;
  #closed = false;

  private constructor(path: string, database: Database, cache: PostingsCache) {
    this.path = path;
    this.#database = database;
    this.reader = new IndexReader(database, cache);
    this.semantic = new SemanticIndex(database);
    this.dense = new DenseIndex(database);
  }

  static async open(path: string, cache: PostingsCache): Promise<CollectionIndex> {
    return new CollectionIndex(path, await openDatabase(path), cache);
  }

  /** Whether writers work or wait. */
  get busy(): boolean {
    return this.#waiting > 0;
  }

  /** The connection, for tables beside the inverted index. */
  get database(): Database {
    return this.#database;
  }

  /**
   * Writes a generation: all that `work` does is seen at once after it, or nothing when it throws.
   *
   * @throws ToolyardError `conflict` while another process writes
   */
  write<T>(work: (writer: IndexWriter, slice: TimeSlice) => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.#waiting += 1;
    if (this.#putOff < MAX_PUT_OFF) this.#learning?.abort();
    this.#queue = this.#queue
      .then(() => this.#write(work, resolve, reject))
      .catch(reject)
      .finally(() => (this.#waiting -= 1));
    return promise;
  }

  /** Resolves when no writer waits and nothing is left to clear away. */
  async settled(): Promise<void> {
    await this.#queue;
  }

  async close(): Promise<void> {
    this.#learning?.abort();
    await this.#queue;
    if (this.#closed) return;
    this.#closed = true;
    this.#database.close();
  }

  async #write<T>(
    work: (writer: IndexWriter, slice: TimeSlice) => Promise<T>,
    resolve: (value: T) => void,
    reject: (error: unknown) => void,
  ): Promise<void> {
    const unlock = await lockForWriting(this.path);
    try {
      const slice = new TimeSlice();
      const before = this.reader.generation;
      await discardStaged(this.#database, before, slice);
      const writer = new IndexWriter(this.#database, before + 1);
      try {
        const value = await work(writer, slice);
        if (writer.changed) await writer.publish(slice);
        resolve(value);
      } catch (error) {
        reject(error);
        await discardStaged(this.#database, before, slice);
      }
      await this.#tidy(slice);
    } finally {
      unlock();
    }
  }

  async #tidy(slice: TimeSlice): Promise<void> {
    await purge(this.#database, this.reader.generation, slice);
    for (;;) {
      const views = chooseMerge(this.reader.snapshot());
      if (views.length === 0) break;
      const next = this.reader.generation + 1;
      // Each merge starts from what the one before left.
      // oxlint-disable-next-line no-await-in-loop
      await mergeSegments(this.#database, views, next, slice);
      // oxlint-disable-next-line no-await-in-loop
      await purge(this.#database, next, slice);
    }
    await this.#learn();
    shrink(this.#database);
  }

  /** To learn takes minutes where there is much to learn from: a writer that comes meanwhile does not wait for it. */
  async #learn(): Promise<void> {
    const learning = new AbortController();
    this.#learning = learning;
    try {
      // Whoever writes next learns from more.
      if (this.#waiting > 1 && this.#putOff < MAX_PUT_OFF) learning.abort();
      await this.semantic.refresh(this.reader.snapshot().segments, new TimeSlice(learning.signal));
      this.#putOff = 0;
    } catch (error) {
      if (!learning.signal.aborted) throw error;
      this.#putOff += 1;
    } finally {
      this.#learning = undefined;
    }
  }
}
