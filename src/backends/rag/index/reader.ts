import type { Database } from "./database.ts";
import { decodePostings, type Postings } from "./codec.ts";
import { FrequencyCache } from "./frequency-cache.ts";
import type { PostingsCache } from "./postings-cache.ts";
import { Statements } from "./statements.ts";
import { type Segment, type SegmentRow, type SegmentView, toSegment, viewSegment } from "./segment.ts";

/** An index as it is in one generation. */
export interface IndexSnapshot {
  readonly generation: number;
  readonly segments: readonly SegmentView[];
}

/** A document without its text. */
export interface DocumentRow {
  readonly document: number;
  readonly id: string;
  readonly title: string | null;
  readonly source: string | null;
  readonly media_type: string;
  readonly metadata: string | null;
  readonly digest: Uint8Array;
  readonly characters: number;
  readonly bytes: number;
  readonly first_chunk: number;
  readonly chunks: number;
  readonly indexed_at: number;
}

/** A chunk's place in its document. */
export interface ChunkRow {
  readonly chunk: number;
  readonly document: number;
  readonly ordinal: number;
  readonly start_at: number;
  readonly end_at: number;
  readonly heading: string | null;
  readonly digest: Uint8Array;
}

/** Ascending ranges of chunks, `[first, count]`. */
export type ChunkRanges = readonly (readonly [number, number])[];

/** Documents that are to be seen: of this generation or before, and not removed by then. */
const VISIBLE = "added <= @generation AND (removed IS NULL OR removed > @generation)";
let lastReader = 0;

/** Reads one index; what it answers inside one `read` is of one generation. */
export class IndexReader {
  readonly #database: Database;
  readonly #cache: PostingsCache;
  readonly #frequencies = new FrequencyCache();
  readonly #key = ++lastReader;
  readonly #segments = new Map<number, Segment>();
  readonly #statements: Statements;
  #snapshot: IndexSnapshot | undefined;
  #views = new WeakMap<IndexSnapshot, Map<string, readonly SegmentView[]>>();

  constructor(database: Database, cache: PostingsCache) {
    this.#database = database;
    this.#statements = new Statements(database);
    this.#cache = cache;
  }

  /** Runs `work`, which must be synchronous, on one state of the file, whatever another process writes meanwhile. */
  read<T>(work: (snapshot: IndexSnapshot) => T): T {
    return this.#database.transaction(() => work(this.snapshot()))();
  }

  get generation(): number {
    return Number(
      this.#statements.get<{ value: number }>("SELECT value FROM state WHERE name = 'generation'")?.value ?? 0,
    );
  }

  /** The index as it is now; a generation is put together once. */
  snapshot(): IndexSnapshot {
    const { generation } = this;
    if (this.#snapshot?.generation === generation) return this.#snapshot;
    const rows = this.#statements.all<{ segment: number }>(
      `SELECT segment FROM segments WHERE ${VISIBLE} ORDER BY first_chunk, segment`,
      { generation },
    );
    const dead = this.#deadRanges(generation);
    const numbers = new Set(rows.map(({ segment }) => segment));
    for (const segment of this.#segments.keys()) if (!numbers.has(segment)) this.#segments.delete(segment);
    this.#snapshot = {
      generation,
      segments: rows.map(({ segment }) => viewSegment(this.#segment(segment), dead)),
    };
    return this.#snapshot;
  }

  /** A snapshot without the chunks of documents that something above hides; `key` names the set of ids. */
  segmentsWithout(snapshot: IndexSnapshot, readIds: () => readonly string[], key: string): readonly SegmentView[] {
    const views = this.#views.get(snapshot) ?? new Map<string, readonly SegmentView[]>();
    this.#views.set(snapshot, views);
    const known = views.get(key);
    if (known !== undefined) return known;
    const hidden = readIds().flatMap((id) => {
      const row = this.document(id);
      return row === undefined ? [] : [[row.first_chunk, row.chunks] as const];
    });
    if (hidden.length === 0) {
      views.set(key, snapshot.segments);
      return snapshot.segments;
    }
    const ranges = [...this.#deadRanges(snapshot.generation), ...hidden];
    const made = snapshot.segments.map((segment) => viewSegment(segment, ranges));
    // One per overlay that is in use; the oldest go first.
    for (const oldest of views.keys()) {
      if (views.size < 256) break;
      views.delete(oldest);
    }
    views.set(key, made);
    return made;
  }

  postings(segment: number, term: string): Postings | undefined {
    return this.#cache.get(`${this.#key} ${segment} ${term}`, () => {
      const row = this.#statements.get<{ chunks: number; data: Uint8Array }>(
        "SELECT chunks, data FROM postings WHERE segment = @segment AND term = @term",
        { segment, term },
      );
      return row && decodePostings(row.data, row.chunks);
    });
  }

  /** In how many chunks of a segment a term is, dead ones included. */
  frequency(segment: number, term: string): number {
    return this.#frequencies.get(segment, term, () => {
      const row = this.#statements.get<{ chunks: number }>(
        "SELECT chunks FROM postings WHERE segment = @segment AND term = @term",
        { segment, term },
      );
      return row?.chunks ?? 0;
    });
  }

  chunk(chunk: number): ChunkRow | undefined {
    return this.#statements.get<ChunkRow>("SELECT * FROM chunks WHERE chunk = @chunk", { chunk });
  }

  chunksOf({ first_chunk: first, chunks }: DocumentRow): ChunkRow[] {
    return this.#statements.all<ChunkRow>(
      "SELECT * FROM chunks WHERE chunk >= @first AND chunk < @end ORDER BY chunk",
      {
        first,
        end: first + chunks,
      },
    );
  }

  /** The chunks that are to be seen, after a given one. */
  chunksAfter(chunk: number, limit: number): ChunkRow[] {
    return this.#statements.all<ChunkRow>(
      `SELECT chunks.* FROM chunks JOIN documents USING (document) WHERE chunk > @chunk AND ${VISIBLE} ORDER BY chunk LIMIT @limit`,
      { chunk, limit, generation: this.generation },
    );
  }

  document(id: string): DocumentRow | undefined {
    const { generation } = this;
    return this.#statements.get<DocumentRow>(`SELECT * FROM documents WHERE id = @id AND ${VISIBLE}`, {
      id,
      generation,
    });
  }

  documentByNumber(document: number): DocumentRow | undefined {
    return this.#statements.get<DocumentRow>("SELECT * FROM documents WHERE document = @document", { document });
  }

  /** Documents by id, after a given one. */
  list(after: string, limit: number, prefix = ""): DocumentRow[] {
    const { generation } = this;
    return this.#statements.all<DocumentRow>(
      `SELECT * FROM documents WHERE id > @after AND id >= @prefix AND substr(id, 1, length(@prefix)) = @prefix AND ${VISIBLE}
       ORDER BY id LIMIT @limit`,
      { after, limit, prefix, generation },
    );
  }

  totals(): { readonly documents: number; readonly chunks: number; readonly bytes: number } {
    const { generation } = this;
    const row = this.#statements.get<{ documents: number; chunks: number | null; bytes: number | null }>(
      `SELECT count(*) AS documents, sum(chunks) AS chunks, sum(bytes) AS bytes FROM documents WHERE ${VISIBLE}`,
      { generation },
    );
    return { documents: row?.documents ?? 0, chunks: row?.chunks ?? 0, bytes: row?.bytes ?? 0 };
  }

  hidden(): string[] {
    const { generation } = this;
    return this.#statements
      .all<{ id: string }>(`SELECT id FROM hidden WHERE ${VISIBLE} ORDER BY id`, { generation })
      .map(({ id }) => id);
  }

  /** A stretch of a document's text. */
  text(document: number, start: number, end: number): string {
    const parts = this.#statements.all<{ start_at: number; text: string }>(
      `SELECT start_at, text FROM text_parts WHERE document = @document AND start_at < @end AND start_at >=
       (SELECT max(start_at) FROM text_parts WHERE document = @document AND start_at <= @start) ORDER BY start_at`,
      { document, start, end },
    );
    const first = parts[0];
    if (first === undefined) return "";
    const text = parts.length === 1 ? first.text : parts.map((part) => part.text).join("");
    return text.slice(start - first.start_at, end - first.start_at);
  }

  /** Bytes of the file, those that wait to be written back included. */
  sizeBytes(): number {
    const pages = Number(this.#database.pragma("page_count", { simple: true }));
    return pages * Number(this.#database.pragma("page_size", { simple: true }));
  }

  #segment(number: number): Segment {
    const known = this.#segments.get(number);
    if (known !== undefined) return known;
    const row = this.#statements.get<SegmentRow>(
      "SELECT segment, chunks, ids, lengths FROM segments WHERE segment = @number",
      {
        number,
      },
    );
    if (row === undefined) throw new Error(`there is no segment ${number}`);
    const segment = toSegment(row);
    this.#segments.set(number, segment);
    return segment;
  }

  #deadRanges(generation: number): [number, number][] {
    const rows = this.#statements.all<{ chunk: number }>("SELECT chunk FROM dead ORDER BY chunk");
    const ranges: [number, number][] = [];
    for (const { chunk } of rows) {
      const last = ranges.at(-1);
      if (last !== undefined && last[0] + last[1] === chunk) last[1] += 1;
      else ranges.push([chunk, 1]);
    }
    const removed = this.#statements.all<{ first_chunk: number; chunks: number }>(
      "SELECT first_chunk, chunks FROM documents WHERE removed IS NOT NULL AND removed <= @generation",
      { generation },
    );
    return [...ranges, ...removed.map((row): [number, number] => [row.first_chunk, row.chunks])];
  }
}
