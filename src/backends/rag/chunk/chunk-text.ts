import type { Block } from "./block.ts";
import type { Mark, TextShape } from "../../../documents/read-document.ts";
import { findBlocks } from "./sections.ts";
import { estimateTokens } from "./tokens.ts";

/** A stretch of a text that is found as one. */
export interface Chunk {
  readonly start: number;
  readonly end: number;
  /** The headings above it, joined by ` > `. */
  readonly heading: string | null;
}

/** How large chunks are, in tokens as they are estimated. */
export interface ChunkSize {
  /** Chunks are filled up to it. */
  readonly maxTokens: number;
  /** A section smaller than this goes on into the next one. */
  readonly minTokens: number;
  /** Tokens at the end of a chunk that the next one of the same section begins with. */
  readonly overlapTokens: number;
}

export const DEFAULT_CHUNK_SIZE: ChunkSize = { maxTokens: 400, minTokens: 80, overlapTokens: 40 };

interface Piece extends Block {
  readonly tokens: number;
}

const SENTENCE_END = /[.!?。！？…]["'”’)\]]*\s+|[。！？]|\n/g;

/** Cuts a text along its structure: at headings, else between paragraphs, else between sentences, else between words. */
export function chunkText(
  text: string,
  {
    shape = "plain",
    marks = [],
    size = DEFAULT_CHUNK_SIZE,
  }: { shape?: TextShape; marks?: readonly Mark[]; size?: ChunkSize } = {},
): Chunk[] {
  const pieces = findBlocks(text, shape, marks).flatMap((block) => fitPieces(text, block, size.maxTokens));
  const chunks: Chunk[] = [];
  let open: Piece[] = [];
  let tokens = 0;
  const close = (): void => {
    const [first] = open;
    const last = open.at(-1);
    if (first === undefined || last === undefined) return;
    chunks.push({ start: first.start, end: last.end, heading: toHeading(first.headings) });
    open = [];
    tokens = 0;
  };
  for (const piece of pieces) {
    const last = open.at(-1);
    const sameSection = last !== undefined && sameHeadings(last.headings, piece.headings);
    if (tokens + piece.tokens > size.maxTokens) {
      const repeated = sameSection ? lastPieces(open, size, piece.tokens) : [];
      close();
      open = repeated;
      tokens = repeated.reduce((sum, one) => sum + one.tokens, 0);
    } else if (last !== undefined && !sameSection && tokens >= size.minTokens) close();
    open.push(piece);
    tokens += piece.tokens;
  }
  close();
  return chunks;
}

/** The pieces at the end that fit into the overlap, and beside what comes. */
function lastPieces(pieces: readonly Piece[], { maxTokens, overlapTokens }: ChunkSize, coming: number): Piece[] {
  const last: Piece[] = [];
  let tokens = 0;
  // Never all of them: a chunk must go on beyond the one before.
  for (const piece of pieces.slice(1).toReversed()) {
    tokens += piece.tokens;
    if (tokens > overlapTokens || tokens + coming > maxTokens) break;
    last.unshift(piece);
  }
  return last;
}

/** Cuts a block into pieces that a chunk can hold; one that could be a chunk of its own stays whole if it is a short paragraph. */
function fitPieces(text: string, block: Block, maxTokens: number): Piece[] {
  const tokens = estimateTokens(text.slice(block.start, block.end));
  if (tokens <= maxTokens / 4) return [{ ...block, tokens }];
  return cutSentences(text, block).flatMap((sentence) => {
    const size = estimateTokens(text.slice(sentence.start, sentence.end));
    return size <= maxTokens / 2 ? [{ ...sentence, tokens: size }] : cutWords(text, sentence, maxTokens);
  });
}

function cutSentences(text: string, { start, end, headings }: Block): Block[] {
  const sentences: Block[] = [];
  let from = start;
  for (const match of text.slice(start, end).matchAll(SENTENCE_END)) {
    const to = start + match.index + match[0].length;
    if (text.slice(from, to).trim() === "") continue;
    sentences.push({ start: from, end: to, headings });
    from = to;
  }
  if (text.slice(from, end).trim() !== "") sentences.push({ start: from, end, headings });
  return sentences;
}

/** Cuts what has no sentences: at white space where there is any, never inside a character. */
function cutWords(text: string, { start, end, headings }: Block, maxTokens: number): Piece[] {
  const pieces: Piece[] = [];
  const target = Math.max(1, Math.floor(maxTokens / 2));
  for (let from = start; from < end; ) {
    let to = Math.min(end, from + target * 6);
    while (to - from > 16 && estimateTokens(text.slice(from, to)) > target) to = from + Math.ceil((to - from) / 2);
    if (to < end) {
      const space = text.slice(from, to).search(/\s\S*$/);
      if (space > (to - from) / 2) to = from + space + 1;
      if ((text.charCodeAt(to) & 0xfc00) === 0xdc00) to += 1;
    }
    pieces.push({ start: from, end: to, headings, tokens: estimateTokens(text.slice(from, to)) });
    from = to;
  }
  return pieces;
}

function sameHeadings(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((heading, index) => heading === right[index]);
}

function toHeading(headings: readonly string[]): string | null {
  const named = headings.filter((heading) => heading !== "");
  return named.length === 0 ? null : named.join(" > ");
}
