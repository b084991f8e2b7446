import { countTerms } from "../text/analyze.ts";
import { encodeAscending, encodeNumbers, encodePostings, PostingsBuilder } from "./codec.ts";
import type { Database } from "./database.ts";

/** Chunks and postings after which a segment is written. */
const MAX_CHUNKS = 4_096;
const MAX_POSTINGS = 600_000;

/** Turns chunks into a segment: for every term, where it occurs. */
export class Inverter {
  readonly #terms = new Map<string, PostingsBuilder>();
  readonly #ids: number[] = [];
  readonly #lengths: number[] = [];
  #postings = 0;

  get full(): boolean {
    return this.#ids.length >= MAX_CHUNKS || this.#postings >= MAX_POSTINGS;
  }

  get empty(): boolean {
    return this.#ids.length === 0;
  }

  /** Takes a chunk, which must be newer than the one before. */
  add(chunk: number, terms: readonly string[]): void {
    const ordinal = this.#ids.length;
    this.#ids.push(chunk);
    this.#lengths.push(terms.length);
    for (const [term, frequency] of countTerms(terms)) {
      let builder = this.#terms.get(term);
      if (builder === undefined) {
        builder = new PostingsBuilder();
        this.#terms.set(term, builder);
      }
      builder.add(ordinal, frequency);
      this.#postings += 1;
    }
  }

  /** Writes the segment for a generation, and is empty again. */
  flush(database: Database, generation: number): void {
    if (this.empty) return;
    database.transaction(() => {
      const segment = insertSegment(database, { ids: this.#ids, lengths: this.#lengths, generation });
      const insert = database.prepare("INSERT INTO postings VALUES (?, ?, ?, ?)");
      // In the order of the key, which is how the file likes to grow.
      for (const term of [...this.#terms.keys()].toSorted()) {
        const builder = this.#terms.get(term);
        if (builder !== undefined) insert.run(segment, term, builder.ordinals.length, encodePostings(builder));
      }
    })();
    this.#terms.clear();
    this.#ids.length = 0;
    this.#lengths.length = 0;
    this.#postings = 0;
  }
}

/** Writes the row of a segment and answers its number. */
export function insertSegment(
  database: Database,
  {
    ids,
    lengths,
    generation,
  }: { ids: ArrayLike<number> & Iterable<number>; lengths: Iterable<number>; generation: number },
): number {
  const { lastInsertRowid } = database
    .prepare("INSERT INTO segments (chunks, first_chunk, ids, lengths, added) VALUES (?, ?, ?, ?, ?)")
    .run(ids.length, ids[0] ?? 0, encodeAscending(ids), encodeNumbers(lengths), generation);
  return Number(lastInsertRowid);
}
