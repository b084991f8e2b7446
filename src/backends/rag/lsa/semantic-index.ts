import type { Database } from "../index/database.ts";
import type { SegmentView } from "../index/segment.ts";
import { Statements } from "../index/statements.ts";
import { ByteVectors } from "../ranking/byte-vectors.ts";
import type { TimeSlice } from "../time-slice.ts";
import { foldSegment, learnModel, type SemanticModel } from "./semantic-model.ts";

/** Fewer chunks have no structure to learn, and more would take too much memory and time. */
export const SEMANTIC_CHUNKS = { min: 200, max: 250_000 } as const;
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

  /** The vectors of a segment's chunks; `undefined` while they are not made. */
  vectors(model: SemanticModel, segment: number): ByteVectors | undefined {
    const known = this.#vectors.get(segment);
    if (known !== undefined) return known;
    const row = this.#statements.get<{ data: Uint8Array }>(
      "SELECT data FROM semantic_vectors WHERE model = ? AND segment = ?",
      ...[model.model, segment],
    );
    if (row === undefined) return undefined;
    const vectors = ByteVectors.fromBlob(row.data, model.rank);
    this.#vectors.set(segment, vectors);
    return vectors;
  }

  /** Learns where that is due, and makes the vectors that are missing; runs in the turn of a writer. */
  async refresh(segments: readonly SegmentView[], slice: TimeSlice): Promise<void> {
    const chunks = segments.reduce((sum, { chunks: living }) => sum + living, 0);
    if (chunks < SEMANTIC_CHUNKS.min || chunks > SEMANTIC_CHUNKS.max) return this.#forget();
    let model = this.model();
    const isStale = model === undefined || chunks > model.chunks * RELEARN_AT || chunks * RELEARN_AT < model.chunks;
    if (isStale) {
      const learned = await learnModel(this.#statements, segments, slice);
      if (learned === undefined) return this.#forget();
      await this.#store(learned, segments, slice);
      model = this.model();
    }
    if (model === undefined) return;
    const current = new Set(segments.map(({ segment }) => segment));
    for (const { segment, ids } of segments) {
      if (this.vectors(model, segment) !== undefined) continue;
      // oxlint-disable-next-line no-await-in-loop
      const floats = await foldSegment(this.#statements, segment, ids.length, model, slice);
      const blob = ByteVectors.from(floats, model.rank).toBlob();
      this.#statements.run("INSERT INTO semantic_vectors VALUES (?, ?, ?)", model.model, segment, blob);
    }
    this.#statements.run("DELETE FROM semantic_vectors WHERE segment NOT IN (SELECT segment FROM segments)");
    for (const segment of this.#vectors.keys()) if (!current.has(segment)) this.#vectors.delete(segment);
  }

  /** Puts a model and all its vectors in place of the one before, in one step. */
  async #store(
    learned: Omit<SemanticModel, "model">,
    segments: readonly SegmentView[],
    slice: TimeSlice,
  ): Promise<void> {
    const folded: [number, Uint8Array][] = [];
    for (const { segment, ids } of segments) {
      // oxlint-disable-next-line no-await-in-loop
      const floats = await foldSegment(this.#statements, segment, ids.length, learned, slice);
      folded.push([segment, ByteVectors.from(floats, learned.rank).toBlob()]);
    }
    const { rank, chunks, terms, weights, basis } = learned;
    this.#database.transaction(() => {
      this.#statements.run("DELETE FROM semantic_models");
      this.#statements.run("DELETE FROM semantic_vectors");
      const { lastInsertRowid: model } = this.#statements.run(
        "INSERT INTO semantic_models (rank, chunks, terms, weights, basis) VALUES (?, ?, ?, ?, ?)",
        ...[rank, chunks, JSON.stringify([...terms.keys()]), toBytes(weights), toBytes(basis)],
      );
      for (const [segment, data] of folded) {
        this.#statements.run("INSERT INTO semantic_vectors VALUES (?, ?, ?)", model, segment, data);
      }
    })();
  }

  #forget(): void {
    this.#model = undefined;
    this.#vectors.clear();
    this.#statements.run("DELETE FROM semantic_models");
    this.#statements.run("DELETE FROM semantic_vectors");
  }
}

function toModel({ model, rank, chunks, terms, weights, basis }: ModelRow): SemanticModel {
  // As it was written by `#store`.
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
