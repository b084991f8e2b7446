import { ToolyardError } from "../core/errors.ts";
import { type JobLimits, type JobResult, QueryProcess } from "./query-process.ts";

/** What a pool is made of. */
export interface QueryPoolOptions {
  /** The module whose `jobs` its processes run. */
  readonly module: URL;
  /** Jobs that run at once; further ones wait for their turn. */
  readonly maxProcesses: number;
  /** Processes that are kept when nothing runs. */
  readonly spares?: number;
}

/**
 * Runs work that holds its thread, or that must be stopped from outside, in processes of its own.
 *
 * Processes start when they are needed; those that served are used again, those that had to be stopped never.
 */
export class QueryPool {
  readonly #options: Required<QueryPoolOptions>;
  readonly #all = new Set<QueryProcess>();
  readonly #idle: QueryProcess[] = [];
  readonly #waiting: (() => void)[] = [];
  #busy = 0;
  #closed = false;

  constructor(options: QueryPoolOptions) {
    this.#options = { spares: 1, ...options };
  }

  /** For tests that look whether they are gone. */
  get pids(): readonly number[] {
    return [...this.#all].flatMap(({ pid }) => pid ?? []);
  }

  /**
   * Runs a job in a process of its own; the time that it may take begins with its turn.
   *
   * @throws as {@link QueryProcess.run} does.
   */
  async run(job: string, params: unknown, limits: JobLimits): Promise<JobResult> {
    await this.#turn(limits.signal);
    let queryProcess: QueryProcess | undefined;
    try {
      queryProcess = this.#take();
      return await queryProcess.run(job, params, limits);
    } finally {
      this.#busy -= 1;
      if (queryProcess !== undefined) this.#giveBack(queryProcess);
      this.#waiting.shift()?.();
    }
  }

  /** Starts a spare process, so that the first job does not wait for one. */
  warm(): void {
    if (this.#idle.length === 0 && !this.#closed) this.#idle.push(this.#start());
  }

  /** Ends every process; jobs that run fail. */
  close(): void {
    this.#closed = true;
    for (const queryProcess of this.#all) queryProcess.kill();
    this.#all.clear();
    this.#idle.length = 0;
  }

  #take(): QueryProcess {
    if (this.#closed) throw new ToolyardError("shutting_down", "The server is stopping");
    for (let found = this.#idle.pop(); found !== undefined; found = this.#idle.pop()) {
      if (found.usable) return found;
      this.#all.delete(found);
    }
    return this.#start();
  }

  #start(): QueryProcess {
    const queryProcess = new QueryProcess(this.#options.module);
    this.#all.add(queryProcess);
    return queryProcess;
  }

  #giveBack(queryProcess: QueryProcess): void {
    const wanted = this.#idle.length < Math.max(this.#options.spares, this.#waiting.length);
    if (queryProcess.usable && wanted && !this.#closed) return void this.#idle.push(queryProcess);
    queryProcess.kill();
    this.#all.delete(queryProcess);
  }

  /** Waits for a place among those that run; counts it as taken. */
  async #turn(signal: AbortSignal): Promise<void> {
    while (this.#busy >= this.#options.maxProcesses) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const wake = () => resolve();
      this.#waiting.push(wake);
      signal.addEventListener("abort", wake, { once: true });
      // One after another: whoever is woken may find that another came first.
      // oxlint-disable-next-line no-await-in-loop
      await promise;
      signal.removeEventListener("abort", wake);
      const at = this.#waiting.indexOf(wake);
      if (at !== -1) this.#waiting.splice(at, 1);
      if (signal.aborted) {
        this.#waiting.shift()?.();
        throw ToolyardError.is(signal.reason)
          ? signal.reason
          : new ToolyardError("cancelled", "the call was cancelled");
      }
    }
    this.#busy += 1;
  }
}
