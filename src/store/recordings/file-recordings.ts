import { createHash, randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, open, readdir, rm, stat } from "node:fs/promises";
import path from "node:path";
import { z } from "zod";
import type { Clock } from "../../core/clock.ts";
import type { Logger } from "../../core/context.ts";
import type {
  RecordedTerminal,
  RecordingFacts,
  RecordingFile,
  TerminalRecordings,
} from "../../core/terminal-recordings.ts";
import { AppendedFile } from "./recording-file.ts";

export interface FileRecordingsOptions {
  /** Made when something is recorded. */
  readonly folder: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Of one tenant's recordings. */
  readonly maxBytes: number;
  readonly maxAgeMs: number;
}

const END = ".cast";
const ID = /^\d{13}-[0-9a-f]{16}$/;
/** Longer than any head of ours. */
const MAX_HEAD_BYTES = 16_384;

/** What our heads have beside those of others. */
const Head = z.object({
  toolyard: z.object({
    tenant: z.string(),
    worker_id: z.string(),
    session_id: z.string(),
    resource: z.string(),
    terminal_id: z.string(),
  }),
});

/** Recordings as files, a folder for each tenant; a file's name is the recording's id, and its first line says whose it is. */
export class FileRecordings implements TerminalRecordings {
  readonly #options: FileRecordingsOptions;
  readonly #open = new Map<string, AppendedFile>();

  constructor(options: FileRecordingsOptions) {
    this.#options = options;
  }

  open(of: RecordedTerminal, startedAt: Date): RecordingFile {
    const time = String(startedAt.getTime()).padStart(13, "0").slice(0, 13);
    const id = `${time}-${randomBytes(8).toString("hex")}`;
    const folder = this.#folderOf(of.tenant);
    const facts = { session_id: of.sessionId, terminal_id: of.terminalId };
    const file = new AppendedFile(
      path.join(folder, id + END),
      () => mkdir(folder, { recursive: true, mode: 0o700 }),
      (error) => this.#options.logger.warn({ err: error, ...facts }, "a terminal's recording is not kept"),
      () => this.#open.delete(id),
    );
    this.#open.set(id, file);
    // Once for each: what is there may have grown since.
    void this.#pruneFolder(folder);
    return file;
  }

  async list(tenant: string): Promise<readonly RecordingFacts[]> {
    // One that has just begun may not be there yet.
    await Promise.all([...this.#open.values()].map((file) => file.flush()));
    const ids = (await this.#idsIn(this.#folderOf(tenant))).toReversed();
    const found: RecordingFacts[] = [];
    for (const id of ids) {
      // oxlint-disable-next-line no-await-in-loop -- few are open at once
      const facts = await this.find(tenant, id);
      if (facts !== undefined) found.push(facts);
    }
    return found;
  }

  async find(tenant: string, id: string): Promise<RecordingFacts | undefined> {
    if (!ID.test(id)) return undefined;
    const file = this.#open.get(id);
    await file?.flush();
    const head = await readHead(this.#pathOf(tenant, id));
    // The folder's name is a digest: what is in it says whose it is.
    if (head === undefined || head.toolyard.tenant !== tenant) return undefined;
    const { worker_id: workerId, session_id: sessionId, resource, terminal_id: terminalId } = head.toolyard;
    const { sizeBytes } = head;
    const startedAt = new Date(Number(id.slice(0, 13)));
    return { id, tenant, workerId, sessionId, resource, terminalId, startedAt, sizeBytes, running: file !== undefined };
  }

  read({ tenant, id, sizeBytes }: RecordingFacts): AsyncIterable<Uint8Array> {
    return createReadStream(this.#pathOf(tenant, id), { end: Math.max(0, sizeBytes - 1) });
  }

  async remove(tenant: string, id: string): Promise<boolean> {
    if ((await this.find(tenant, id)) === undefined) return false;
    const file = this.#open.get(id);
    file?.end();
    await file?.ended;
    await rm(this.#pathOf(tenant, id), { force: true });
    return true;
  }

  async prune(): Promise<void> {
    const folders = await readdir(this.#options.folder).catch(() => []);
    // oxlint-disable-next-line no-await-in-loop -- there is no haste
    for (const name of folders) await this.#pruneFolder(path.join(this.#options.folder, name));
  }

  async close(): Promise<void> {
    const files = [...this.#open.values()];
    for (const file of files) file.end();
    await Promise.all(files.map(({ ended }) => ended));
  }

  async #pruneFolder(folder: string): Promise<void> {
    const { clock, logger, maxBytes, maxAgeMs } = this.#options;
    try {
      const oldest = clock.date().getTime() - maxAgeMs;
      let bytes = 0;
      for (const id of (await this.#idsIn(folder)).toReversed()) {
        const file = path.join(folder, id + END);
        // oxlint-disable-next-line no-await-in-loop -- there is no haste
        const size = await stat(file).then(
          (found) => found.size,
          () => 0,
        );
        bytes += size;
        if (this.#open.has(id) || (bytes <= maxBytes && Number(id.slice(0, 13)) >= oldest)) continue;
        bytes -= size;
        // oxlint-disable-next-line no-await-in-loop
        await rm(file, { force: true });
      }
    } catch (error) {
      logger.warn({ err: error }, "old recordings of terminals could not be removed");
    }
  }

  /** Oldest first. */
  async #idsIn(folder: string): Promise<readonly string[]> {
    const names = await readdir(folder).catch(() => []);
    return names
      .flatMap((name) => (name.endsWith(END) ? [name.slice(0, -END.length)] : []))
      .filter((id) => ID.test(id))
      .toSorted();
  }

  #pathOf(tenant: string, id: string): string {
    return path.join(this.#folderOf(tenant), id + END);
  }

  /** A tenant's name may have any characters; a folder's may not. */
  #folderOf(tenant: string): string {
    return path.join(this.#options.folder, createHash("sha256").update(tenant).digest("hex").slice(0, 32));
  }
}

async function readHead(file: string): Promise<(z.infer<typeof Head> & { readonly sizeBytes: number }) | undefined> {
  try {
    const handle = await open(file);
    try {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(MAX_HEAD_BYTES), 0, MAX_HEAD_BYTES, 0);
      const text = buffer.subarray(0, bytesRead).toString("utf8");
      const head = Head.safeParse(JSON.parse(text.slice(0, text.indexOf("\n")))).data;
      return head === undefined ? undefined : { ...head, sizeBytes: (await handle.stat()).size };
    } finally {
      await handle.close();
    }
  } catch {
    // It is gone, or never was one.
    return undefined;
  }
}
