/** What a file of data is in. */
export type DataFormat = "csv" | "parquet" | "xlsx" | "json";

const FORMATS: Readonly<Record<string, DataFormat>> = {
  csv: "csv",
  tsv: "csv",
  parquet: "parquet",
  xlsx: "xlsx",
  jsonl: "json",
  ndjson: "json",
};

/** A file of data, found and judged. */
export interface DataFile {
  /** From its folder, with `/` between. */
  readonly name: string;
  /** Where it lies, without symbolic links. */
  readonly path: string;
  /** What it must lie in, without symbolic links. */
  readonly root: string;
  readonly format: DataFormat;
  readonly sizeBytes: number;
}

/** What a file is in by its name; `undefined` for one that is no data. */
export function formatOf(name: string): DataFormat | undefined {
  return FORMATS[name.slice(name.lastIndexOf(".") + 1).toLowerCase()];
}

/** The name without its ending. */
export function stemOf(name: string): string {
  const dot = name.lastIndexOf(".");
  return dot > 0 ? name.slice(0, dot) : name;
}
