import { ToolyardError } from "../../../core/errors.ts";
import type { Cell } from "../../../query/cell.ts";
import type { JobContext } from "../../../processes/job.ts";
import type { CollectedRows, RowLimits } from "../../../query/row-collector.ts";
import { quoteName } from "../../../query/sql/quote.ts";
import { asksForOrder, readingStatement } from "../../../query/sql/statement.ts";
import { compareRows, type Comparison } from "./compare.ts";
import type { DuckDbKeeper } from "./duckdb-keeper.ts";
import type { NamedTable, Reader, ReaderLimits, Target } from "./reader.ts";

// What runs in the processes of the pool: everything here may hold its thread.

/** Rows that samples are taken from. */
const SAMPLED_ROWS = 1_000;
const SAMPLE_CHARACTERS = 80;

interface OnDatabase {
  readonly target: Target;
  readonly limits: ReaderLimits;
}

export interface ExecuteJob extends OnDatabase {
  readonly query: string;
  readonly rows: RowLimits;
}

export interface ExplainJob extends OnDatabase {
  readonly query: string;
}

export interface SchemaJob extends OnDatabase {
  /** All of them when absent. */
  readonly tableNames?: readonly string[] | undefined;
  readonly maxTables: number;
  readonly samples: number;
  readonly rowCounts: boolean;
}

export interface ScoreJob extends OnDatabase {
  readonly predicted: string;
  readonly gold: string;
  readonly rows: RowLimits;
  /** Numbers are compared to so many digits; exactly when absent. */
  readonly significantDigits?: number | undefined;
}

/** What {@link SchemaJob} answers. */
export interface FoundSchema {
  readonly tables: readonly NamedTable[];
  readonly missing: readonly string[];
  /** Tables that there are beyond the most that are told. */
  readonly omitted: number;
  /** Counts and samples are all there. */
  readonly complete: boolean;
}

/** What one query of a comparison came to. */
export type Attempt =
  | { readonly rowCount: number; readonly error: null }
  | { readonly rowCount: null; readonly error: { readonly name: string; readonly message: string } };

/** What {@link ScoreJob} answers. */
export interface FoundScore {
  readonly matches: Comparison;
  readonly goldAsksForOrder: boolean;
  readonly predicted: Attempt;
  readonly gold: { readonly rowCount: number };
}

export const jobs = {
  async execute({ query, rows, ...on }: ExecuteJob, context: JobContext): Promise<CollectedRows> {
    const { target, limits } = on;
    if (target.engine !== "duckdb") return withReader(on, context, (reader) => reader.readRows(query, rows));
    keeper ??= import("./duckdb-keeper.ts").then(({ DuckDbKeeper }) => new DuckDbKeeper());
    return (await keeper).readRows(target.path, { query, rows, limits, signal: context.signal });
  },
  explain: ({ query, ...on }: ExplainJob, context: JobContext): Promise<string> =>
    withReader(on, context, (reader) => reader.explain(query)),
  schema: (job: SchemaJob, context: JobContext): Promise<FoundSchema> =>
    withReader(job, context, (reader) => readSchema(reader, job, context)),
  score,
};

/** Of this process; loaded by its first query of DuckDB. */
let keeper: Promise<DuckDbKeeper> | undefined;

async function withReader<T>(
  { target, limits }: OnDatabase,
  { signal }: JobContext,
  work: (reader: Reader) => Promise<T>,
): Promise<T> {
  const reader = await open(target, limits, signal);
  try {
    return await work(reader);
  } finally {
    await reader.close();
  }
}

/** Only the engine that is asked for is loaded. */
async function open(target: Target, limits: ReaderLimits, signal: AbortSignal): Promise<Reader> {
  switch (target.engine) {
    case "sqlite":
      return (await import("./sqlite.ts")).openSqlite(target.path);
    case "duckdb":
      return (await import("./duckdb.ts")).openDuckDbReader(target.path, limits, signal);
    case "postgres":
      return (await import("./postgres.ts")).openPostgres(target, limits, signal);
  }
}

async function readSchema(reader: Reader, job: SchemaJob, { partial, signal }: JobContext): Promise<FoundSchema> {
  const all = await reader.tables();
  const { tableNames } = job;
  const wanted = tableNames === undefined ? all : tableNames.flatMap((name) => findTable(all, name) ?? []);
  const tables = wanted.slice(0, job.maxTables);
  const missing = (tableNames ?? []).filter((name) => findTable(all, name) === undefined);
  const found = { tables, missing, omitted: wanted.length - tables.length };
  const tell = (complete: boolean): FoundSchema => ({ ...found, complete });
  for (const table of tables) {
    // A large table must not cost the answer: what is known by then is told when the time is over.
    partial(tell(false));
    // One after the other: they share a connection.
    // oxlint-disable-next-line no-await-in-loop
    if (!signal.aborted) await addContent(reader, table, job);
  }
  return tell(true);
}

/** As SQL names tables: exactly, or else in any case. */
function findTable(tables: readonly NamedTable[], name: string): NamedTable | undefined {
  const lower = name.toLowerCase();
  return tables.find((table) => table.name === name) ?? tables.find((table) => table.name.toLowerCase() === lower);
}

async function addContent(reader: Reader, { reference, schema }: NamedTable, job: SchemaJob): Promise<void> {
  try {
    if (job.samples > 0) {
      for (const column of schema.columns) {
        const name = quoteName(column.name);
        // oxlint-disable-next-line no-await-in-loop
        const rows = await reader.all(
          `SELECT DISTINCT v FROM (SELECT ${name} AS v FROM ${reference} LIMIT ${SAMPLED_ROWS}) AS s WHERE v IS NOT NULL LIMIT ${job.samples}`,
        );
        column.samples = rows.map(([value]) => clip(value));
      }
    }
    if (job.rowCounts && schema.kind === "table") {
      const [row] = await reader.all(`SELECT count(*) FROM ${reference}`);
      schema.row_count = Number(row?.[0] ?? 0);
    }
  } catch (error) {
    // A view may be broken or slow, and a column out of the role's reach: then it has no samples.
    if (!ToolyardError.is(error) || !["business_failure", "timeout"].includes(error.error)) throw error;
  }
}

function clip(value: Cell | undefined): Cell {
  if (typeof value === "string" && value.length > SAMPLE_CHARACTERS) {
    return `${value.slice(0, SAMPLE_CHARACTERS).toWellFormed()}…`;
  }
  const isBytes = typeof value === "object" && value !== null && "base64" in value;
  return isBytes && "size_bytes" in value ? `(${String(value.size_bytes)} bytes)` : (value ?? null);
}

async function score(job: ScoreJob, context: JobContext): Promise<FoundScore> {
  const { target, rows } = job;
  const statement = readingStatement(job.gold, target.engine);
  // Each has a connection of its own: in PostgreSQL a failure ends its transaction.
  const gold = await withReader(job, context, (reader) => reader.readRows(job.gold, rows));
  const goldAsksForOrder = asksForOrder(statement);
  const facts = { goldAsksForOrder, gold: { rowCount: gold.row_count } };
  const failed = (name: string, message: string): FoundScore => ({
    ...facts,
    matches: { set: false, multiset: false, ordered: false },
    predicted: { rowCount: null, error: { name, message } },
  });
  // From here on it is the prediction that takes the time or the memory; the server puts in which.
  context.partial(failed("limit_exceeded", "it was stopped"));
  let predicted: CollectedRows;
  try {
    predicted = await withReader(job, context, (reader) => reader.readRows(job.predicted, rows));
    if (predicted.truncated) throw tooLarge("predicted", rows);
  } catch (error) {
    if (!ToolyardError.is(error) || error.outcome === "infra_error") throw error;
    return failed(error.error, error.message);
  }
  return {
    ...facts,
    matches: compareRows(predicted.rows, gold.rows, job.significantDigits),
    predicted: { rowCount: predicted.row_count, error: null },
  };
}

function tooLarge(whose: string, { maxRows, maxBytes }: RowLimits): ToolyardError {
  return new ToolyardError(
    "limit_exceeded",
    `the ${whose} query gives more than ${maxRows} rows or ${maxBytes} bytes: the results cannot be compared`,
    { details: { limit: "max_score_rows", max: maxRows } },
  );
}
