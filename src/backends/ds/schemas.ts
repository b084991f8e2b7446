import { z } from "zod";
import type { Cell } from "../../query/cell.ts";

const SeedPath = z
  .string()
  .min(1)
  .nullish()
  .describe("The folder of the data: one that the server's config names, or one inside of it.");
const TimeoutMs = z.int().min(1).optional().describe("Milliseconds; the work is stopped then.");
const FileName = z.string().min(1).max(1_024);
const Source = z
  .enum(["seed", "sandbox"])
  .optional()
  .describe(
    "seed: the folder of the data; sandbox: the working folder of the worker's own code session, which is meant where the server's config names no folder.",
  );
const Files = z.array(FileName).min(1).max(1_000);
const CellShape: z.ZodType<Cell> = z.json() as z.ZodType<Cell>; // the same values, readonly

export const InspectParams = z.strictObject({
  seed_path: SeedPath,
  source: Source,
  files: Files.optional().describe("All files of data in the folder by default."),
  timeout_ms: TimeoutMs,
});
const Column = z.object({
  name: z.string(),
  type: z.string(),
  is_numeric: z.boolean(),
  missing: z.int(),
  distinct: z.int(),
  min: CellShape,
  max: CellShape,
  mean: z.number().nullable(),
  standard_deviation: z.number().nullable(),
  samples: z.array(CellShape),
});
export const InspectResult = z.object({
  result: z.string().describe("All of it as text; where the config says so, as a model sums it up."),
  summary: z
    .object({
      model: z.string(),
      usage: z.object({ prompt_tokens: z.number(), completion_tokens: z.number() }).nullable(),
    })
    .optional()
    .describe("Which model summed it up, and what that cost."),
  warning: z.string().optional(),
  files: z.array(
    z.object({
      file: z.string(),
      format: z.string(),
      size_bytes: z.number(),
      sheet: z.string().nullable(),
      names: z.array(z.string()).optional().describe("What ds:query may call it."),
      rows: z.number().optional(),
      columns: z.array(Column).optional(),
      columns_omitted: z.int().optional(),
      missing_values: z.number().optional(),
      duplicates: z.number().nullable().optional(),
      note: z.string().nullable().optional(),
      error: z.string().optional(),
    }),
  ),
  files_omitted: z.int().describe("Files that there are beyond those described."),
});
export type InspectResult = z.infer<typeof InspectResult>;

export const ReadCsvParams = z.strictObject({
  csv_file: FileName.describe("A CSV, TSV, Parquet, XLSX or JSON-lines file."),
  max_rows: z.int().min(1).default(50),
  offset: z.int().min(0).default(0).describe("Rows to leave out at the beginning."),
  sheet: z.string().min(1).optional().describe("Of a workbook; the first one by default."),
  seed_path: SeedPath,
  source: Source,
  timeout_ms: TimeoutMs,
});
export const ReadCsvResult = z.object({
  result: z.string().describe("The rows as CSV."),
  file: z.string(),
  columns: z.array(z.string()),
  types: z.array(z.string().nullable()),
  rows: z.array(z.array(CellShape)),
  row_count: z.int(),
  total_rows: z.number(),
  truncated: z.boolean().describe("There are more rows than this."),
  note: z.string().nullable(),
});
export type ReadCsvResult = z.infer<typeof ReadCsvResult>;

export const QueryParams = z.strictObject({
  query: z
    .string()
    .min(1)
    .max(1 << 20)
    .describe('One SELECT in DuckDB\'s SQL. A file is a table under its name, as in FROM "sales.csv" or FROM sales.'),
  max_rows: z.int().min(1).default(100),
  max_bytes: z.int().min(1).optional(),
  seed_path: SeedPath,
  source: Source,
  files: Files.optional().describe("Those that the query names by default."),
  timeout_ms: TimeoutMs,
});
export const QueryResult = z.object({
  columns: z.array(z.string()),
  types: z.array(z.string().nullable()),
  rows: z.array(z.array(CellShape)),
  row_count: z.int(),
  truncated: z.boolean(),
  truncated_by: z.enum(["rows", "bytes"]).nullable(),
  size_bytes: z.int(),
});
export type QueryResult = z.infer<typeof QueryResult>;

export const RunPythonParams = z.strictObject({
  code: z.string().max(1 << 20),
  return_vars: z
    .array(z.string().regex(/^[\p{L}_][\p{L}\p{N}_]*$/u, { error: "a variable's name" }))
    .max(100)
    .nullish()
    .describe("Variables to show after the code."),
  seed_path: SeedPath,
  files: Files.nullish().describe("Files of the folder to copy beside the code; all of them by default."),
  timeout_ms: TimeoutMs,
});
export const RunPythonResult = z.object({
  result: z.string().describe("What it printed, what it raised and the variables, as text."),
  images: z.array(z.object({ type: z.string(), base64: z.string(), description: z.string() })),
  stdout: z.string(),
  stderr: z.string(),
  value: z.string().nullable().describe("The last expression."),
  error: z.object({ name: z.string(), message: z.string(), traceback: z.string() }).nullable(),
  variables: z.record(z.string(), z.string()),
  files: z.array(z.string()).describe("The files of the folder that the code finds in its working folder."),
  files_not_copied: z.array(z.string()).describe("Those that are too large to be copied."),
});
export type RunPythonResult = z.infer<typeof RunPythonResult>;
