import type { Database } from "../index/database.ts";
import type { Segment, SegmentView } from "../index/segment.ts";
import { Statements } from "../index/statements.ts";
import { ByteVectors } from "../ranking/byte-vectors.ts";
import { countStored, VectorBlob } from "../ranking/vector-blob.ts";
import type { TimeSlice } from "../time-slice.ts";
import { Folder } from "./fold.ts";
import { learnModel } from "./learn.ts";
import type { SemanticModel } from "./semantic-model.ts";

/** Fewer chunks have no structure to learn; the vectors of more would take more than a gigabyte. */
export const SEMANTIC_CHUNKS = { min: 200, max: 5_000_000 } as const;
/** Growth after which what was learned is learned anew. */
const RELEARN_AT = 1.5;

interface ModelRow {
  readonly model: number;
  readonly rank: number;
  readonly chunks: number;
  readonly terms: string;
  readonly weights: Uint8Array;
  readonly basis: Uint8Array;
}

/**
 * Latent semantic analysis of one index: vectors of chunks that are near where their terms go together, learned from the index
 * itself. It is no language model: it knows nothing that the documents do not show.
 */
export class SemanticIndex {
  readonly #statements: Statements;
  readonly #database: Database;
  #model: SemanticModel | undefined;
  readonly #vectors = new Map<number, ByteVectors>();

  constructor(database: Database) {
    this.#database = database;
    this.#statements = new Statements(database);
  }

  /** What was learned last; `undefined` when nothing was. */
  model(): SemanticModel | undefined {
    const row = this.#statements.get<{ model: number }>("SELECT max(model) AS model FROM semantic_models");
    const number = row?.model ?? undefined;
    if (number === undefined || number === null) return undefined;
    if (this.#model?.model === number) return this.#model;
    const stored = this.#statements.get<ModelRow>("SELECT * FROM semantic_models WHERE model = ?", number);
    this.#vectors.clear();
    this.#model = stored && toModel(stored);
    return this.#model;
  }

  /** Whether a segment's chunks can be ranked by it now. */
  ranks({ segment, ids }: Segment): boolean {
    const model = this.model();
    return model !== undefined && (this.#vectors.has(segment) || this.#isMade(model, segment, ids.length));
  }

  /** The vectors of a segment's chunks; `undefined` while they are not made. */
  vectors({ model, rank }: SemanticModel, { segment, ids }: Segment): ByteVectors | undefined {
    const known = this.#vectors.get(segment);
    if (known !== undefined) return known;
    if (!this.#isMade({ model, rank }, segment, ids.length)) return undefined;
    const vectors = new ByteVectors(rank, ids.length);
    const sql = "SELECT data FROM semantic_vectors WHERE model = ? AND segment = ? AND block = ?";
    for (let index = 0, block = 0; index < ids.length; block++) {
      const row = this.#statements.get<{ data: Uint8Array }>(sql, model, segment, block);
      if (row === undefined) return undefined;
      const blob = VectorBlob.of(rank, row.data);
      vectors.load(index, blob);
      index += blob.scales.length;
    }
    const current = this.#statements.all<{ segment: number }>("SELECT segment FROM segments");
    const numbers = new Set(current.map((row) => row.segment));
    for (const known of this.#vectors.keys()) if (!numbers.has(known)) this.#vectors.delete(known);
    this.#vectors.set(segment, vectors);
    return vectors;
  }

  /** Learns where that is due, and makes the vectors that are missing; runs in the turn of a writer. */
  async refresh(segments: readonly SegmentView[], slice: TimeSlice): Promise<void> {
    const chunks = segments.reduce((sum, { chunks: living }) => sum + living, 0);
    // What an earlier one left that did not come to its end.
    await this.#clear(slice);
    if (chunks < SEMANTIC_CHUNKS.min || chunks > SEMANTIC_CHUNKS.max) return this.#forget(slice);
    const model = this.model();
    const isStale = model === undefined || chunks > model.chunks * RELEARN_AT || chunks * RELEARN_AT < model.chunks;
    if (isStale) {
      const learned = await learnModel(this.#statements, segments, slice);
      if (learned === undefined) return this.#forget(slice);
      const next = { ...learned, model: this.#nextModel() };
      await this.#fold(next, segments, slice);
      this.#publish(next);
    } else {
      const missing = segments.filter(({ segment, ids }) => !this.#isMade(model, segment, ids.length));
      await this.#fold(model, missing, slice);
    }
    return this.#clear(slice);
  }

  async #fold(model: SemanticModel, segments: readonly SegmentView[], slice: TimeSlice): Promise<void> {
    if (segments.length === 0) return;
    const folder = new Folder(this.#statements, model, Math.max(...segments.map(({ ids }) => ids.length)));
    for (const { segment, ids } of segments) {
      let block = 0;
      // oxlint-disable-next-line no-await-in-loop
      for await (const data of folder.fold(segment, ids.length, slice)) {
        const values = [model.model, segment, block++, data] as const;
        this.#statements.run("INSERT OR REPLACE INTO semantic_vectors VALUES (?, ?, ?, ?)", ...values);
      }
    }
  }

  /** Puts a model, whose vectors are there, in the place of the one before. */
  #publish({ model, rank, chunks, terms, weights, basis }: SemanticModel): void {
    this.#database.transaction(() => {
      this.#statements.run("DELETE FROM semantic_models");
      this.#statements.run(
        "INSERT INTO semantic_models (model, rank, chunks, terms, weights, basis) VALUES (?, ?, ?, ?, ?, ?)",
        ...[model, rank, chunks, JSON.stringify([...terms.keys()]), toBytes(weights), toBytes(basis)],
      );
    })();
  }

  /** A number that no model had before, also none of those that were forgotten. */
  #nextModel(): number {
    const sql = "SELECT seq FROM sqlite_sequence WHERE name = 'semantic_models'";
    return (this.#statements.get<{ seq: number }>(sql)?.seq ?? 0) + 1;
  }

  #isMade({ model, rank }: Pick<SemanticModel, "model" | "rank">, segment: number, chunks: number): boolean {
    const sql = "SELECT sum(length(data)) AS bytes FROM semantic_vectors WHERE model = ? AND segment = ?";
    const bytes = this.#statements.get<{ bytes: number | null }>(sql, model, segment)?.bytes ?? 0;
    return countStored(rank, bytes) === chunks;
  }

  async #forget(slice: TimeSlice): Promise<void> {
    this.#model = undefined;
    this.#vectors.clear();
    this.#statements.run("DELETE FROM semantic_models");
    await this.#clear(slice);
  }

  /** Deletes the vectors of other models, and of segments that are gone, a block at a time. */
  async #clear(slice: TimeSlice): Promise<void> {
    const next = `SELECT model, segment, block FROM semantic_vectors
      WHERE model IS NOT (SELECT max(model) FROM semantic_models) OR segment NOT IN (SELECT segment FROM segments) LIMIT 1`;
    const sql = `DELETE FROM semantic_vectors WHERE (model, segment, block) IN (${next})`;
    while (this.#statements.run(sql).changes > 0) {
      // oxlint-disable-next-line no-await-in-loop
      await slice.pause();
    }
  }
}

function toModel({ model, rank, chunks, terms, weights, basis }: ModelRow): SemanticModel {
  // As it was written by `#publish`.
  const names = JSON.parse(terms) as readonly string[];
  return {
    model,
    rank,
    chunks,
    terms: new Map(names.map((term, index) => [term, index])),
    weights: toFloats(weights),
    basis: toFloats(basis),
  };
}

export function toBytes(floats: Float32Array): Uint8Array {
  return new Uint8Array(floats.buffer, floats.byteOffset, floats.byteLength);
}

/** Copies, since a row's bytes need not begin where a float may. */
export function toFloats(bytes: Uint8Array): Float32Array {
  return new Float32Array(new Uint8Array(bytes).buffer);
}
