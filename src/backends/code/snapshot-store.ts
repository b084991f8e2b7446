import { createHash, randomBytes } from "node:crypto";
import { createWriteStream } from "node:fs";
import { access, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { ToolyardError } from "../../core/errors.ts";
import { SnapshotRecord } from "./snapshot-schemas.ts";

/** What a tenant may keep. */
export interface SnapshotQuota {
  readonly snapshots: number;
  readonly totalBytes: number;
}

/** The parts of a snapshot that is being written. */
export interface SnapshotWriter {
  /** Writes a part, named by its writer. @throws ToolyardError `limit_exceeded` when the tenant's room is used up. */
  write(part: string, content: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void>;
}

const ID = /^snap_[0-9a-f]{32}$/;
const RECORD = "snapshot.json";
/** Ends the names of folders that are no snapshots yet, or any more; those of another run were left by a server that was killed. */
const PARTIAL = `.partial-${randomBytes(8).toString("hex")}`;
const ANY_PARTIAL = /\.partial-[0-9a-f]+$/;

/**
 * Keeps snapshots as folders of files, each tenant's apart; one that was not finished is never seen.
 *
 * Without a folder that outlives the server they are kept in one that goes with it.
 */
export class SnapshotStore {
  readonly #quota: SnapshotQuota;
  readonly #dataDir: string | undefined;
  #root: Promise<string> | undefined;
  /** By tenant, while there are unfinished snapshots: how many, the bytes that they have taken so far, and those of finished ones. */
  readonly #writing = new Map<string, { snapshots: number; bytes: number; usedBytes: number }>();

  constructor(dataDir: string | undefined, quota: SnapshotQuota) {
    this.#dataDir = dataDir;
    this.#quota = quota;
  }

  /**
   * Makes a snapshot of what `fill` writes.
   *
   * @throws ToolyardError `limit_exceeded` when the tenant has too many, or too large ones.
   */
  async create(
    tenant: string,
    fill: (writer: SnapshotWriter) => Promise<Omit<SnapshotRecord, "id" | "size_bytes">>,
  ): Promise<SnapshotRecord> {
    const id = `snap_${randomBytes(16).toString("hex")}`;
    const folder = await this.#folderOf(tenant);
    const writing = this.#writing.get(tenant) ?? { snapshots: 0, bytes: 0, usedBytes: 0 };
    this.#writing.set(tenant, writing);
    writing.snapshots += 1;
    const partial = join(folder, id + PARTIAL);
    let sizeBytes = 0;
    try {
      const kept = await this.list(tenant);
      if (kept.length + writing.snapshots > this.#quota.snapshots) throw this.#tooMany();
      // What others finished meanwhile was added to it; the list may be older than that.
      const listedBytes = kept.reduce((total, { size_bytes: size }) => total + size, 0);
      writing.usedBytes = Math.max(writing.usedBytes, listedBytes);
      const count = (bytes: number) => {
        sizeBytes += bytes;
        writing.bytes += bytes;
        if (writing.usedBytes + writing.bytes > this.#quota.totalBytes) throw this.#tooLarge();
      };
      await mkdir(partial, { recursive: true, mode: 0o700 });
      const facts = await fill({
        write: (part, content, signal) =>
          pipeline(counted(content, count), createWriteStream(join(partial, part), { mode: 0o600 }), { signal }),
      });
      // The names of what is kept are the sandbox's to choose, and so is how long they are.
      for (const kernel of facts.kernels) count(Buffer.byteLength(JSON.stringify(kernel)));
      const record: SnapshotRecord = { id, size_bytes: sizeBytes, ...facts };
      await writeFile(join(partial, RECORD), JSON.stringify(record), { mode: 0o600 });
      await rename(partial, join(folder, id));
      writing.usedBytes += sizeBytes;
      return record;
    } finally {
      writing.snapshots -= 1;
      writing.bytes -= sizeBytes;
      if (writing.snapshots === 0) this.#writing.delete(tenant);
      await rm(partial, { recursive: true, force: true });
    }
  }

  /** Lists a tenant's snapshots, oldest first. */
  async list(tenant: string): Promise<SnapshotRecord[]> {
    const folder = await this.#folderOf(tenant);
    const names = await readdir(folder).catch(() => []);
    const records = await Promise.all(names.filter((name) => ID.test(name)).map((name) => this.#read(folder, name)));
    return records
      .filter((record) => record !== null)
      .toSorted((left, right) => (left.created_at < right.created_at ? -1 : 1));
  }

  /** @throws ToolyardError `unknown_name` for one that the tenant does not have, whoever else may have it. */
  async get(
    tenant: string,
    id: string,
  ): Promise<{ readonly record: SnapshotRecord; part(name: string): Promise<string | null> }> {
    const folder = await this.#folderOf(tenant);
    const record = ID.test(id) ? await this.#read(folder, id) : null;
    if (record === null) {
      throw new ToolyardError("unknown_name", `there is no snapshot "${id.slice(0, 64)}"`, {
        suggestion: "sandbox:snapshots lists those that there are.",
      });
    }
    return {
      record,
      part: async (name) => {
        const path = join(folder, id, name);
        return (await exists(path)) ? path : null;
      },
    };
  }

  /** Answers whether there was one. */
  async delete(tenant: string, id: string): Promise<boolean> {
    if (!ID.test(id)) return false;
    const folder = await this.#folderOf(tenant);
    const path = join(folder, id);
    if (!(await exists(path))) return false;
    // Out of sight first: half a snapshot must never be restored.
    const doomed = path + PARTIAL;
    await rename(path, doomed);
    await rm(doomed, { recursive: true, force: true });
    return true;
  }

  /** Removes what a server that was killed did not finish. */
  async tidy(): Promise<void> {
    if (this.#dataDir === undefined) return;
    const root = await this.#open();
    const tenants = await readdir(root).catch(() => []);
    await Promise.all(
      tenants.map(async (tenant) => {
        const names = await readdir(join(root, tenant)).catch(() => []);
        const left = names.filter((name) => ANY_PARTIAL.test(name) && !name.endsWith(PARTIAL));
        await Promise.all(left.map((name) => rm(join(root, tenant, name), { recursive: true, force: true })));
      }),
    );
  }

  /** Removes what is not to outlive the server. */
  async close(): Promise<void> {
    const root = this.#root;
    this.#root = undefined;
    if (root !== undefined && this.#dataDir === undefined) await rm(await root, { recursive: true, force: true });
  }

  #open(): Promise<string> {
    this.#root ??=
      this.#dataDir === undefined
        ? mkdtemp(join(tmpdir(), "toolyard-snapshots-"))
        : Promise.resolve(join(this.#dataDir, "snapshots"));
    return this.#root;
  }

  /** A tenant's name may hold anything, so the folder's is made of its digest. */
  async #folderOf(tenant: string): Promise<string> {
    return join(await this.#open(), createHash("sha256").update(tenant).digest("hex").slice(0, 32));
  }

  async #read(folder: string, id: string): Promise<SnapshotRecord | null> {
    try {
      return SnapshotRecord.parse(JSON.parse(await readFile(join(folder, id, RECORD), "utf8")));
    } catch {
      // Gone meanwhile, or not ours: it is no snapshot either way.
      return null;
    }
  }

  #tooMany(): ToolyardError {
    const max = this.#quota.snapshots;
    return new ToolyardError("limit_exceeded", `a tenant may keep ${max} snapshots`, {
      details: { limit: "snapshots", max },
      suggestion: "Delete one with sandbox:delete_snapshot.",
    });
  }

  #tooLarge(): ToolyardError {
    const max = this.#quota.totalBytes;
    return new ToolyardError("limit_exceeded", `a tenant's snapshots may take ${max} bytes together`, {
      details: { limit: "snapshot_bytes", max },
      suggestion: "Delete some with sandbox:delete_snapshot, or files of the session that are not needed.",
    });
  }
}

async function* counted(
  content: AsyncIterable<Uint8Array>,
  count: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of content) {
    count(chunk.length);
    yield chunk;
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
