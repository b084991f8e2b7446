import type { TimeSlice } from "../time-slice.ts";
import { encodeAscending, encodeNumbers, encodePostings } from "./codec.ts";
import type { Database } from "./database.ts";

/** Chunks and postings after which a segment is written. */
const MAX_CHUNKS = 32_768;
const MAX_POSTINGS = 2_000_000;
const ROWS_AT_ONCE = 500;

/** Turns chunks into a segment: for every term, where it occurs. */
export class Inverter {
  /** Each term's number, in the order in which they came. */
  readonly #numbers = new Map<string, number>();
  readonly #ids: number[] = [];
  readonly #lengths: number[] = [];
  /** Where each chunk's postings end. */
  readonly #ends: number[] = [];
  #terms = new Uint32Array(1_024);
  #frequencies = new Uint32Array(1_024);
  #postings = 0;
  /** How often each term is in the chunk that is being added. */
  #counts = new Uint32Array(1_024);

  get full(): boolean {
    return this.#ids.length >= MAX_CHUNKS || this.#postings >= MAX_POSTINGS;
  }

  /** Takes a chunk, which must be newer than the one before. */
  add(chunk: number, terms: readonly string[]): void {
    this.#ids.push(chunk);
    this.#lengths.push(terms.length);
    const found: number[] = [];
    for (const term of terms) {
      let number = this.#numbers.get(term);
      if (number === undefined) {
        number = this.#numbers.size;
        this.#numbers.set(term, number);
        if (number >= this.#counts.length) this.#counts = grow(this.#counts);
      }
      const count = this.#counts[number] ?? 0;
      if (count === 0) found.push(number);
      this.#counts[number] = count + 1;
    }
    for (const number of found) {
      if (this.#postings === this.#terms.length) {
        this.#terms = grow(this.#terms);
        this.#frequencies = grow(this.#frequencies);
      }
      this.#terms[this.#postings] = number;
      this.#frequencies[this.#postings] = this.#counts[number] ?? 0;
      this.#counts[number] = 0;
      this.#postings += 1;
    }
    this.#ends.push(this.#postings);
  }

  /** Writes the segment for a generation, and is empty again. */
  async flush(database: Database, generation: number, slice: TimeSlice): Promise<void> {
    if (this.#ids.length === 0) return;
    const segment = insertSegment(database, { ids: this.#ids, lengths: this.#lengths, generation });
    const { ends, ordinals, frequencies } = this.#sort();
    // In the order of the key, which is how the file likes to grow.
    const sorted = [...this.#numbers].toSorted(([left], [right]) => (left < right ? -1 : 1));
    const insert = database.prepare("INSERT INTO postings VALUES (?, ?, ?, ?)");
    const write = database.transaction((rows: typeof sorted) => {
      for (const [term, number] of rows) {
        const [start, end] = [ends[number - 1] ?? 0, ends[number] ?? 0];
        const bytes = encodePostings({
          ordinals: ordinals.subarray(start, end),
          frequencies: frequencies.subarray(start, end),
        });
        insert.run(segment, term, end - start, bytes);
      }
    });
    for (let at = 0; at < sorted.length; at += ROWS_AT_ONCE) {
      write(sorted.slice(at, at + ROWS_AT_ONCE));
      // oxlint-disable-next-line no-await-in-loop
      await slice.pause();
    }
    this.#numbers.clear();
    for (const list of [this.#ids, this.#lengths, this.#ends]) list.length = 0;
    this.#postings = 0;
  }

  /** The postings by term; a term's end where the next one's begin. */
  #sort() {
    const ends = new Uint32Array(this.#numbers.size);
    for (let at = 0; at < this.#postings; at++) ends[this.#terms[at] ?? 0] = (ends[this.#terms[at] ?? 0] ?? 0) + 1;
    // Where each term begins; it moves to where it ends as its postings come.
    for (let term = 0, before = 0; term < ends.length; term++) {
      const count = ends[term] ?? 0;
      ends[term] = before;
      before += count;
    }
    const ordinals = new Uint32Array(this.#postings);
    const frequencies = new Uint32Array(this.#postings);
    for (let ordinal = 0, at = 0; ordinal < this.#ends.length; ordinal++) {
      for (; at < (this.#ends[ordinal] ?? 0); at++) {
        const term = this.#terms[at] ?? 0;
        const to = ends[term] ?? 0;
        ordinals[to] = ordinal;
        frequencies[to] = this.#frequencies[at] ?? 0;
        ends[term] = to + 1;
      }
    }
    return { ends, ordinals, frequencies };
  }
}

function grow(numbers: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  const grown = new Uint32Array(numbers.length * 2);
  grown.set(numbers);
  return grown;
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
