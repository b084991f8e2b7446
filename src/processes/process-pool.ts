import { ToolyardError } from "../core/errors.ts";
import { type JobLimits, type JobResult, JobProcess } from "./job-process.ts";

/** What a pool is made of. */
export interface ProcessPoolOptions {
  /** The module whose `jobs` its processes run. */
  readonly module: URL;
  /** Jobs that run at once; further ones wait for their turn. */
  readonly maxProcesses: number;
  /** Processes that are kept when nothing runs. */
  readonly spares?: number;
  /** Milliseconds after which a process that has nothing to do is ended; never when absent. */
  readonly idleMs?: number;
}

/**
 * Runs work that holds its thread, or that must be stopped from outside, in processes of its own.
 *
 * Processes start when they are needed; those that served are used again, those that had to be stopped never.
 */
export class ProcessPool {
  readonly #options: ProcessPoolOptions & { readonly spares: number };
  readonly #all = new Set<JobProcess>();
  readonly #idle: JobProcess[] = [];
  readonly #waiting: (() => void)[] = [];
  #busy = 0;
  #idleTimer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: ProcessPoolOptions) {
    this.#options = { spares: 1, ...options };
  }

  /** For tests that look whether they are gone. */
  get pids(): readonly number[] {
    return [...this.#all].flatMap(({ pid }) => pid ?? []);
  }

  /**
   * Runs a job in a process of its own; the time that it may take begins with its turn.
   *
   * @throws as {@link JobProcess.run} does.
   */
  async run(job: string, params: unknown, limits: JobLimits): Promise<JobResult> {
    await this.#turn(limits.signal);
    let jobProcess: JobProcess | undefined;
    try {
      jobProcess = this.#take();
      return await jobProcess.run(job, params, limits);
    } finally {
      this.#busy -= 1;
      if (jobProcess !== undefined) this.#giveBack(jobProcess);
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
    clearTimeout(this.#idleTimer);
    for (const jobProcess of this.#all) jobProcess.kill();
    this.#all.clear();
    this.#idle.length = 0;
  }

  #take(): JobProcess {
    if (this.#closed) throw new ToolyardError("shutting_down", "The server is stopping");
    for (let found = this.#idle.pop(); found !== undefined; found = this.#idle.pop()) {
      if (found.usable) return found;
      this.#all.delete(found);
    }
    return this.#start();
  }

  #start(): JobProcess {
    const jobProcess = new JobProcess(this.#options.module);
    this.#all.add(jobProcess);
    return jobProcess;
  }

  #giveBack(jobProcess: JobProcess): void {
    const wanted = this.#idle.length < Math.max(this.#options.spares, this.#waiting.length);
    if (jobProcess.usable && wanted && !this.#closed) {
      this.#idle.push(jobProcess);
      return this.#endIdleLater();
    }
    jobProcess.kill();
    this.#all.delete(jobProcess);
  }

  /** Ends those that nothing was given to for as long as they may be kept. */
  #endIdleLater(): void {
    const { idleMs } = this.#options;
    if (idleMs === undefined) return;
    clearTimeout(this.#idleTimer);
    this.#idleTimer = setTimeout(() => {
      for (const idle of this.#idle.splice(0)) {
        idle.kill();
        this.#all.delete(idle);
      }
    }, idleMs).unref();
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
