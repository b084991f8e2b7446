import { ToolyardError } from "../../../core/errors.ts";
import { toSearchedText } from "../index/writer.ts";
import { type Hit, rankByTerms, type WeightedTerms } from "../ranking/bm25.ts";
import { widenQuery } from "../ranking/feedback.ts";
import { fuse, type FusedHit, type Fusion, type RankedList } from "../ranking/fuse.ts";
import { analyze, countTerms } from "../text/analyze.ts";
import type { DocumentRow } from "../index/reader.ts";
import { MIN_TERMS } from "../lsa/learn.ts";
import { SEMANTIC_CHUNKS } from "../lsa/semantic-index.ts";
import { foldQuery } from "../lsa/semantic-model.ts";
import { rankByVectors } from "../ranking/vectors.ts";
import type { SourcePart } from "./sources.ts";

/** The ways to find a chunk. */
export const RETRIEVERS = ["bm25", "feedback", "lsa", "dense"] as const;
export type Retriever = (typeof RETRIEVERS)[number];

/** What is put together where nobody says. */
export const DEFAULT_RETRIEVERS = ["bm25", "feedback", "lsa"] as const satisfies readonly Retriever[];

/** What is looked for. */
export interface SearchRequest {
  readonly query: string;
  readonly topK: number;
  readonly retrievers: readonly Retriever[];
  readonly fusion: Fusion;
  /** The query as a model's vector, for `dense`. */
  readonly dense?: { readonly model: string; readonly query: Float32Array };
  /** At most one chunk of a document. */
  readonly perDocument: boolean;
  /** Values that a document's metadata must have. */
  readonly filter: Readonly<Record<string, unknown>> | undefined;
}

/** A chunk that was found, in full. */
export interface FoundChunk {
  readonly hit: FusedHit;
  readonly collection: string;
  readonly shared: boolean;
  readonly document: DocumentRow;
  readonly ordinal: number;
  readonly heading: string | null;
  readonly start: number;
  readonly end: number;
  /** Reads its text, which must be done inside the search's own read. */
  text(): string;
}

/** What a ranking asked for came to otherwise than usual. */
export interface RankingNote {
  readonly retriever: Retriever;
  /** Whether it ranked nothing at all, for want of what it ranks by. */
  readonly leftOut: boolean;
  readonly note: string;
}

/** What a search found, and by what. */
export interface Retrieval {
  readonly chunks: FoundChunk[];
  readonly notes: readonly RankingNote[];
}

/** How much each counts when several are put together: what is built in is weaker at meanings than at words. */
const WEIGHTS: Readonly<Record<Retriever, number>> = { bm25: 1, feedback: 1, lsa: 0.3, dense: 1 };
/** Feedback has half of its weight from the query's own words: beside it they only keep it from drifting away. */
const BM25_BESIDE_FEEDBACK = 0.4;

/** How many each retriever finds at least, for the ranks to be put together. */
const MIN_CANDIDATES = 100;
/** How many of the best by bytes are compared exactly. */
const RESCORED = 200;
/** Feedback learns nothing from a handful of chunks. */
export const MIN_FEEDBACK_CHUNKS = 50;

/** Searches the parts for a query; synchronous, so that it sees one state of them. */
export function retrieve(parts: readonly SourcePart[], request: SearchRequest): Retrieval {
  const { topK, retrievers, perDocument, filter } = request;
  // What is left out afterwards must not leave too few.
  const isSelective = filter !== undefined && Object.keys(filter).length > 0;
  const candidates = isSelective ? Number.MAX_SAFE_INTEGER : Math.max(MIN_CANDIDATES, perDocument ? topK * 4 : topK);
  const query = new Query(request.query, parts, candidates);
  const notes: RankingNote[] = [];
  const lists = retrievers.map((retriever): RankedList => {
    const note = noteOn(parts, retriever, request.dense);
    if (note !== undefined) notes.push(note);
    const hits = note?.leftOut === true ? [] : rank(parts, retriever, { query, dense: request.dense }, candidates);
    return { retriever, weight: weightOf(retriever, retrievers), hits };
  });
  const fused = fuse(lists, candidates, request.fusion);
  const found: FoundChunk[] = [];
  const seen = new Set<string>();
  for (const hit of fused) {
    if (found.length === topK) break;
    const chunk = readHit(parts, hit);
    const key = `${hit.part} ${chunk.document.document}`;
    if (perDocument && seen.has(key)) continue;
    if (filter !== undefined && !matches(chunk.document, filter)) continue;
    seen.add(key);
    found.push(chunk);
  }
  return { chunks: found, notes };
}

/** What there is to say of a ranking before it ranks. */
function noteOn(
  parts: readonly SourcePart[],
  retriever: Retriever,
  dense: SearchRequest["dense"],
): RankingNote | undefined {
  const chunks = countChunks(parts);
  if (retriever === "feedback" && chunks < MIN_FEEDBACK_CHUNKS) {
    const note = `it learns from ${MIN_FEEDBACK_CHUNKS} chunks on, and there are ${chunks}: it ranks as bm25 does`;
    return { retriever, leftOut: false, note };
  }
  if (retriever === "lsa" && !parts.some(({ semantic, view }) => semantic.ranks(view))) {
    return { retriever, leftOut: true, note: whyNotLearned(parts) };
  }
  if (retriever === "dense" && !parts.some((part) => dense !== undefined && part.dense.hasAny(dense.model))) {
    const model = dense === undefined ? "the model" : dense.model;
    return { retriever, leftOut: true, note: `nothing that is searched has been embedded by ${model} yet` };
  }
  return undefined;
}

function whyNotLearned(parts: readonly SourcePart[]): string {
  const { min, max } = SEMANTIC_CHUNKS;
  // Each index learns from its own chunks alone.
  const indexes = [...new Set(parts.map(({ semantic }) => semantic))];
  const counts = indexes.map((one) => countChunks(parts.filter(({ semantic }) => semantic === one)));
  const most = Math.max(0, ...counts);
  if (most < min) return `it is learned from ${min} chunks of one collection on, and there are ${most}`;
  if (most > max) return `it is learned from up to ${max} chunks`;
  return `it is not learned: that is done after what was written, from at least ${MIN_TERMS} words that several chunks have`;
}

function countChunks(parts: readonly SourcePart[]): number {
  return parts.reduce((sum, { view }) => sum + view.chunks, 0);
}

function weightOf(retriever: Retriever, beside: readonly Retriever[]): number {
  return retriever === "bm25" && beside.includes("feedback") ? BM25_BESIDE_FEEDBACK : WEIGHTS[retriever];
}

/** A query, ranked by its words at most once however many retrievers start from that. */
class Query {
  readonly terms: WeightedTerms;
  readonly #parts: readonly SourcePart[];
  readonly #limit: number;
  #byTerms: Hit[] | undefined;
  #widened: WeightedTerms | undefined;

  constructor(text: string, parts: readonly SourcePart[], limit: number) {
    this.terms = countTerms(analyze(text));
    this.#parts = parts;
    this.#limit = limit;
  }

  get byTerms(): Hit[] {
    this.#byTerms ??= rankByTerms(this.#parts, this.terms, this.#limit);
    return this.#byTerms;
  }

  /** With what it learns from its best chunks; the query as it is where there are too few to learn from. */
  get widened(): WeightedTerms {
    this.#widened ??= this.#widen();
    return this.#widened;
  }

  #widen(): WeightedTerms {
    const parts = this.#parts;
    if (countChunks(parts) < MIN_FEEDBACK_CHUNKS) return this.terms;
    return widenQuery(parts, this.terms, this.byTerms, (hit) => {
      const { document, heading, text } = readHit(parts, { ...hit, ranks: {} });
      return analyze(toSearchedText(document.title, heading, text()));
    });
  }
}

function rank(
  parts: readonly SourcePart[],
  retriever: Retriever,
  { query, dense }: { readonly query: Query; readonly dense: SearchRequest["dense"] | undefined },
  limit: number,
): Hit[] {
  switch (retriever) {
    case "bm25":
      return query.byTerms;
    case "feedback":
      return query.widened === query.terms ? query.byTerms : rankByTerms(parts, query.widened, limit);
    case "lsa":
      return rankBySemantics(parts, query.widened, limit);
    case "dense":
      return dense === undefined ? [] : rankByEmbeddings(parts, dense, limit);
  }
}

/** Bytes find the best; the order of those is that of the vectors as they were embedded. */
function rankByEmbeddings(
  parts: readonly SourcePart[],
  { model, query }: NonNullable<SearchRequest["dense"]>,
  limit: number,
): Hit[] {
  const rough = rankByVectors(parts, Math.max(limit, RESCORED), (part) => {
    const chunks = part.dense.vectors(part.view, model, query.length);
    return chunks && { query, chunks };
  });
  const exact = rough.slice(0, RESCORED).map((hit): Hit => {
    const vector = parts[hit.part]?.dense.vector(hit.chunk, model);
    return vector === undefined ? hit : { ...hit, score: dot(query, vector) };
  });
  const best = exact.toSorted((left, right) => right.score - left.score);
  return [...best, ...rough.slice(RESCORED)].slice(0, limit);
}

function dot(left: Float32Array, right: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < left.length; at++) sum += (left[at] ?? 0) * (right[at] ?? 0);
  return sum;
}

/** Each index has learned a space of its own, so the query goes into each. */
function rankBySemantics(parts: readonly SourcePart[], terms: WeightedTerms, limit: number): Hit[] {
  const queries = new Map<SourcePart["semantic"], Float32Array | undefined>();
  return rankByVectors(parts, limit, ({ semantic, view }) => {
    const model = semantic.model();
    const chunks = model && semantic.vectors(model, view);
    if (model === undefined || chunks === undefined) return undefined;
    if (!queries.has(semantic)) queries.set(semantic, foldQuery(terms, model));
    const query = queries.get(semantic);
    return query && { query, chunks };
  });
}

function readHit(parts: readonly SourcePart[], hit: FusedHit): FoundChunk {
  const part = parts[hit.part];
  const chunk = part?.reader.chunk(hit.chunk);
  const document = chunk && part?.reader.documentByNumber(chunk.document);
  if (part === undefined || chunk === undefined || document === undefined) {
    throw new ToolyardError("internal_error", "The index names a chunk that is not there");
  }
  return {
    hit,
    collection: part.collection,
    shared: part.shared,
    document,
    ordinal: chunk.ordinal,
    heading: chunk.heading,
    start: chunk.start_at,
    end: chunk.end_at,
    text: () => part.reader.text(chunk.document, chunk.start_at, chunk.end_at),
  };
}

/** Whether the metadata has every value, or one of them where several are given. */
export function matches({ metadata }: DocumentRow, filter: Readonly<Record<string, unknown>>): boolean {
  const fields: unknown = metadata === null ? {} : JSON.parse(metadata);
  return Object.entries(filter).every(([key, wanted]) => {
    const value: unknown = typeof fields === "object" && fields !== null ? Reflect.get(fields, key) : undefined;
    const choices: readonly unknown[] = Array.isArray(wanted) ? wanted : [wanted];
    return Array.isArray(value) ? choices.some((choice) => value.includes(choice)) : choices.includes(value);
  });
}
