import type { Cell } from "../../../query/cell.ts";
import type { CollectedRows, RowLimits } from "../../../query/row-collector.ts";

/** A database that a query may read, as the configuration names it. */
export type Target =
  | { readonly engine: "sqlite" | "duckdb"; readonly path: string }
  | { readonly engine: "postgres"; readonly url: string; readonly allowPrivilegedRole: boolean };

/** What bounds the work on one database. */
export interface ReaderLimits {
  readonly timeoutMs: number;
  readonly memoryMiB: number;
}

/** A table's column. */
export interface ColumnSchema {
  readonly name: string;
  readonly type: string;
  readonly pk: boolean;
  readonly nullable: boolean;
  readonly default: string | null;
  readonly comment?: string;
  /** Different values out of the first rows. */
  samples?: readonly Cell[];
}

/** A column that refers to another table's; of a key of several columns there is one for each. */
export interface ForeignKey {
  readonly to_table: string;
  readonly from_col: string;
  readonly to_col: string;
}

export interface IndexSchema {
  readonly name: string;
  readonly columns: readonly string[];
  readonly unique: boolean;
}

/** A table or a view. */
export interface TableSchema {
  readonly kind: "table" | "view";
  readonly columns: readonly ColumnSchema[];
  readonly primary_key: readonly string[];
  readonly foreign_keys: readonly ForeignKey[];
  readonly indexes: readonly IndexSchema[];
  readonly ddl: string | null;
  readonly comment?: string;
  /** `null` for a view, and while it is not counted. */
  row_count: number | null;
}

/** A table with the words that a query names it by. */
export interface NamedTable {
  readonly name: string;
  /** Its name quoted, with its schema's where it needs one. */
  readonly reference: string;
  readonly schema: TableSchema;
}

/** An open database of one engine; it reads and cannot do anything else. */
export interface Reader {
  /** @throws ToolyardError `invalid_input` for what does not read, `business_failure` with the engine's words. */
  readRows(sql: string, limits: RowLimits): Promise<CollectedRows>;
  /** The plan of a query as text, without running it. */
  explain(sql: string): Promise<string>;
  /** Every table and view, without counts and samples. */
  tables(): Promise<NamedTable[]>;
  /** Runs a question of the server's own. */
  all(sql: string): Promise<readonly (readonly Cell[])[]>;
  close(): Promise<void>;
}
