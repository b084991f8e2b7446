import { readPostings } from "../index/codec.ts";
import type { Statements } from "../index/statements.ts";
import { VectorBlob } from "../ranking/vector-blob.ts";
import type { TimeSlice } from "../time-slice.ts";
import { RowSpace } from "./row-space.ts";
import { dampen, normalize, type SemanticModel } from "./semantic-model.ts";
import { walkPostings } from "./walk-terms.ts";

/** Chunks whose vectors are made at once: floats of more would take too much memory. */
const BLOCK = 65_536;
const CHUNKS_AT_ONCE = 256;

/** Where in the postings of a term the next block begins. */
interface Unread {
  readonly term: string;
  readonly number: number;
  readonly place: { at: number; previous: number };
}

/** Makes the vectors of chunks, a block at a time, by one model. */
export class Folder {
  readonly #statements: Statements;
  readonly #model: Omit<SemanticModel, "model">;
  readonly #space: RowSpace;
  readonly #frequencies: Uint32Array;

  /** @param maxChunks the most chunks of a segment */
  constructor(statements: Statements, model: Omit<SemanticModel, "model">, maxChunks: number, block = BLOCK) {
    this.#statements = statements;
    this.#model = model;
    const rows = Math.min(block, maxChunks);
    this.#space = new RowSpace(model.rank, model.terms.size, rows);
    this.#space.terms.set(model.basis);
    this.#frequencies = new Uint32Array(rows);
  }

  /** The vectors of a segment's chunks, each of length 1 or 0, as a {@link VectorBlob} for each block. */
  async *fold(segment: number, chunks: number, slice: TimeSlice): AsyncGenerator<Uint8Array> {
    const block = this.#frequencies.length;
    let unread = this.#begin(segment, slice);
    for (let start = 0; start < chunks; start += block) {
      this.#space.chunks.fill(0);
      const left: Unread[] = [];
      for await (const { data, ...next } of unread) {
        this.#add(next, data);
        if (next.place.at < data.length) left.push(next);
      }
      yield await this.#finish(Math.min(block, chunks - start), slice);
      unread = this.#goOn(segment, left, slice);
    }
  }

  async *#begin(segment: number, slice: TimeSlice): AsyncGenerator<Unread & { readonly data: Uint8Array }> {
    for await (const { term, data } of walkPostings(this.#statements, segment, slice)) {
      const number = this.#model.terms.get(term);
      if (number !== undefined) yield { term, number, place: { at: 0, previous: -1 }, data };
    }
  }

  async *#goOn(segment: number, left: readonly Unread[], slice: TimeSlice) {
    for (const { term, number, place } of left) {
      const row = this.#statements.get<{ data: Uint8Array }>(
        "SELECT data FROM postings WHERE segment = ? AND term = ?",
        ...[segment, term],
      );
      // Ordinals count from the block on.
      if (row !== undefined)
        yield {
          term,
          number,
          place: { ...place, previous: place.previous - this.#frequencies.length },
          data: row.data,
        };
      // oxlint-disable-next-line no-await-in-loop
      await slice.pause();
    }
  }

  #add({ number, place }: Unread, data: Uint8Array): void {
    const { rows, weights } = this.#space;
    const count = readPostings(data, place, { end: rows.length, ordinals: rows, frequencies: this.#frequencies });
    const weight = this.#model.weights[number] ?? 0;
    for (let index = 0; index < count; index++) weights[index] = weight * dampen(this.#frequencies[index] ?? 1);
    this.#space.scatter(number, count);
  }

  async #finish(chunks: number, slice: TimeSlice): Promise<Uint8Array> {
    const { rank } = this.#model;
    const vectors = VectorBlob.empty(rank, chunks);
    for (let chunk = 0; chunk < chunks; chunk++) {
      const vector = this.#space.chunks.subarray(chunk * rank, (chunk + 1) * rank);
      normalize(vector);
      vectors.set(chunk, vector);
      // oxlint-disable-next-line no-await-in-loop
      if (chunk % CHUNKS_AT_ONCE === 0) await slice.pause();
    }
    return vectors.blob;
  }
}
