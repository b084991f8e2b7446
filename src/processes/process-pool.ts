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
  readonly #waiting: Waiting[] = [];
  /** How many jobs run, by whose they are. */
  readonly #running = new Map<string, number>();
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
   * Runs a job in a process of its own; the time that it may take begins when it does.
   *
   * @throws as {@link JobProcess.run} does.
   */
  async run(job: string, params: unknown, limits: JobLimits): Promise<JobResult> {
    const { owner = "", signal } = limits;
    await this.#turn(owner, signal);
    let jobProcess: JobProcess | undefined;
    try {
      jobProcess = this.#take();
      return await jobProcess.run(job, params, limits);
    } finally {
      this.#end(owner);
      if (jobProcess !== undefined) this.#giveBack(jobProcess);
      this.#startNext();
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
  async #turn(owner: string, signal: AbortSignal): Promise<void> {
    if (this.#busy < this.#options.maxProcesses && this.#waiting.length === 0) return this.#begin(owner);
    await new Promise<void>((resolve, reject) => {
      const waiting: Waiting = {
        owner,
        start: () => {
          signal.removeEventListener("abort", abort);
          resolve();
        },
      };
      const abort = () => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        reject(
          ToolyardError.is(signal.reason) ? signal.reason : new ToolyardError("cancelled", "the call was cancelled"),
        );
      };
      this.#waiting.push(waiting);
      signal.addEventListener("abort", abort, { once: true });
      if (signal.aborted) abort();
    });
  }

  /** Gives the place that is free to who runs the fewest jobs, of those to who waits longest: nobody waits for all jobs of another. */
  #startNext(): void {
    if (this.#busy >= this.#options.maxProcesses) return;
    const runs = ({ owner }: Waiting) => this.#running.get(owner) ?? 0;
    const fewest = Math.min(...this.#waiting.map(runs));
    const at = this.#waiting.findIndex((waiting) => runs(waiting) === fewest);
    const [next] = at === -1 ? [] : this.#waiting.splice(at, 1);
    if (next === undefined) return;
    this.#begin(next.owner);
    next.start();
  }

  #begin(owner: string): void {
    this.#busy += 1;
    this.#running.set(owner, (this.#running.get(owner) ?? 0) + 1);
  }

  #end(owner: string): void {
    this.#busy -= 1;
    const left = (this.#running.get(owner) ?? 0) - 1;
    if (left > 0) this.#running.set(owner, left);
    else this.#running.delete(owner);
  }
}

interface Waiting {
  readonly owner: string;
  start(): void;
}
