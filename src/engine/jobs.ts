import { randomBytes } from "node:crypto";
import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/context.ts";
import { ToolyardError } from "../core/errors.ts";
import type { ToolResult } from "../core/result.ts";
import type { JobRecord, JobState, JobStore } from "../core/store.ts";
import { BoundedMap } from "./bounded-map.ts";
import type { CallRequest } from "./call.ts";
import { toRefusedResult } from "./call-result.ts";
import type { Catalog } from "./catalog.ts";
import { Cancellation, type CancelSource, settlesWithin, untilEnded } from "./deadline.ts";
import type { ToolExecutor } from "./executor.ts";
import type { Idempotency, Kept } from "./idempotency.ts";
import { KeptBytes } from "./kept-bytes.ts";
import type { KeyedCalls } from "./keyed-calls.ts";
import type { EngineLimits } from "./limits.ts";
import { parseParams } from "./params.ts";
import type { ParamsBudget } from "./params-budget.ts";
import { toPlainJson } from "./plain-json.ts";
import type { SteadyTime } from "./steady-time.ts";

export interface JobsDeps {
  readonly executor: ToolExecutor;
  readonly catalog: Catalog;
  readonly calls: KeyedCalls;
  readonly idempotency: Idempotency;
  readonly params: ParamsBudget;
  readonly store: JobStore;
  readonly instance: string;
  readonly clock: Clock;
  readonly time: SteadyTime;
  readonly limits: EngineLimits;
  readonly logger: Logger;
}

const PROGRESS_BOUNDS = { maxBytes: 65_536, maxDepth: 50 };
/** Ended jobs that could not be written, which are kept in memory for their owners. */
const UNWRITTEN = 100;
/** How long a cancel waits for the job's end before it answers; the end comes by itself. */
const CANCEL_WAIT_MS = 1_000;

/** A job that is not over. */
interface LiveJob {
  record: JobRecord;
  readonly request: CallRequest;
  readonly cancellation: Cancellation;
  /** Gives back the room of its params. */
  readonly giveParams: () => void;
  /** Lets its key grow old from now on. */
  unpin: () => void;
  readonly over: PromiseWithResolvers<void>;
}

/** Runs calls that outlive their connection: each has an id under which its state and its result are found. */
export class Jobs {
  readonly #deps: JobsDeps;
  readonly #live = new Map<string, LiveJob>();
  readonly #kept: KeptBytes;
  readonly #unwritten = new BoundedMap<string, JobRecord>(UNWRITTEN);
  #closed = false;

  constructor(deps: JobsDeps) {
    this.#deps = deps;
    this.#kept = new KeptBytes(deps.limits.keptAnswersBytes);
  }

  /**
   * Starts a job, or finds the one that the same idempotency key started. It is known to the store before it is answered,
   * and begins after that.
   *
   * @throws ToolyardError what is wrong with the action or its params; overloaded; conflict and unknown_outcome by its
   *   key; dependency_failed when it could not be written.
   */
  async start(request: CallRequest): Promise<Kept<JobRecord>> {
    const { catalog, calls, idempotency } = this.#deps;
    const { idempotencyKey: key, caller } = request;
    if (this.#closed) throw new ToolyardError("shutting_down", "The server is stopping");
    parseParams(catalog.resolve(request.action), request.params);
    let opened: LiveJob | undefined;
    if (key === undefined) opened = await this.#open(request);
    else {
      const claim = calls.claim(request, key, "job");
      const { value } = await idempotency.once(claim, undefined, async () => {
        opened = await this.#open(request);
        opened.unpin = idempotency.pin(claim);
        return { value: { jobId: opened.record.id }, hadEffect: true };
      });
      if (opened === undefined) return { value: await this.get(caller.tenant, value.jobId), replayed: true };
    }
    const { record } = opened;
    void this.#run(opened);
    return { value: record, replayed: false };
  }

  /**
   * Finds a job of the tenant, as it is now.
   *
   * @throws ToolyardError unknown_name, alike for another tenant's and for one that never was.
   */
  async get(tenant: string, id: string): Promise<JobRecord> {
    const record = this.#known(tenant, id) ?? (await this.#deps.store.get(tenant, id));
    if (record !== null) return record;
    throw new ToolyardError("unknown_name", "There is no such job", {
      suggestion: "List the jobs with GET /api/v1/jobs; ended ones are forgotten after limits.job_retention_ms.",
    });
  }

  /** Whose a job under way is; for the audit, never for an answer. */
  tenantOf(id: string): string | undefined {
    return this.#live.get(id)?.record.tenant;
  }

  /** Lists jobs of the tenant, newest first. */
  async list(
    tenant: string,
    options: { readonly workerId?: string | undefined; readonly limit: number },
  ): Promise<readonly JobRecord[]> {
    const records = await this.#deps.store.list(tenant, options);
    return records.map((record) => this.#known(tenant, record.id) ?? record);
  }

  /** Waits for a job's end, at most `timeoutMs` and no longer than its asker does; then tells how it is. */
  async wait(tenant: string, id: string, timeoutMs: number, asker: CancelSource): Promise<JobRecord> {
    const live = this.#live.get(id);
    if (live?.record.tenant === tenant) {
      const { clock } = this.#deps;
      await untilEnded(settlesWithin(clock, live.over.promise, timeoutMs), asker).catch(() => undefined);
    }
    return this.get(tenant, id);
  }

  /** Cancels a job that is not over; one that is stays as it is. */
  async cancel(tenant: string, id: string): Promise<JobRecord> {
    const live = this.#live.get(id);
    if (live?.record.tenant === tenant) {
      live.cancellation.cancel(new ToolyardError("cancelled", "The job was cancelled"));
      await settlesWithin(this.#deps.clock, live.over.promise, CANCEL_WAIT_MS);
    }
    return this.get(tenant, id);
  }

  /** Starts no further jobs. */
  close(): void {
    this.#closed = true;
  }

  /** Waits until every job is over and written. */
  async settled(): Promise<void> {
    await Promise.all([...this.#live.values()].map(({ over }) => over.promise));
  }

  /** Marks what a dead server left running. */
  async recover(): Promise<void> {
    const { store, instance, time, logger } = this.#deps;
    const count = await store.markUnknown(instance, time.now());
    if (count > 0) logger.warn({ count }, "jobs were cut off by the end of the last server");
  }

  async prune(): Promise<void> {
    const { store, time, limits } = this.#deps;
    const before = time.now() - limits.jobRetentionMs;
    this.#kept.forgetBefore(before);
    await store.prune(before);
  }

  #known(tenant: string, id: string): JobRecord | undefined {
    const record = this.#live.get(id)?.record ?? this.#unwritten.get(id);
    return record?.tenant === tenant ? record : undefined;
  }

  async #open(request: CallRequest): Promise<LiveJob> {
    const { tenant, workerId } = request.caller;
    this.#checkRoom(tenant, workerId);
    const record: JobRecord = {
      id: `job_${randomBytes(16).toString("hex")}`,
      tenant,
      workerId,
      action: request.action,
      state: "queued",
      progress: null,
      answer: null,
      instance: this.#deps.instance,
      createdAt: this.#deps.time.now(),
      endedAt: null,
    };
    // Counted before it is written, so that no burst passes the bounds.
    const giveParams = this.#deps.params.hold(request.caller, request.params);
    const over = Promise.withResolvers<void>();
    const job = { record, request, cancellation: new Cancellation(), giveParams, unpin: () => undefined, over };
    this.#live.set(record.id, job);
    try {
      await this.#deps.store.put(record);
      return job;
    } catch (error) {
      this.#leave(job);
      this.#deps.logger.error({ err: error }, "a job could not be written");
      throw new ToolyardError("dependency_failed", "The job could not be written; nothing ran", { cause: error });
    }
  }

  #checkRoom(tenant: string, workerId: string): void {
    const { jobsPerTenant, jobsPerWorker } = this.#deps.limits;
    const ofTenant = [...this.#live.values()].filter(({ record }) => record.tenant === tenant);
    const ofWorker = ofTenant.filter(({ record }) => record.workerId === workerId);
    if (ofWorker.length >= jobsPerWorker) throw tooMany("jobs_per_worker", jobsPerWorker);
    if (ofTenant.length >= jobsPerTenant) throw tooMany("jobs_per_tenant", jobsPerTenant);
  }

  async #run(job: LiveJob): Promise<void> {
    const { executor, logger, store, time } = this.#deps;
    const result = await executor.execute({
      ...job.request,
      parent: job.cancellation,
      observer: {
        onStart: () => (job.record = { ...job.record, state: "running" }),
        onProgress: (data) => (job.record = { ...job.record, progress: toProgress(data) }),
      },
    });
    const { answer, forgetBefore } = this.#toAnswer(job, result);
    job.record = { ...job.record, state: toState(result), answer, endedAt: time.now() };
    try {
      await store.put(job.record);
      if (forgetBefore !== undefined) await store.prune(forgetBefore);
    } catch (error) {
      logger.error({ err: error, job_id: job.record.id }, "the end of a job could not be written");
      this.#unwritten.set(job.record.id, job.record);
    }
    this.#leave(job);
  }

  #leave(job: LiveJob): void {
    this.#live.delete(job.record.id);
    job.giveParams();
    job.unpin();
    job.over.resolve();
  }

  #toAnswer(job: LiveJob, result: ToolResult): { readonly answer: string; readonly forgetBefore: number | undefined } {
    const { limits, time } = this.#deps;
    const answer = JSON.stringify(result);
    const bytes = Buffer.byteLength(answer);
    const fits = bytes <= limits.keptAnswerBytes;
    const { keep, forgetBefore } = this.#kept.add(time.now(), fits ? bytes : 0);
    if (fits && keep) return { answer, forgetBefore };
    const error = new ToolyardError("limit_exceeded", "The job ran, and there was no room to keep its answer", {
      details: { limit: fits ? "kept_answers_bytes" : "kept_answer_bytes", size_bytes: bytes },
      outcome: "infra_error",
    });
    return {
      answer: JSON.stringify(toRefusedResult({ action: job.record.action, traceId: result.meta.trace_id }, error)),
      forgetBefore,
    };
  }
}

/** What a job came to; `null` until it is over. One that was cut off by the end of its server says so. */
export function resultOf(record: JobRecord): ToolResult | null {
  if (record.answer !== null) return JSON.parse(record.answer) as ToolResult; // written by Jobs alone
  if (record.state !== "unknown") return null;
  const error = new ToolyardError("unknown_outcome", "The server ended while the job was under way");
  return toRefusedResult({ action: record.action, traceId: record.id }, error);
}

function toState(result: ToolResult): JobState {
  if (result.ok) return "completed";
  const { error } = result.error;
  // Cut short by a stop: nobody knows how far it was.
  if (error === "unknown_outcome") return "unknown";
  return error === "cancelled" ? "cancelled" : "failed";
}

/** What cannot be kept as JSON is said to be left out. */
function toProgress(data: Readonly<Record<string, unknown>>): string {
  try {
    return JSON.stringify(toPlainJson(data, PROGRESS_BOUNDS).value);
  } catch {
    return JSON.stringify({ omitted: "the progress is not JSON, or too large" });
  }
}

function tooMany(limit: string, maximum: number): ToolyardError {
  return new ToolyardError("overloaded", `There are ${maximum} jobs under way already`, {
    details: { limit, maximum },
  });
}
