import { randomUUID } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ArchiveFormat } from "../core/sandbox-files.ts";
import type { Envelope } from "../core/protocol.ts";
import { expectData, expectEnvelope } from "./expect-answer.ts";
import { transfer, type UploadContent } from "./transfer.ts";
import { LIFECYCLE_TIMEOUT_MS } from "./timeouts.ts";
import type { Transport } from "./transport.ts";

/** How to upload. */
export interface UploadOptions {
  /** Permission bits, as in `0o644`. @default the server's */
  readonly mode?: number | undefined;
  /** Refuses with `path_exists` to replace what is there. @default false */
  readonly exclusive?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** How to download. */
export interface DownloadOptions {
  /** The first byte, counted from 0. @default 0 */
  readonly start?: number | undefined;
  /** How many bytes, fewer at the file's end. @default all */
  readonly length?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What an upload came to. */
export interface Uploaded {
  readonly path: string;
  readonly size_bytes: number;
  /** Whether there was nothing before. */
  readonly created: boolean;
}

/** What an archive came to. */
export interface Unpacked {
  readonly path: string;
  readonly entries: number;
  readonly total_bytes: number;
}

/** A session, and the way to its server. */
export interface SessionPlace {
  readonly transport: Transport;
  readonly sessionId: string;
}

/** Finds the session that is meant; asked for each request. */
export type FindSession = () => SessionPlace | Promise<SessionPlace>;

/**
 * The files of a session's sandbox, past any tool. Relative paths start at its working folder.
 *
 * Every method throws ServerError (`path_not_found`, `path_exists`, `path_refused`, `path_forbidden`, `session_not_found` …) and
 * ConnectionError; nothing is sent again by itself, except for `delete`.
 */
export class SessionFiles {
  readonly #find: FindSession;

  constructor(find: FindSession) {
    this.#find = find;
  }

  /** Writes a file, whole or not at all; content that fails midway leaves nothing. */
  async upload(path: string, content: UploadContent, options: UploadOptions = {}): Promise<Uploaded> {
    const { mode, exclusive, signal } = options;
    const query = {
      path,
      mode: mode?.toString(8).padStart(3, "0"),
      exclusive: exclusive === true ? "true" : undefined,
    };
    return this.#put<Uploaded>(query, content, signal);
  }

  /** Writes a file of this machine. */
  async uploadFile(path: string, localPath: string, options: UploadOptions = {}): Promise<Uploaded> {
    return this.upload(path, createReadStream(localPath), options);
  }

  /** Unpacks an archive into a folder, all of it or nothing. */
  async uploadArchive(
    path: string,
    content: UploadContent,
    { format = "tar.gz", signal }: { readonly format?: ArchiveFormat; readonly signal?: AbortSignal } = {},
  ): Promise<Unpacked> {
    return this.#put<Unpacked>({ path, extract: format }, content, signal);
  }

  /** Opens a file: its `body`, `arrayBuffer()`, `text()` or `blob()` reads it, and is cut off where it cannot be read to its end. */
  async download(path: string, { start, length, signal }: DownloadOptions = {}): Promise<Response> {
    const first = start ?? 0;
    if (length === 0) throw new RangeError("length takes 1 or more");
    const ranged = start !== undefined || length !== undefined;
    const range = `bytes=${first}-${length === undefined ? "" : first + length - 1}`;
    return this.#get({ path }, signal, ranged ? { range } : {});
  }

  /** Downloads to a file of this machine, which is there whole or not at all; answers its size. */
  async downloadFile(path: string, localPath: string, options: DownloadOptions = {}): Promise<number> {
    return save(await this.download(path, options), localPath);
  }

  /** Opens a folder as an archive. */
  async downloadArchive(
    path: string,
    { format = "tar.gz", signal }: { readonly format?: ArchiveFormat; readonly signal?: AbortSignal } = {},
  ): Promise<Response> {
    return this.#get({ path, format }, signal, {});
  }

  /** Removes a file, or with `recursive` a folder; answers whether there was one. */
  async delete(path: string, { recursive = false }: { readonly recursive?: boolean } = {}): Promise<boolean> {
    const { transport, path: where } = await this.#at({ path, recursive: recursive ? "true" : undefined });
    const exchange = { method: "DELETE", path: where, timeoutMs: LIFECYCLE_TIMEOUT_MS, repeatable: true } as const;
    const answer = expectEnvelope(await transport.exchange(exchange), "DELETE");
    return expectData<{ readonly deleted: boolean }>(answer).deleted;
  }

  async #put<T>(
    query: Readonly<Record<string, string | undefined>>,
    content: UploadContent,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    const { transport, path } = await this.#at(query);
    const response = await transfer(transport, { method: "PUT", path, content, signal });
    // What `transfer` lets through is an envelope of a success.
    const envelope = (await response.json()) as Envelope;
    return expectData<T>({ envelope, status: response.status });
  }

  async #get(
    query: Readonly<Record<string, string | undefined>>,
    signal: AbortSignal | undefined,
    headers: Readonly<Record<string, string>>,
  ): Promise<Response> {
    const { transport, path } = await this.#at(query);
    return transfer(transport, { method: "GET", path, signal, headers });
  }

  async #at(query: Readonly<Record<string, string | undefined>>) {
    const { transport, sessionId } = await this.#find();
    const pairs = Object.entries(query).flatMap(([name, value]) =>
      value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
    );
    return { transport, path: `/api/v1/session/${encodeURIComponent(sessionId)}/files?${pairs.join("&")}` };
  }
}

async function save(response: Response, localPath: string): Promise<number> {
  const partial = `${localPath}.${randomUUID().slice(0, 8)}.partial`;
  const file = createWriteStream(partial, { flags: "wx" });
  try {
    await pipeline(response.body === null ? Readable.from([]) : Readable.fromWeb(response.body as never), file); // as in transfer.ts
    await rename(partial, localPath);
    return file.bytesWritten;
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
}
