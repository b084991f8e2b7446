import { setImmediate as nextTurn } from "node:timers/promises";
import type { OpenGate } from "../open-gate.ts";
import type { Database } from "./load-driver.ts";
import type { Shrinker } from "./shrinker.ts";
import type { WriteQueue } from "./write-queue.ts";

/** How many records one turn of the event loop looks at, and about how many bytes of answers it drops. */
const PART_RECORDS = 1_000;
const PART_BYTES = 1_048_576;

export interface PrunerDeps {
  readonly gate: OpenGate;
  readonly queue: WriteQueue;
  readonly database: Database;
  readonly shrinker: Shrinker;
}

/** Which records of a table with an `answer` are forgotten: SQL on its columns and on `@before`. */
export interface Pruned {
  readonly table: string;
  readonly isDue: string;
  /** Whether an index finds those that are due; else all are looked at, which takes some milliseconds for ten thousand. */
  readonly indexed: boolean;
}

interface Due {
  readonly rowid: number;
  readonly sizeBytes: number;
}

/** A stretch of the table, by its first and last rowid. */
interface Part {
  readonly from: number;
  readonly to: number;
}

/** Forgets old records part by part: thousands of them, or some large ones, would stop every call while they go. */
export class RecordPruner {
  readonly #deps: PrunerDeps;
  readonly #indexed: boolean;
  readonly #next;
  readonly #find;
  readonly #drop;

  constructor(deps: PrunerDeps, { table, isDue, indexed }: Pruned) {
    this.#deps = deps;
    this.#indexed = indexed;
    this.#next = deps.database
      .prepare<[number], number | null>(`SELECT min(rowid) FROM ${table} WHERE rowid > ?`)
      .pluck();
    // The length in octets is known without the answer's own pages.
    this.#find = deps.database.prepare<[Part & { readonly before: number }], Due>(
      `SELECT rowid, coalesce(octet_length(answer), 0) AS sizeBytes FROM ${table}
       WHERE ${indexed ? "" : "rowid BETWEEN @from AND @to AND"} ${isDue} LIMIT ${PART_RECORDS}`,
    );
    this.#drop = deps.database.prepare<[{ readonly before: number; readonly rowid: number }]>(
      `DELETE FROM ${table} WHERE rowid = @rowid AND ${isDue}`,
    );
  }

  /** @returns how many went. */
  async prune(before: number): Promise<number> {
    const { gate, queue, shrinker } = this.#deps;
    gate.check();
    let pruned = 0;
    for (let part = this.#partAfter(0); part !== undefined; ) {
      const due = this.#find.all({ ...part, before });
      const fitting = toPart(due);
      // What was renewed meanwhile is due no more.
      const drop = () => fitting.reduce((sum, { rowid }) => sum + this.#drop.run({ before, rowid }).changes, 0);
      // oxlint-disable-next-line no-await-in-loop -- one part at a time, so that calls go on between them
      if (fitting.length > 0) pruned += await queue.write(drop);
      // oxlint-disable-next-line no-await-in-loop
      else await nextTurn();
      gate.check();
      if (fitting.length < due.length) continue;
      if (this.#indexed && due.length < PART_RECORDS) break;
      part = this.#partAfter(part.to);
    }
    if (pruned > 0) await shrinker.shrink();
    return pruned;
  }

  /** The next records that are looked at; by an index, whichever it finds. */
  #partAfter(rowid: number): Part | undefined {
    if (this.#indexed) return { from: 0, to: 0 };
    const from = this.#next.get(rowid) ?? undefined;
    return from === undefined ? undefined : { from, to: from + PART_RECORDS - 1 };
  }
}

/** As many of them as are dropped in one turn. */
function toPart(due: readonly Due[]): readonly Due[] {
  let sizeBytes = 0;
  const last = due.findIndex((record) => (sizeBytes += record.sizeBytes) >= PART_BYTES);
  return last === -1 ? due : due.slice(0, last + 1);
}
