import { compareTerms } from "../index/maintenance.ts";
import type { Statements } from "../index/statements.ts";
import type { TimeSlice } from "../time-slice.ts";

const PAGE = 2_000;

/** A term of a segment, with its postings as they are stored. */
export interface StoredPostings {
  readonly term: string;
  /** In how many chunks it is. */
  readonly chunks: number;
  readonly data: Uint8Array;
}

/** Walks through a segment's terms in their order, a page at a time: an open iterator would keep others from writing. */
export async function* walkPostings(
  statements: Statements,
  segment: number,
  slice: TimeSlice,
): AsyncGenerator<StoredPostings> {
  for (let after = ""; ; ) {
    const rows = statements.all<StoredPostings>(
      "SELECT term, chunks, data FROM postings WHERE segment = ? AND term > ? ORDER BY term LIMIT ?",
      ...[segment, after, PAGE],
    );
    for (const row of rows) {
      yield row;
      // oxlint-disable-next-line no-await-in-loop
      await slice.pause();
    }
    if (rows.length < PAGE) return;
    after = rows.at(-1)?.term ?? after;
  }
}

/** Walks through the terms of several segments in their order, with how many chunks of all of them have each. */
export async function* countChunksOfTerms(
  statements: Statements,
  segments: readonly number[],
  slice: TimeSlice,
): AsyncGenerator<readonly [string, number]> {
  const cursors = segments.map((segment) => new CountCursor(statements, segment));
  for (;;) {
    let least: string | undefined;
    for (const { head } of cursors) {
      if (head !== undefined && (least === undefined || compareTerms(head.term, least) < 0)) least = head.term;
    }
    if (least === undefined) return;
    let chunks = 0;
    for (const cursor of cursors) if (cursor.head?.term === least) chunks += cursor.take();
    yield [least, chunks];
    // oxlint-disable-next-line no-await-in-loop
    await slice.pause();
  }
}

interface CountRow {
  readonly term: string;
  readonly chunks: number;
}

class CountCursor {
  readonly #statements: Statements;
  readonly #segment: number;
  #page: CountRow[] = [];
  #at = 0;

  constructor(statements: Statements, segment: number) {
    this.#statements = statements;
    this.#segment = segment;
    this.#load("");
  }

  get head(): CountRow | undefined {
    return this.#page[this.#at];
  }

  /** Moves on; answers the count of the term that was the head. */
  take(): number {
    const { head } = this;
    this.#at += 1;
    if (head !== undefined && this.#at === this.#page.length) this.#load(head.term);
    return head?.chunks ?? 0;
  }

  #load(after: string): void {
    this.#page = this.#statements.all<CountRow>(
      "SELECT term, chunks FROM postings WHERE segment = ? AND term > ? ORDER BY term LIMIT ?",
      ...[this.#segment, after, PAGE],
    );
    this.#at = 0;
  }
}
