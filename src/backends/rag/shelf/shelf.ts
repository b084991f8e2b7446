import { createHash } from "node:crypto";
import { mkdtemp, readdir, rm, stat, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CollectionIndex } from "../index/collection-index.ts";
import { PostingsCache } from "../index/postings-cache.ts";

/** Whose collections are meant. */
export interface Owner {
  readonly tenant: string;
  readonly workerId: string;
}

const SUFFIX = ".sqlite";
/** Ends the names of files beside a database's own. */
const COMPANIONS = ["", "-wal", "-shm", "-writer", "-writer-journal"] as const;
const MAX_OPEN = 256;

interface OpenIndex {
  readonly index: Promise<CollectionIndex>;
  users: number;
  /** Called when nobody uses it any more. */
  onIdle?: () => void;
  /** Ends when its file is gone; who comes meanwhile waits for that. */
  removal?: Promise<void>;
}

/**
 * Has the files of all collections: the shared ones, and each worker's own, which lie over the shared ones of the same name.
 *
 * Without a folder that outlives the server they are kept in one that goes with it.
 */
export class Shelf {
  readonly #dataDir: string | undefined;
  readonly #cache: PostingsCache;
  readonly #open = new Map<string, OpenIndex>();
  #root: Promise<string> | undefined;

  constructor(dataDir: string | undefined, cacheBytes: number) {
    this.#dataDir = dataDir;
    this.#cache = new PostingsCache(cacheBytes);
  }

  get cacheBytes(): number {
    return this.#cache.bytes;
  }

  get openIndexes(): number {
    return this.#open.size;
  }

  /** The file of a shared collection. */
  async sharedPath(name: string): Promise<string> {
    return join(await this.#folder(), "shared", name + SUFFIX);
  }

  /** The file of a worker's own collection. */
  async ownPath(owner: Owner, name: string): Promise<string> {
    return join(await this.#ownFolder(owner), name + SUFFIX);
  }

  async listShared(): Promise<string[]> {
    return listCollections(join(await this.#folder(), "shared"));
  }

  async listOwn(owner: Owner): Promise<string[]> {
    return listCollections(await this.#ownFolder(owner));
  }

  /** Works with a collection that is there; `undefined` when it is not. */
  async use<T>(path: string, work: (index: CollectionIndex) => T | Promise<T>): Promise<T | undefined> {
    const there = await exists(path);
    return there ? this.make(path, work) : undefined;
  }

  /** Works with a collection, made when it is not there; it stays open meanwhile. */
  async make<T>(path: string, work: (index: CollectionIndex) => T | Promise<T>): Promise<T> {
    let entry = this.#open.get(path);
    while (entry?.removal !== undefined) {
      // Another removal may have begun meanwhile.
      // oxlint-disable-next-line no-await-in-loop
      await entry.removal;
      entry = this.#open.get(path);
    }
    if (entry === undefined) {
      entry = { index: CollectionIndex.open(path, this.#cache), users: 0 };
      entry.index.catch(() => this.#open.delete(path));
    }
    // Those used last are last.
    this.#open.delete(path);
    this.#open.set(path, entry);
    entry.users += 1;
    try {
      return await work(await entry.index);
    } finally {
      entry.users -= 1;
      if (entry.users === 0) entry.onIdle?.();
      await this.#closeOldest();
    }
  }

  /** Removes a collection and its file, after the calls that use it; whether there was one. */
  async remove(path: string): Promise<boolean> {
    const entry = this.#open.get(path);
    if (entry?.removal !== undefined) return entry.removal.then(() => false);
    const there = await exists(path);
    if (entry === undefined) await removeFiles(path);
    else {
      entry.removal = this.#closeAndRemove(path, entry).finally(() => this.#open.delete(path));
      await entry.removal;
    }
    return there;
  }

  /** Notes that a worker's collections were used, for {@link tidy}. */
  async touch(owner: Owner): Promise<void> {
    const now = new Date();
    await utimes(await this.#ownFolder(owner), now, now).catch(() => undefined);
  }

  /** Removes what workers have not used for so long; answers how many of them that were. */
  async tidy(unusedMs: number, now: number): Promise<number> {
    const workers = join(await this.#folder(), "workers");
    let removed = 0;
    for (const name of await readdir(workers).catch(() => [])) {
      const folder = join(workers, name);
      // oxlint-disable-next-line no-await-in-loop
      const used = (await stat(folder).catch(() => undefined))?.mtimeMs ?? now;
      const open = [...this.#open.keys()].some((path) => path.startsWith(folder));
      if (open || now - used < unusedMs) continue;
      // oxlint-disable-next-line no-await-in-loop
      await rm(folder, { recursive: true, force: true });
      removed += 1;
    }
    return removed;
  }

  /** Closes every file, after what is being written; removes what is not to outlive the server. */
  async close(): Promise<void> {
    const entries = [...this.#open.values()];
    this.#open.clear();
    await Promise.all(entries.map(async ({ index }) => (await index.catch(() => undefined))?.close()));
    const root = this.#root;
    this.#root = undefined;
    if (root !== undefined && this.#dataDir === undefined) await rm(await root, { recursive: true, force: true });
  }

  async #closeAndRemove(path: string, entry: OpenIndex): Promise<void> {
    if (entry.users > 0) await new Promise<void>((resolve) => (entry.onIdle = resolve));
    await (await entry.index.catch(() => undefined))?.close();
    await removeFiles(path);
  }

  async #closeOldest(): Promise<void> {
    if (this.#open.size <= MAX_OPEN) return;
    for (const [path, entry] of this.#open) {
      if (entry.users > 0 || entry.removal !== undefined) continue;
      // oxlint-disable-next-line no-await-in-loop
      const index = await entry.index;
      if (entry.users > 0 || index.busy) continue;
      this.#open.delete(path);
      // oxlint-disable-next-line no-await-in-loop
      await index.close();
      if (this.#open.size <= MAX_OPEN) return;
    }
  }

  #folder(): Promise<string> {
    this.#root ??=
      this.#dataDir === undefined
        ? mkdtemp(join(tmpdir(), "toolyard-rag-"))
        : Promise.resolve(join(this.#dataDir, "rag"));
    return this.#root;
  }

  /** Names may hold anything, so the folder's is made of their digest. */
  async #ownFolder({ tenant, workerId }: Owner): Promise<string> {
    const digest = createHash("sha256")
      .update(JSON.stringify([tenant, workerId]))
      .digest("hex")
      .slice(0, 32);
    return join(await this.#folder(), "workers", digest);
  }
}

async function removeFiles(path: string): Promise<void> {
  await Promise.all(COMPANIONS.map((companion) => rm(path + companion, { force: true })));
}

async function listCollections(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => []);
  return names
    .filter((name) => name.endsWith(SUFFIX))
    .map((name) => name.slice(0, -SUFFIX.length))
    .toSorted();
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
