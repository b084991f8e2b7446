import { z } from "zod";
import type { Cell } from "../../query/cell.ts";

const DbId = z.string().min(1).max(128).describe("As text2sql:list_databases names it.");
const Query = z
  .string()
  .min(1)
  .max(1 << 20);
const TimeoutMs = z.int().min(1).optional().describe("Milliseconds; the query is interrupted then.");

export const ListDatabasesResult = z.object({
  databases: z.array(z.string()),
  details: z.array(
    z.object({
      db_id: z.string(),
      engine: z.enum(["sqlite", "duckdb", "postgres"]),
      size_bytes: z.number().nullable().describe("Of its file; null for one on a server."),
    }),
  ),
  note: z.string().optional().describe("How to have databases served, where there are none."),
});
export type ListDatabasesResult = z.infer<typeof ListDatabasesResult>;

export const GetSchemaParams = z.strictObject({
  db_id: DbId,
  table_names: z.array(z.string().min(1).max(256)).min(1).max(1_000).nullish().describe("All tables by default."),
  samples: z.int().min(0).max(20).default(3).describe("Different values to show of each column."),
  row_counts: z.boolean().default(true),
  timeout_ms: TimeoutMs,
});

export const CellShape: z.ZodType<Cell> = z.json() as z.ZodType<Cell>; // the same values, readonly

const Column = z.object({
  name: z.string(),
  type: z.string(),
  pk: z.boolean(),
  nullable: z.boolean(),
  default: z.string().nullable(),
  comment: z.string().optional(),
  samples: z.array(CellShape).optional(),
});
const Table = z.object({
  kind: z.enum(["table", "view"]),
  columns: z.array(Column),
  primary_key: z.array(z.string()),
  foreign_keys: z.array(z.object({ to_table: z.string(), from_col: z.string(), to_col: z.string() })),
  indexes: z.array(z.object({ name: z.string(), columns: z.array(z.string()), unique: z.boolean() })),
  reference: z.string().describe("What a query names it by, quoted."),
  row_count: z.number().nullable().describe("null for views, and where it could not be counted in time."),
  ddl: z.string().nullable(),
  comment: z.string().optional(),
});
export const GetSchemaResult = z.object({
  db_id: z.string(),
  dialect: z.enum(["sqlite", "duckdb", "postgres"]),
  schema: z.record(z.string(), Table),
  missing: z.array(z.string()).describe("Names that were asked for and that no table has."),
  tables_omitted: z.int().describe("Tables beyond the most that one answer describes; ask for them by name."),
  complete: z.boolean().describe("false where samples or counts are missing because the time was over."),
});
export type GetSchemaResult = z.infer<typeof GetSchemaResult>;

export const ExecuteParams = z.strictObject({
  db_id: DbId,
  query: Query.describe("One statement that reads."),
  max_rows: z.int().min(1).optional().describe("The server's usual number by default."),
  max_bytes: z.int().min(1).optional().describe("Of the rows as JSON."),
  timeout_ms: TimeoutMs,
});
export const ExecuteResult = z.object({
  columns: z.array(z.string()),
  types: z.array(z.string().nullable()),
  rows: z.array(z.array(CellShape)),
  row_count: z.int().describe("Rows in this answer."),
  truncated: z.boolean().describe("There is more than this."),
  truncated_by: z.enum(["rows", "bytes"]).nullable(),
  size_bytes: z.int(),
});
export type ExecuteResult = z.infer<typeof ExecuteResult>;

export const ExplainParams = z.strictObject({ db_id: DbId, query: Query, timeout_ms: TimeoutMs });
export const ExplainResult = z.object({
  db_id: z.string(),
  dialect: z.enum(["sqlite", "duckdb", "postgres"]),
  plan: z.string(),
});
export type ExplainResult = z.infer<typeof ExplainResult>;

export const COMPARISONS = ["set", "multiset", "ordered", "auto"] as const;
export const ScoreParams = z.strictObject({
  db_id: DbId,
  predicted: z
    .string()
    .max(1 << 20)
    .describe("The query to be judged; an empty one is wrong."),
  gold: Query,
  compare: z
    .enum(COMPARISONS)
    .default("set")
    .describe(
      "set: the same rows, as BIRD measures it; multiset: equally often; ordered: in the same order; auto: ordered where gold asks for an order, set elsewhere.",
    ),
  significant_digits: z
    .int()
    .min(1)
    .max(17)
    .optional()
    .describe("Numbers are compared to so many; exactly by default."),
  timeout_ms: TimeoutMs.describe("Milliseconds for both queries together."),
});
export const ScoreResult = z.object({
  correct: z.boolean(),
  score: z.number().describe("1 or 0."),
  compare: z.enum(["set", "multiset", "ordered"]).describe("What was compared by."),
  matches: z.object({ set: z.boolean(), multiset: z.boolean(), ordered: z.boolean() }),
  gold_rows: z.int(),
  predicted_rows: z.int().nullable(),
  predicted_error: z
    .object({ error: z.string(), message: z.string() })
    .nullable()
    .describe("Why the prediction failed."),
});
export type ScoreResult = z.infer<typeof ScoreResult>;
