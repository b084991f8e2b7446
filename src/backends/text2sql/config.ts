import { z } from "zod";

const Limit = (maximum: number) => z.int().min(1).max(maximum);

const DatabaseConfig = z.union([
  z.string().min(1),
  z.strictObject({ engine: z.enum(["sqlite", "duckdb"]).optional(), path: z.string().min(1) }),
  z.strictObject({
    engine: z.literal("postgres").optional(),
    url: z.string().regex(/^postgres(ql)?:\/\//, { error: "a PostgreSQL database is named by a postgres:// URL" }),
    /** Serves it although its role is a superuser or may touch the server's files. */
    allow_privileged_role: z.boolean().default(false),
  }),
]);
export type DatabaseConfig = z.infer<typeof DatabaseConfig>;

const Databases = z.record(z.string().min(1).max(128), DatabaseConfig);

/** The backend's entry in the config file. */
export const Text2SqlConfig = z.strictObject({
  /** What each id stands for: a file of SQLite or DuckDB, or a postgres:// URL. */
  databases: Databases.default({}),
  /** The known config's other name for `databases`. */
  db_paths: Databases.optional(),
  /** Folders whose database files are served under their names, also those in a folder of their own name, as BIRD has them. */
  folders: z
    .array(z.string())
    .default([])
    // One that is empty is that of a variable which nobody set.
    .transform((folders) => folders.filter((folder) => folder !== "")),
  /** Rows of an answer when the call does not say. */
  default_rows: Limit(100_000).default(100),
  max_rows: Limit(1_000_000).default(10_000),
  /** Bytes of an answer's rows as JSON. */
  max_bytes: Limit(1 << 28).default(1 << 20),
  /** Milliseconds of one query when the call does not say. */
  default_timeout_ms: Limit(3_600_000).default(30_000),
  max_timeout_ms: Limit(3_600_000).default(120_000),
  /** MiB that the process of one query may hold. */
  memory_mib: z
    .int()
    .min(256)
    .max(1 << 20)
    .default(1_024),
  /** Queries that run at once. */
  processes: Limit(256).default(4),
  /** Tables that one answer describes. */
  max_tables: Limit(10_000).default(200),
  /** Rows of each of the two results that a score compares. */
  max_score_rows: Limit(10_000_000).default(100_000),
});
export type Text2SqlConfig = z.infer<typeof Text2SqlConfig>;
