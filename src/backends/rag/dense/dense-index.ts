import type { CollectionIndex } from "../index/collection-index.ts";
import { toSearchedText } from "../index/writer.ts";
import type { Database } from "../index/database.ts";
import type { SegmentView } from "../index/segment.ts";
import { Statements } from "../index/statements.ts";
import { toBytes, toFloats } from "../lsa/semantic-index.ts";
import { ByteVectors } from "../ranking/byte-vectors.ts";
import type { Embedder } from "./embedder.ts";

/** The vectors of a model for the chunks of one index, in an ordinary table by the digest of what was embedded. */
export class DenseIndex {
  readonly #statements: Statements;
  readonly #segments = new Map<string, ByteVectors>();

  constructor(database: Database) {
    this.#statements = new Statements(database);
  }

  /** The vectors of a segment's chunks, zero where there is none yet; `undefined` when there is none at all. */
  vectors({ segment, ids }: SegmentView, model: string, size: number): ByteVectors | undefined {
    const key = `${segment} ${size} ${model}`;
    const known = this.#segments.get(key);
    if (known !== undefined) return known;
    const first = ids[0] ?? 0;
    const rows = this.#statements.all<{ chunk: number; vector: Uint8Array }>(
      "SELECT chunk, vector FROM chunks JOIN vectors USING (digest) WHERE model = ? AND chunk BETWEEN ? AND ? ORDER BY chunk",
      ...[model, first, ids.at(-1) ?? -1],
    );
    if (rows.length === 0) return undefined;
    const vectors = new ByteVectors(size, ids.length);
    let ordinal = 0;
    for (const { chunk, vector } of rows) {
      while (ordinal < ids.length && (ids[ordinal] ?? 0) < chunk) ordinal += 1;
      if (ids[ordinal] === chunk && vector.length === size * 4) vectors.set(ordinal, toFloats(vector));
    }
    // Kept only when none can come to it any more.
    if (rows.length === ids.length) this.#segments.set(key, vectors);
    for (const oldest of this.#segments.keys()) {
      if (this.#segments.size <= 64) break;
      this.#segments.delete(oldest);
    }
    return vectors;
  }

  /** A chunk's vector as it was embedded. */
  vector(chunk: number, model: string): Float32Array | undefined {
    const row = this.#statements.get<{ vector: Uint8Array }>(
      "SELECT vector FROM chunks JOIN vectors USING (digest) WHERE model = ? AND chunk = ?",
      ...[model, chunk],
    );
    return row && toFloats(row.vector);
  }

  /** Whether anything was embedded by a model. */
  hasAny(model: string): boolean {
    return this.#statements.get("SELECT 1 FROM vectors WHERE model = ? LIMIT 1", model) !== undefined;
  }

  has(model: string, digest: Uint8Array): boolean {
    return this.#statements.get("SELECT 1 FROM vectors WHERE model = ? AND digest = ?", model, digest) !== undefined;
  }

  store(model: string, digest: Uint8Array, vector: Float32Array): void {
    this.#statements.run("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", model, digest, toBytes(vector));
  }
}

/**
 * Embeds the chunks that have no vectors yet; those of a text that was embedded before are not asked for again.
 *
 * @throws ToolyardError `upstream_failed`, with what was embedded by then kept
 */
export async function embedMissing(
  index: CollectionIndex,
  embedder: Embedder,
  signal: AbortSignal,
  onEmbedded?: (chunks: number) => void,
): Promise<number> {
  const { model, batch, document_prefix: prefix } = embedder.config;
  const { reader, dense } = index;
  let embedded = 0;
  for (let after = 0; ; ) {
    signal.throwIfAborted();
    const rows = reader.chunksAfter(after, batch * 2);
    const missing = rows.filter(({ digest }) => !dense.has(model, digest));
    const texts = missing.map((row) => {
      const title = reader.documentByNumber(row.document)?.title ?? null;
      return prefix + toSearchedText(title, row.heading, reader.text(row.document, row.start_at, row.end_at));
    });
    // oxlint-disable-next-line no-await-in-loop
    const vectors = await embedder.embed(texts);
    for (const [at, vector] of vectors.entries()) {
      const digest = missing[at]?.digest;
      if (digest !== undefined) dense.store(model, digest, vector);
    }
    embedded += vectors.length;
    onEmbedded?.(vectors.length);
    const last = rows.at(-1);
    if (last === undefined) return embedded;
    after = last.chunk;
  }
}
