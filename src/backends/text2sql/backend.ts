import { Backend, type BackendSetup } from "../../core/backend.ts";
import type { LifecycleContext, ToolContext } from "../../core/context.ts";
import { type BoundTool, type Input, tool } from "../../core/tool.ts";
import { withinLimit } from "../../core/within-limit.ts";
import { workerOf } from "../../core/worker-of.ts";
import { ProcessPool } from "../../processes/process-pool.ts";
import type { JobResult } from "../../processes/job-process.ts";
import type { CollectedRows } from "../../query/row-collector.ts";
import { Text2SqlConfig } from "./config.ts";
import { Databases, NO_DATABASES, sizeOf } from "./databases.ts";
import type { FoundSchema, FoundScore, jobs } from "./engines/jobs.ts";
import type { NamedTable, Target } from "./engines/reader.ts";
import {
  ExecuteParams,
  ExecuteResult,
  ExplainParams,
  ExplainResult,
  GetSchemaParams,
  GetSchemaResult,
  ListDatabasesResult,
  ScoreParams,
  ScoreResult,
} from "./schemas.ts";

const JOBS = new URL(`./engines/jobs${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url);
/** What an engine may take to hear that it is to stop; SQLite cannot hear it. */
const GRACE_MS: Readonly<Record<Target["engine"], number>> = { sqlite: 0, duckdb: 1_000, postgres: 3_000 };

const IDLE_MS = 300_000;

/** What the known implementation's documentation calls `sql:*`; its code has them as we do. */
const KNOWN_AS_SQL = ["list_databases", "get_schema", "execute"] as const;

const READS = { readOnlyHint: true, idempotentHint: true };

/**
 * Answers questions in SQL on the databases of its configuration, which it can only read.
 *
 * It has no sessions. Queries run in processes of their own, which are killed where an engine does not hear its time end.
 */
export default class Text2SqlBackend extends Backend {
  readonly resource = "text2sql";
  override readonly concurrency = "parallel";
  override readonly description =
    "SQL on SQLite, DuckDB and PostgreSQL databases, read-only, with limits and a scorer.";
  override readonly configSchema = Text2SqlConfig;
  readonly #config: Text2SqlConfig;
  readonly #databases: Databases;
  readonly #pool: ProcessPool;

  constructor(setup: BackendSetup) {
    super(setup);
    // A wrong config is reported by whoever checks it against the schema, with the file and the key.
    this.#config = Text2SqlConfig.safeParse(setup.config).data ?? Text2SqlConfig.parse({});
    this.#databases = new Databases(this.#config);
    this.#pool = new ProcessPool({ module: JOBS, maxProcesses: this.#config.processes, idleMs: IDLE_MS });
  }

  override tools(): ReadonlyMap<string, BoundTool> {
    const tools = new Map(super.tools());
    for (const known of KNOWN_AS_SQL) {
      const tool = tools.get(known);
      const name = `sql:${known}`;
      if (tool !== undefined) {
        tools.set(name, { ...tool, name, renamed: true, definition: { ...tool.definition, hidden: true } });
      }
    }
    return tools;
  }

  override async warmup(): Promise<void> {
    this.#pool.warm();
  }

  override async shutdown(_context: LifecycleContext): Promise<void> {
    this.#pool.close();
  }

  @tool({
    description: "List the databases that can be queried.",
    result: ListDatabasesResult,
    annotations: { title: "List databases", ...READS },
  })
  async listDatabases(): Promise<ListDatabasesResult> {
    const found = [...(await this.#databases.list())];
    const details = await Promise.all(
      found.map(async ([db_id, target]) => ({ db_id, engine: target.engine, size_bytes: await sizeOf(target) })),
    );
    return { databases: found.map(([id]) => id), details, ...(found.length === 0 && { note: NO_DATABASES }) };
  }

  @tool({
    description:
      "Describe a database: its tables and views with columns, types, keys, indexes, row counts and sample values.",
    params: GetSchemaParams,
    result: GetSchemaResult,
    annotations: { title: "Describe a database", ...READS },
  })
  async getSchema(
    { db_id, table_names, samples, row_counts, timeout_ms }: Input<typeof GetSchemaParams>,
    context: ToolContext,
  ): Promise<GetSchemaResult> {
    const target = await this.#databases.find(db_id);
    const { max_tables: maxTables } = this.#config;
    const params = { tableNames: table_names ?? undefined, maxTables, samples, rowCounts: row_counts };
    const { value, cutShort } = await this.#run("schema", target, params, timeout_ms, context);
    const { tables, missing, omitted, complete } = value as FoundSchema; // what the job "schema" answers
    return {
      db_id,
      dialect: target.engine,
      schema: Object.fromEntries(tables.map(toTable)),
      missing: [...missing],
      tables_omitted: omitted,
      complete: complete && cutShort === null,
    };
  }

  @tool({
    description: "Run one SQL query that reads, and get its rows.",
    params: ExecuteParams,
    result: ExecuteResult,
    annotations: { title: "Run a SQL query", ...READS },
  })
  async execute(
    { db_id, query, max_rows, max_bytes, timeout_ms }: Input<typeof ExecuteParams>,
    context: ToolContext,
  ): Promise<ExecuteResult> {
    const target = await this.#databases.find(db_id);
    const config = this.#config;
    const maxRows = withinLimit(
      "max_rows",
      max_rows ?? Math.min(config.default_rows, config.max_rows),
      config.max_rows,
    );
    const maxBytes = withinLimit("max_bytes", max_bytes ?? config.max_bytes, config.max_bytes);
    const { value } = await this.#run("execute", target, { query, rows: { maxRows, maxBytes } }, timeout_ms, context);
    return value as CollectedRows & ExecuteResult; // what the job "execute" answers
  }

  @tool({
    description: "Show how the database would run a query, without running it; says what is wrong with one that is.",
    params: ExplainParams,
    result: ExplainResult,
    annotations: { title: "Explain a SQL query", ...READS },
  })
  async explain(
    { db_id, query, timeout_ms }: Input<typeof ExplainParams>,
    context: ToolContext,
  ): Promise<ExplainResult> {
    const target = await this.#databases.find(db_id);
    const { value } = await this.#run("explain", target, { query }, timeout_ms, context);
    return { db_id, dialect: target.engine, plan: String(value) };
  }

  @tool({
    description:
      "Score a query by execution accuracy: whether it gives the rows that the gold query gives. A prediction that fails scores 0; a gold query that fails is an error.",
    params: ScoreParams,
    result: ScoreResult,
    annotations: { title: "Score a SQL query", ...READS },
  })
  async score(
    { db_id, predicted, gold, compare, significant_digits, timeout_ms }: Input<typeof ScoreParams>,
    context: ToolContext,
  ): Promise<ScoreResult> {
    const target = await this.#databases.find(db_id);
    const rows = { maxRows: this.#config.max_score_rows, maxBytes: this.#config.memory_mib * (1 << 18) };
    const params = { predicted, gold, rows, significantDigits: significant_digits };
    const { value, cutShort } = await this.#run("score", target, params, timeout_ms, context);
    const found = value as FoundScore; // what the job "score" answers
    const usual = found.goldAsksForOrder ? "ordered" : "set";
    const by = compare === "auto" ? usual : compare;
    const correct = found.matches[by];
    const error = cutShort === null ? found.predicted.error : { name: cutShort.error, message: cutShort.message };
    return {
      correct,
      score: correct ? 1 : 0,
      compare: by,
      matches: found.matches,
      gold_rows: found.gold.rowCount,
      predicted_rows: found.predicted.rowCount,
      predicted_error: error === null ? null : { error: error.name, message: error.message },
    };
  }

  async #run(
    job: keyof typeof jobs,
    target: Target,
    params: object,
    wantedMs: number | undefined,
    context: ToolContext,
  ): Promise<JobResult> {
    const { default_timeout_ms: usualMs, max_timeout_ms: maxMs, memory_mib: memoryMiB } = this.#config;
    const timeoutMs = withinLimit("timeout_ms", wantedMs ?? Math.min(usualMs, maxMs), maxMs);
    const limits = { timeoutMs, memoryMiB };
    const run = { ...limits, graceMs: GRACE_MS[target.engine], signal: context.signal, owner: workerOf(context) };
    return this.#pool.run(job, { ...params, target, limits }, run);
  }
}

function toTable({ name, reference, schema }: NamedTable): [string, GetSchemaResult["schema"][string]] {
  // A structured clone of what the engines answer, whose lists nobody else holds.
  return [name, { ...schema, reference } as GetSchemaResult["schema"][string]];
}
