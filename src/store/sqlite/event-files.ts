import { closeSync, ftruncateSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import type { LostEvents } from "../../core/store.ts";
import { lastIdOf, readId } from "./event-line.ts";
import { toStoreError } from "./store-failure.ts";

const HASH = 35;
/** The longest that the line before a batch can be. */
const MARK_BYTES = 32;

/**
 * The events themselves, in files that are only ever appended to: one a segment, named for its first event. A batch costs one
 * write to the page cache, a tenth of what the database's commits cost; the database knows only what is in which file.
 *
 * Each batch follows a line `#<its bytes> <its CRC-32>`, so that a batch whose write was cut short, or whose bytes are not what was
 * written, is known and left out; what comes after it is found by the next such line.
 */
export class EventFiles {
  readonly #folder: string;
  #current: { readonly descriptor: number; size: number } | undefined;

  /** Makes the folder when it is missing. */
  constructor(folder: string) {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    this.#folder = folder;
  }

  /** The first events of all files, ascending. */
  list(): number[] {
    return readdirSync(this.#folder)
      .flatMap((name) => /^(\d{1,16})\.log$/.exec(name)?.[1] ?? [])
      .map(Number)
      .toSorted((a, b) => a - b);
  }

  /** The whole batches of a file, oldest first, and what is missing before and between them; none when there is no such file. */
  read(firstId: number): { readonly batches: readonly Buffer[]; readonly lost: readonly LostEvents[] } {
    try {
      const { batches, breaks } = splitBatches(readFileSync(this.#path(firstId)));
      return { batches, lost: breaks.flatMap((index) => lostBefore(batches, index, firstId)) };
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return { batches: [], lost: [] };
      throw toStoreError(error, "The event log could not be read");
    }
  }

  /** Goes on with a file of an earlier run, without what is left of a batch whose write was cut short. */
  resume(firstId: number): void {
    const { end } = splitBatches(readFileSync(this.#path(firstId)));
    const descriptor = openSync(this.#path(firstId), "a", 0o600);
    ftruncateSync(descriptor, end);
    this.#current = { descriptor, size: end };
  }

  /**
   * Writes a batch whole or not at all, into a file of its own if none is open.
   *
   * @throws StoreError `full` or `failed`.
   */
  append(firstId: number, body: Buffer): void {
    const bytes = Buffer.allocUnsafe(MARK_BYTES + body.length);
    const start = bytes.write(`#${body.length} ${crc32(body)}\n`, "latin1");
    body.copy(bytes, start);
    const length = start + body.length;
    try {
      this.#current ??= { descriptor: openSync(this.#path(firstId), "a", 0o600), size: 0 };
      let written = 0;
      while (written < length) written += writeSync(this.#current.descriptor, bytes, written, length - written);
      this.#current.size += length;
    } catch (error) {
      this.#undo(firstId);
      throw toStoreError(error, "The event log could not be written");
    }
  }

  /** Leaves nothing of a batch that could not be written; a file that it began goes, for the next batch may name another. */
  #undo(firstId: number): void {
    if (this.#current === undefined) return;
    if (this.#current.size > 0) return ftruncateSync(this.#current.descriptor, this.#current.size);
    this.close();
    this.remove(firstId);
  }

  /** Lets the next batch begin a new file. */
  close(): void {
    if (this.#current !== undefined) closeSync(this.#current.descriptor);
    this.#current = undefined;
  }

  remove(firstId: number): void {
    rmSync(this.#path(firstId), { force: true });
  }

  #path(firstId: number): string {
    return join(this.#folder, `${firstId}.log`);
  }
}

/**
 * Cuts a file's content into its batches; `end` is where the last whole one ends, and `breaks` are the indexes of those with damaged
 * bytes before them.
 */
export function splitBatches(content: Buffer): {
  readonly batches: readonly Buffer[];
  readonly end: number;
  readonly breaks: readonly number[];
} {
  const batches: Buffer[] = [];
  const breaks: number[] = [];
  let end = 0;
  for (let at = 0; at < content.length; ) {
    const batch = batchAt(content, at);
    if (batch === undefined) {
      // Nothing but a mark has this and, two numbers further on, the end of a line: in events that is escaped.
      const next = content.indexOf(HASH, at + 1);
      if (next === -1) break;
      at = next;
      continue;
    }
    if (at !== end) breaks.push(batches.length);
    batches.push(batch);
    at = end = batch.byteOffset - content.byteOffset + batch.length;
  }
  return { batches, end, breaks };
}

/** The batch whose mark is at an offset, if it is whole. */
function batchAt(content: Buffer, at: number): Buffer | undefined {
  const mark = /^#(\d{1,15}) (\d{1,10})\n/.exec(content.toString("latin1", at, at + MARK_BYTES));
  if (mark === null) return undefined;
  const start = at + mark[0].length;
  const end = start + Number(mark[1]);
  if (end > content.length) return undefined;
  const batch = content.subarray(start, end);
  return crc32(batch) === Number(mark[2]) ? batch : undefined;
}

/** Says which events are missing before a batch. */
function lostBefore(batches: readonly Buffer[], index: number, firstId: number): LostEvents[] {
  const [before, after] = [batches[index - 1], batches[index]];
  const fromId = before === undefined ? firstId : lastIdOf(before) + 1;
  const id = after === undefined ? 0 : readId(after, 0) - 1;
  return id < fromId ? [] : [{ fromId, id }];
}
