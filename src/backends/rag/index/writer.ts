import { createHash } from "node:crypto";
import { analyze } from "../text/analyze.ts";
import type { TimeSlice } from "../time-slice.ts";
import type { Database } from "./database.ts";
import { Inverter } from "./inverter.ts";
import { Statements } from "./statements.ts";

/** Characters of a document's text that a row holds, or one more. */
const PART_CHARACTERS = 16_384;

/** A document that is ready to be indexed. */
export interface PreparedDocument {
  readonly id: string;
  readonly title: string | null;
  readonly source: string | null;
  readonly mediaType: string;
  /** The encoding that its bytes were read by; `null` where there were none to decode. Not kept. */
  readonly charset: string | null;
  /** JSON. */
  readonly metadata: string | null;
  readonly text: string;
  readonly chunks: readonly { readonly start: number; readonly end: number; readonly heading: string | null }[];
  /** Of everything above: a document with the same one is left as it is. */
  readonly digest: Uint8Array;
}

interface CurrentRow {
  readonly document: number;
  readonly digest: Uint8Array;
  readonly bytes: number;
}

export type PutOutcome = "added" | "updated" | "unchanged";

/**
 * Writes one generation of an index: nothing of it is seen before `publish`, and nothing remains of it after `abandon`.
 *
 * What its methods do at once is short, so that searches run in between.
 */
export class IndexWriter {
  readonly #database: Database;
  readonly #statements: Statements;
  readonly #generation: number;
  readonly #inverter = new Inverter();
  readonly #now: () => number;
  readonly #putAll: (documents: readonly PreparedDocument[]) => PutOutcome[];
  #changed = false;
  #totals: { documents: number; bytes: number } | undefined;

  constructor(database: Database, generation: number, now: () => number = Date.now) {
    this.#database = database;
    this.#statements = new Statements(database);
    this.#generation = generation;
    this.#now = now;
    this.#putAll = database.transaction((documents: readonly PreparedDocument[]) =>
      documents.map((document) => this.#putOne(document)),
    );
  }

  /** Whether there is anything to publish. */
  get changed(): boolean {
    return this.#changed;
  }

  /** Adds documents in one step, or puts each in the place of the one with its id; what became of each. */
  async put(documents: readonly PreparedDocument[], slice: TimeSlice): Promise<PutOutcome[]> {
    const outcomes = this.#putAll(documents);
    if (this.#inverter.full) await this.#inverter.flush(this.#database, this.#generation, slice);
    return outcomes;
  }

  /** Whether a document with this id and content is there. */
  has({ id, digest }: Pick<PreparedDocument, "id" | "digest">): boolean {
    const known = this.#current(id);
    return known !== undefined && Buffer.compare(known.digest, digest) === 0;
  }

  /** Removes a document; whether there was one. */
  remove(id: string): boolean {
    const known = this.#current(id);
    if (known !== undefined) this.#markRemoved(known);
    return known !== undefined;
  }

  /** The ids of all documents, some at a time. */
  ids(after: string, limit: number): string[] {
    const sql = "SELECT id FROM documents WHERE removed IS NULL AND id > ? ORDER BY id LIMIT ?";
    return this.#statements.all<{ id: string }>(sql, after, limit).map(({ id }) => id);
  }

  /** Hides a document of the collection beneath; whether it was seen before. */
  hide(id: string): boolean {
    if (this.#statements.get("SELECT 1 FROM hidden WHERE id = ? AND removed IS NULL", id) !== undefined) return false;
    this.#changed = true;
    this.#statements.run("INSERT OR REPLACE INTO hidden VALUES (?, ?, NULL)", id, this.#generation);
    return true;
  }

  /** What is there with this generation. */
  totals(): { readonly documents: number; readonly bytes: number } {
    this.#totals ??= this.#statements.get<{ documents: number; bytes: number }>(
      "SELECT count(*) AS documents, coalesce(sum(bytes), 0) AS bytes FROM documents WHERE removed IS NULL",
    );
    return this.#totals ?? { documents: 0, bytes: 0 };
  }

  #count(documents: number, bytes: number): void {
    if (this.#totals === undefined) return;
    this.#totals.documents += documents;
    this.#totals.bytes += bytes;
  }

  /** Lets everything be seen, at once. */
  async publish(slice: TimeSlice): Promise<void> {
    await this.#inverter.flush(this.#database, this.#generation, slice);
    this.#statements.run("UPDATE state SET value = ? WHERE name = 'generation'", this.#generation);
  }

  #putOne(document: PreparedDocument): PutOutcome {
    const known = this.#current(document.id);
    if (known !== undefined && Buffer.compare(known.digest, document.digest) === 0) return "unchanged";
    if (known !== undefined) this.#markRemoved(known);
    this.#insert(document);
    return known === undefined ? "added" : "updated";
  }

  #insert(document: PreparedDocument): void {
    const { id, title, source, mediaType, metadata, text, digest, chunks } = document;
    const bytes = Buffer.byteLength(text);
    this.#changed = true;
    this.#count(1, bytes);
    const { lastInsertRowid: number } = this.#statements.run(
      `INSERT INTO documents (id, title, source, media_type, metadata, digest, characters, bytes, first_chunk, chunks, indexed_at, added)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?)`,
      ...[id, title, source, mediaType, metadata, digest, text.length, bytes],
      ...[chunks.length, this.#now(), this.#generation],
    );
    for (const [start, end] of cutParts(text)) {
      this.#statements.run("INSERT INTO text_parts VALUES (?, ?, ?)", number, start, text.slice(start, end));
    }
    let first = 0;
    for (const [ordinal, { start, end, heading }] of chunks.entries()) {
      const searched = toSearchedText(title, heading, text.slice(start, end));
      const chunkDigest = createHash("sha256").update(searched).digest().subarray(0, 16);
      const { lastInsertRowid: chunk } = this.#statements.run(
        "INSERT INTO chunks (document, ordinal, start_at, end_at, heading, digest) VALUES (?, ?, ?, ?, ?, ?)",
        ...[number, ordinal, start, end, heading, chunkDigest],
      );
      if (ordinal === 0) first = chunk;
      this.#inverter.add(chunk, analyze(searched));
    }
    this.#statements.run("UPDATE documents SET first_chunk = ? WHERE document = ?", first, number);
  }

  #current(id: string): CurrentRow | undefined {
    return this.#statements.get("SELECT document, digest, bytes FROM documents WHERE id = ? AND removed IS NULL", id);
  }

  #markRemoved({ document, bytes }: CurrentRow): void {
    this.#changed = true;
    this.#count(-1, -bytes);
    this.#statements.run("UPDATE documents SET removed = ? WHERE document = ?", this.#generation, document);
  }
}

/** The text by which a chunk is found: its own, below the headings that it stands under. */
export function toSearchedText(title: string | null, heading: string | null, text: string): string {
  const above = [title, heading].filter((line) => line !== null && line !== "" && !text.startsWith(line));
  return [...above, text].join("\n");
}

/** Cuts text into stretches for a row each, never inside a character that takes two code units. */
function* cutParts(text: string): Generator<readonly [number, number]> {
  for (let start = 0; start < text.length; ) {
    let end = Math.min(text.length, start + PART_CHARACTERS);
    if (end < text.length && (text.charCodeAt(end) & 0xfc00) === 0xdc00) end += 1;
    yield [start, end];
    start = end;
  }
}
