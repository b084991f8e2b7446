import { decodeAscending, decodeNumbers } from "./codec.ts";

/** A part of an index that never changes, but for which of its chunks are dead. */
export interface Segment {
  readonly segment: number;
  /** The chunks' own numbers, ascending, by ordinal. */
  readonly ids: Uint32Array;
  /** The chunks' lengths in terms, by ordinal. */
  readonly lengths: Uint32Array;
}

/** A segment as one search sees it: the chunks that count, and what they amount to. */
export interface SegmentView extends Segment {
  /** 1 for each ordinal that is not to be seen; absent when all are. */
  readonly dead: Uint8Array | undefined;
  readonly chunks: number;
  readonly terms: number;
}

/** A row of the table of segments. */
export interface SegmentRow {
  readonly segment: number;
  readonly chunks: number;
  readonly ids: Uint8Array;
  readonly lengths: Uint8Array;
}

export function toSegment({ segment, chunks, ids, lengths }: SegmentRow): Segment {
  return { segment, ids: decodeAscending(ids, chunks), lengths: decodeNumbers(lengths, chunks) };
}

/** Looks at a segment without the chunks that are dead, given as ascending ranges `[first, count]`. */
export function viewSegment(segment: Segment, deadRanges: readonly (readonly [number, number])[]): SegmentView {
  const { ids, lengths } = segment;
  let dead: Uint8Array | undefined;
  let chunks = ids.length;
  const first = ids[0] ?? 0;
  const last = ids.at(-1) ?? -1;
  for (const [start, count] of deadRanges) {
    if (start + count <= first || start > last) continue;
    for (let at = lowerBound(ids, start); at < ids.length && (ids[at] ?? 0) < start + count; at++) {
      dead ??= new Uint8Array(ids.length);
      if (dead[at] === 0) chunks -= 1;
      dead[at] = 1;
    }
  }
  let terms = 0;
  for (let ordinal = 0; ordinal < lengths.length; ordinal++) {
    if (dead?.[ordinal] !== 1) terms += lengths[ordinal] ?? 0;
  }
  return { ...segment, dead, chunks, terms };
}

/** The place of the first number that is not below `wanted`. */
function lowerBound(numbers: Uint32Array, wanted: number): number {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((numbers[middle] ?? 0) < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}
