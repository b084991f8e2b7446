import type { Cell } from "./cell.ts";

/** What bounds a result. */
export interface RowLimits {
  readonly maxRows: number;
  /** Of all rows as JSON, in UTF-8. */
  readonly maxBytes: number;
}

/** Rows of a query with what was left out of them. */
export interface CollectedRows {
  readonly columns: readonly string[];
  /** What the engine calls the columns' types; `null` where it has none. */
  readonly types: readonly (string | null)[];
  readonly rows: readonly (readonly Cell[])[];
  readonly row_count: number;
  readonly truncated: boolean;
  /** Which limit there is more beyond. */
  readonly truncated_by: "rows" | "bytes" | null;
  readonly size_bytes: number;
}

/** Takes rows until one more would be over a limit: a result that just fits is whole. */
export class RowCollector {
  readonly rows: (readonly Cell[])[] = [];
  readonly #limits: RowLimits;
  #sizeBytes = 2;
  #truncatedBy: CollectedRows["truncated_by"] = null;

  constructor(limits: RowLimits) {
    this.#limits = limits;
  }

  /** Takes a row, or says `false` when it does not fit: then no further one is wanted. */
  add(row: readonly Cell[]): boolean {
    if (this.#truncatedBy !== null) return false;
    if (this.rows.length >= this.#limits.maxRows) {
      this.#truncatedBy = "rows";
      return false;
    }
    const size = Buffer.byteLength(JSON.stringify(row)) + (this.rows.length > 0 ? 1 : 0);
    if (this.#sizeBytes + size > this.#limits.maxBytes) {
      this.#truncatedBy = "bytes";
      return false;
    }
    this.#sizeBytes += size;
    this.rows.push(row);
    return true;
  }

  finish(columns: readonly string[], types: readonly (string | null)[]): CollectedRows {
    return {
      columns,
      types,
      rows: this.rows,
      row_count: this.rows.length,
      truncated: this.#truncatedBy !== null,
      truncated_by: this.#truncatedBy,
      size_bytes: this.#sizeBytes,
    };
  }
}
