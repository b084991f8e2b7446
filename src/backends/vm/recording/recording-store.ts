import { createHash, randomBytes } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Clock } from "../../../core/clock.ts";
import { ToolyardError } from "../../../core/errors.ts";
import { type RecordingConfig, RecordingRecord } from "./recording-schemas.ts";

const ID = /^rec_[0-9a-f]{32}$/;
const RECORD = "recording.json";
const MIB = 1024 * 1024;
const HOUR_MS = 3_600_000;

/** A file of a recording. */
export interface RecordedFile {
  readonly name: string;
  readonly path: string;
  readonly sizeBytes: number;
}

/**
 * Keeps recordings as folders of files, each tenant's apart.
 *
 * Without a folder that outlives the server they are kept in one that goes with it.
 */
export class RecordingStore {
  readonly #config: RecordingConfig;
  readonly #dataDir: string | undefined;
  readonly #clock: Clock;
  /** Those that this very process records. */
  readonly #live = new Map<string, RecordingRecord>();
  #root: Promise<string> | undefined;

  constructor(dataDir: string | undefined, config: RecordingConfig, clock: Clock) {
    this.#dataDir = dataDir;
    this.#config = config;
    this.#clock = clock;
  }

  /**
   * Begins a recording; answers its record, its folder and how many bytes it may have.
   *
   * @throws ToolyardError `limit_exceeded` when the tenant has too many, or too large ones.
   */
  async begin(
    tenant: string,
    facts: Pick<RecordingRecord, "kind" | "label" | "session_id" | "worker_id">,
  ): Promise<{ readonly record: RecordingRecord; readonly folder: string; readonly maxBytes: number }> {
    await this.prune(tenant);
    const kept = await this.list(tenant);
    const { max_count: maxCount, max_total_mib: maxTotal, max_mib: max } = this.#config;
    if (kept.length >= maxCount) throw full("recordings", maxCount, `a tenant may keep ${maxCount} recordings`);
    const left = maxTotal * MIB - kept.reduce((sum, { size_bytes: size }) => sum + size, 0);
    if (left < MIB) throw full("recordings_mib", maxTotal, `a tenant's recordings may take ${maxTotal} MiB together`);
    const record: RecordingRecord = {
      id: `rec_${randomBytes(16).toString("hex")}`,
      ...facts,
      status: "recording",
      started_at: this.#clock.date().toISOString(),
      ended_at: null,
      duration_ms: null,
      size_bytes: 0,
      reason: null,
      error: null,
    };
    const folder = join(await this.#folderOf(tenant), record.id);
    await mkdir(join(folder, "screens"), { recursive: true, mode: 0o700 });
    this.#live.set(record.id, record);
    await this.#write(folder, record);
    return { record, folder, maxBytes: Math.min(left, max * MIB) };
  }

  /** Tells how large one that runs is by now. */
  grew(id: string, sizeBytes: number): void {
    const record = this.#live.get(id);
    if (record !== undefined) this.#live.set(id, { ...record, size_bytes: sizeBytes });
  }

  /** Ends a recording that {@link begin} began. */
  async end(
    tenant: string,
    id: string,
    facts: Pick<RecordingRecord, "status" | "duration_ms" | "reason" | "error">,
  ): Promise<RecordingRecord> {
    const folder = join(await this.#folderOf(tenant), id);
    const live = this.#live.get(id) ?? (await this.#read(folder, id));
    if (live === null) throw unknown(id);
    const files = await listFiles(folder);
    const size = files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    const record = { ...live, ...facts, size_bytes: size, ended_at: this.#clock.date().toISOString() };
    await this.#write(folder, record);
    this.#live.delete(id);
    return record;
  }

  /** Lists a tenant's recordings, oldest first. */
  async list(tenant: string): Promise<RecordingRecord[]> {
    const folder = await this.#folderOf(tenant);
    const names = (await readdir(folder).catch(() => [])).filter((name) => ID.test(name));
    const records = await Promise.all(names.map((name) => this.#read(join(folder, name), name)));
    return records
      .filter((record) => record !== null)
      .toSorted((left, right) => (left.started_at < right.started_at ? -1 : 1));
  }

  /** @throws ToolyardError `unknown_name` for one that the tenant does not have, whoever else may have it. */
  async get(tenant: string, id: string): Promise<{ record: RecordingRecord; files: readonly RecordedFile[] }> {
    const folder = join(await this.#folderOf(tenant), ID.test(id) ? id : "none");
    const record = ID.test(id) ? await this.#read(folder, id) : null;
    if (record === null) throw unknown(id);
    return { record, files: await listFiles(folder) };
  }

  /** Answers whether there was one. @throws ToolyardError `conflict` while it runs. */
  async delete(tenant: string, id: string): Promise<boolean> {
    if (!ID.test(id)) return false;
    if (this.#live.has(id))
      throw new ToolyardError("conflict", "the recording still runs", { suggestion: "Stop it first." });
    const folder = join(await this.#folderOf(tenant), id);
    const there = (await this.#read(folder, id)) !== null;
    await rm(folder, { recursive: true, force: true });
    return there;
  }

  /** Removes what is older than recordings are kept, of one tenant or of all. */
  async prune(tenant?: string): Promise<void> {
    const root = await this.#open();
    const folders = tenant === undefined ? await readdir(root).catch(() => []) : [digest(tenant)];
    const oldest = this.#clock.date().getTime() - this.#config.keep_hours * HOUR_MS;
    for (const folder of folders) {
      // oxlint-disable-next-line no-await-in-loop -- at start-up, in nobody's way
      for (const name of await readdir(join(root, folder)).catch(() => [])) {
        if (!ID.test(name) || this.#live.has(name)) continue;
        // oxlint-disable-next-line no-await-in-loop -- as above
        const record = await this.#read(join(root, folder, name), name);
        const isOld = record !== null && Date.parse(record.ended_at ?? record.started_at) < oldest;
        // oxlint-disable-next-line no-await-in-loop -- as above
        if (isOld) await rm(join(root, folder, name), { recursive: true, force: true });
      }
    }
  }

  /** Removes what is not to outlive the server. */
  async close(): Promise<void> {
    const root = this.#root;
    this.#root = undefined;
    if (root !== undefined && this.#dataDir === undefined) await rm(await root, { recursive: true, force: true });
  }

  async #read(folder: string, id: string): Promise<RecordingRecord | null> {
    const live = this.#live.get(id);
    if (live !== undefined) return live;
    try {
      const record = RecordingRecord.parse(JSON.parse(await readFile(join(folder, RECORD), "utf8")));
      // A server that ended in it could not say so.
      return record.status === "recording" ? { ...record, status: "failed", reason: "server_ended" } : record;
    } catch {
      // Gone meanwhile, or not ours: it is no recording either way.
      return null;
    }
  }

  async #write(folder: string, record: RecordingRecord): Promise<void> {
    const path = join(folder, RECORD);
    await writeFile(`${path}.new`, JSON.stringify(record), { mode: 0o600 });
    await rename(`${path}.new`, path);
  }

  #open(): Promise<string> {
    this.#root ??=
      this.#dataDir === undefined
        ? mkdtemp(join(tmpdir(), "toolyard-recordings-"))
        : Promise.resolve(join(this.#dataDir, "recordings"));
    return this.#root;
  }

  async #folderOf(tenant: string): Promise<string> {
    return join(await this.#open(), digest(tenant));
  }
}

/** A tenant's name may hold anything, so the folder's is made of its digest. */
function digest(tenant: string): string {
  return createHash("sha256").update(tenant).digest("hex").slice(0, 32);
}

async function listFiles(folder: string): Promise<RecordedFile[]> {
  const names = await readdir(folder, { recursive: true }).catch(() => []);
  const files = await Promise.all(
    names
      .filter((name) => !name.startsWith(RECORD))
      .map(async (name) => {
        const path = join(folder, name);
        const facts = await stat(path).catch(() => undefined);
        return facts?.isFile() === true ? [{ name, path, sizeBytes: facts.size }] : [];
      }),
  );
  return files.flat().toSorted((left, right) => (left.name < right.name ? -1 : 1));
}

function full(limit: string, max: number, message: string): ToolyardError {
  return new ToolyardError("limit_exceeded", message, {
    details: { limit, max },
    suggestion: "Delete some with vm:recording_delete.",
  });
}

function unknown(id: string): ToolyardError {
  return new ToolyardError("unknown_name", `there is no recording "${id.slice(0, 64)}"`, {
    suggestion: "vm:recording_list lists those that there are.",
  });
}
