/** The start of a table that code showed. */
export interface DisplayedTable {
  readonly columns: readonly string[];
  /** A cell is JSON. */
  readonly rows: readonly (readonly unknown[])[];
  /** Of the whole table. */
  readonly totalRows: number;
  /** Rows or columns were left out. */
  readonly truncated: boolean;
}

/** One thing that code showed, in every form that it has. */
export interface Display {
  /** It is the last expression's value; else `display(…)`, an open figure or the like showed it. */
  readonly isResult: boolean;
  readonly text?: string;
  readonly html?: string;
  readonly markdown?: string;
  readonly json?: unknown;
  readonly image?: {
    readonly mediaType: "image/png" | "image/jpeg" | "image/svg+xml";
    readonly base64: string;
  };
  readonly table?: DisplayedTable;
  /** Forms that it has and that were over the limit of bytes: `html`, `image` … */
  readonly omitted: readonly string[];
}
