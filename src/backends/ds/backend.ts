import { Backend, type BackendSetup } from "../../core/backend.ts";
import type { ToolContext } from "../../core/context.ts";
import type { ChatModel } from "../../core/chat-model.ts";
import { type Input, tool } from "../../core/tool.ts";
import { withinLimit } from "../../core/within-limit.ts";
import { workerOf } from "../../core/worker-of.ts";
import { ProcessPool } from "../../processes/process-pool.ts";
import type { JobResult } from "../../processes/job-process.ts";
import type { CollectedRows } from "../../query/row-collector.ts";
import { DsConfig } from "./config.ts";
import { toCsv } from "./csv-text.ts";
import { FileSources, type OpenFiles, type WantedFiles } from "./file-sources.ts";
import { inspectFiles } from "./inspect-files.ts";
import type { FoundPreview, FoundProfiles, jobs } from "./jobs/jobs.ts";
import { namedIn } from "./named-in-query.ts";
import { toProfileText } from "./profile-text.ts";
import { clip, runPython } from "./run-python.ts";
import { summarize, toMeasured } from "./summarize.ts";
import { SandboxCalls } from "./sandbox-calls.ts";
import { copyIntoSandbox } from "./sandbox-files.ts";
import {
  InspectParams,
  InspectResult,
  QueryParams,
  QueryResult,
  ReadCsvParams,
  ReadCsvResult,
  RunPythonParams,
  RunPythonResult,
} from "./schemas.ts";

const JOBS = new URL(`./jobs/jobs${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url);
const GRACE_MS = 1_000;
/** DuckDB holds a hundred megabytes when it rests. */
const IDLE_MS = 300_000;
const MIB = 1 << 20;
const NO_FILES = {
  seed: "No data files found.",
  sandbox:
    "No data files found in the working folder of the sandbox. Files written there with file:write, or made by code, are found as long as the worker's code session lives.",
};
const READS = { readOnlyHint: true, idempotentHint: true };

/**
 * Looks into files of data with DuckDB, and runs python on them in the worker's own sandbox.
 *
 * It has no sessions of its own. Files are read in processes of their own; nothing of a caller's ever runs in the server.
 */
export default class DsBackend extends Backend {
  readonly resource = "ds";
  override readonly concurrency = "parallel";
  override readonly description =
    "Profiles and queries CSV, Parquet and XLSX files, and runs python on them in a sandbox.";
  override readonly configSchema = DsConfig;
  readonly #config: DsConfig;
  readonly #sources: FileSources;
  readonly #pool: ProcessPool;
  readonly #summarizer: ChatModel | undefined;

  constructor(setup: BackendSetup) {
    super(setup);
    // A wrong config is reported by whoever checks it against the schema, with the file and the key.
    this.#config = DsConfig.safeParse(setup.config).data ?? DsConfig.parse({});
    this.#sources = new FileSources(this.#config);
    const { enable_llm_summary: enabled, model } = this.#config;
    this.#summarizer = enabled && model !== undefined ? setup.openChatModel?.(model) : undefined;
    this.#pool = new ProcessPool({ module: JOBS, maxProcesses: this.#config.processes, idleMs: IDLE_MS });
  }

  override async warmup(): Promise<void> {
    this.#pool.warm();
  }

  override async shutdown(): Promise<void> {
    this.#pool.close();
  }

  @tool({
    description: "Describe files of data: their rows, columns and types, what is missing, extremes, means and samples.",
    params: InspectParams,
    result: InspectResult,
    annotations: { title: "Inspect data", ...READS },
  })
  async inspectData(params: Input<typeof InspectParams>, context: ToolContext): Promise<InspectResult> {
    const most = this.#config.ds_max_csv;
    return this.#with(params, context, async ({ files: all, notFetched, source }) => {
      if (all.length + notFetched.length === 0) return { result: NO_FILES[source], files: [], files_omitted: 0 };
      const files = all.slice(0, most);
      const { profiles, late } = await inspectFiles(files, {
        timeoutMs: this.#toTimeout(params.timeout_ms),
        lanes: this.#config.processes,
        signal: context.signal,
        inspect: (file, timeoutMs) => this.#run("inspect", { file }, timeoutMs, context),
      });
      const there = all.length + notFetched.length;
      const omitted = there - files.length;
      const text = [
        ...profiles.map(toProfileText),
        ...(late.length > 0 ? [`... ${late.length} more files, for which no time was left ...`] : []),
        ...(omitted > 0 ? [`... truncated: showing first ${files.length} of ${there} files ...`] : []),
        ...(notFetched.length > 0 ? [`... not read, for their number or size: ${notFetched.join(", ")} ...`] : []),
      ].join("\n\n");
      return {
        ...(await this.#tell(text, profiles, context.signal)),
        files: profiles as unknown as InspectResult["files"], // the same, readonly
        files_omitted: omitted + late.length,
      };
    });
  }

  @tool({
    description: "Read the first rows of a CSV, Parquet or XLSX file.",
    params: ReadCsvParams,
    result: ReadCsvResult,
    annotations: { title: "Read data", ...READS },
  })
  async readCsv({ csv_file, ...params }: Input<typeof ReadCsvParams>, context: ToolContext): Promise<ReadCsvResult> {
    const rows = this.#toRowLimits(params.max_rows);
    return this.#with({ ...params, files: [csv_file] }, context, async ({ files }) => {
      const job = { files, sheet: params.sheet, offset: params.offset, rows };
      const { value } = await this.#run("preview", job, params.timeout_ms, context);
      const { columns, types, rows: found, truncated, total_rows, note } = value as FoundPreview; // what the job answers
      const more = truncated
        ? `\n... Truncated, showing ${params.offset === 0 ? "first " : ""}${found.length} rows out of ${total_rows} total rows ...`
        : "";
      return {
        result: `${csv_file}\n${toCsv(columns, found)}${more}`,
        file: csv_file,
        columns: [...columns],
        types: [...types],
        rows: found as ReadCsvResult["rows"], // the same, readonly
        row_count: found.length,
        ...{ total_rows, truncated, note },
      };
    });
  }

  @tool({
    description: "Query files of data in SQL, DuckDB's. Each file is a table under its name.",
    params: QueryParams,
    result: QueryResult,
    annotations: { title: "Query data", ...READS },
  })
  async query(params: Input<typeof QueryParams>, context: ToolContext): Promise<QueryResult> {
    const rows = this.#toRowLimits(params.max_rows, params.max_bytes);
    const work = async ({ files }: OpenFiles) => {
      const { value } = await this.#run("query", { files, query: params.query, rows }, params.timeout_ms, context);
      return value as CollectedRows & QueryResult; // what the job "query" answers
    };
    return this.#with(params, context, work, namedIn(params.query));
  }

  @tool({
    description:
      "Run python in the worker's sandbox, with the files of data in its working folder. Figures come back as images; variables stay as long as the code session lives.",
    params: RunPythonParams,
    result: RunPythonResult,
    annotations: { title: "Run python on data", destructiveHint: true },
  })
  async runPython(params: Input<typeof RunPythonParams>, context: ToolContext): Promise<RunPythonResult> {
    const { code, return_vars, seed_path, files: names } = params;
    const config = this.#config;
    const sandbox = new SandboxCalls(config.sandbox, context);
    const wanted = { seed_path, files: names ?? undefined };
    const seeds = this.#sources.sourceOf(wanted) === "sandbox" ? [] : await this.#sources.seeds(wanted);
    const timeoutMs = this.#toTimeout(params.timeout_ms);
    const { files, notCopied } = await copyIntoSandbox(sandbox, seeds, config.max_copy_mib * MIB);
    const maxCharacters = config.ds_summary_max_chars;
    const ran = await runPython(sandbox, { code, returnVars: return_vars ?? [], timeoutMs, maxCharacters });
    if (ran.error !== null) context.setOutcome("tool_error");
    return { ...ran, files: [...files], files_not_copied: [...notCopied] };
  }

  async #tell(
    text: string,
    profiles: FoundProfiles,
    signal: AbortSignal,
  ): Promise<Omit<InspectResult, "files" | "files_omitted">> {
    const { ds_summary_max_chars: most, content_limit: shown } = this.#config;
    if (this.#summarizer === undefined) return { result: clip(text, most) };
    const { answer, warning } = await summarize(this.#summarizer, toMeasured(text, profiles, shown), signal);
    if (answer === null) return { result: clip(text, most), ...(warning !== undefined && { warning }) };
    return { result: clip(answer.text, most), summary: { model: answer.model, usage: answer.usage } };
  }

  async #with<T>(
    wanted: WantedFiles,
    context: ToolContext,
    work: (found: OpenFiles) => Promise<T>,
    means?: (name: string) => boolean,
  ): Promise<T> {
    await using found = await this.#sources.open(wanted, context, means);
    return await work(found);
  }

  #run(job: keyof typeof jobs, params: object, wantedMs: number | undefined, context: ToolContext): Promise<JobResult> {
    const { memory_mib: memoryMiB } = this.#config;
    const limits = {
      timeoutMs: this.#toTimeout(wantedMs),
      memoryMiB,
      graceMs: GRACE_MS,
      signal: context.signal,
      owner: workerOf(context),
    };
    return this.#pool.run(job, { ...params, memoryMiB }, limits);
  }

  #toTimeout(wantedMs: number | undefined): number {
    const { default_timeout_ms: usual, max_timeout_ms: max } = this.#config;
    return withinLimit("timeout_ms", wantedMs ?? Math.min(usual, max), max);
  }

  #toRowLimits(maxRows: number, maxBytes?: number) {
    const { max_rows: most, max_bytes: mostBytes } = this.#config;
    return {
      maxRows: withinLimit("max_rows", maxRows, most),
      maxBytes: withinLimit("max_bytes", maxBytes ?? mostBytes, mostBytes),
    };
  }
}
