import { type ChildProcess, fork } from "node:child_process";
import { readFileSync } from "node:fs";
import { setPriority } from "node:os";
import { fileURLToPath } from "node:url";
import { ToolyardError } from "../core/errors.ts";
import type { FromProcess, JobFailure, ToProcess } from "./job.ts";

// `.ts` when this runs from source (Node strips the types), `.js` from dist.
const ENTRY = new URL(`./child${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url);
const MEMORY_CHECK_MS = 50;
/** Below what serves, once it has started: whoever waits for a start waits with the server's own right. */
const NICE = 10;
/** Milliseconds after which a process that does not come up is given up. */
const START_MS = 60_000;

/** What bounds one job. */
export interface JobLimits {
  /** Milliseconds that the job may run, once its process has started; then it is interrupted. */
  readonly timeoutMs: number;
  /** What its process may hold, in MiB; watched where the system tells, which is Linux. */
  readonly memoryMiB: number;
  /** Milliseconds in which the job may end by itself once it is told to; 0 for an engine that cannot hear it. */
  readonly graceMs: number;
  readonly signal: AbortSignal;
  /** Whose job it is: of those that wait, that of who runs the fewest comes first. */
  readonly owner?: string | undefined;
}

/** What a job came to. */
export interface JobResult {
  readonly value: unknown;
  /** The limit that ended the job, when the value is the last that it had told until then. */
  readonly cutShort: ToolyardError | null;
}

interface Running {
  readonly id: number;
  readonly limits: JobLimits;
  /** Hands the job over, from when on its time counts. */
  readonly begin: () => void;
  begun: boolean;
  readonly settle: (outcome: JobResult | { error: unknown }) => void;
  partial: { readonly value: unknown } | undefined;
  /** Why it is to end, once it is. */
  ended: ToolyardError | undefined;
}

/** A process that runs one job at a time and is killed when the job does not end in time. */
export class JobProcess {
  readonly #child: ChildProcess;
  #running: Running | undefined;
  #lastId = 0;
  #usable = true;
  #ready = false;
  readonly #late: NodeJS.Timeout;

  /** @param module exports `jobs`, a record of {@link Job}s. */
  constructor(module: URL) {
    // A JavaScript heap of its own bound: the engines' memory is not in it.
    this.#child = fork(fileURLToPath(ENTRY), [module.href], {
      execPath: process.execPath,
      execArgv: ["--no-warnings", "--max-old-space-size=512"],
      cwd: "/",
      env: {},
      serialization: "advanced",
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    });
    this.#late = setTimeout(() => this.kill(), START_MS).unref();
    this.#child.on("message", (message: FromProcess) => this.#receive(message));
    this.#child.on("exit", () => this.#exited());
    this.#child.on("error", () => this.#exited());
    this.#hold(false);
  }

  /** Whether it may be given another job. */
  get usable(): boolean {
    return this.#usable && this.#running === undefined;
  }

  /** For tests that look whether it is gone. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  /**
   * Runs a job of the module.
   *
   * @throws ToolyardError of the job's own; `timeout`, `limit_exceeded` (`memory`); the signal's reason.
   */
  run(job: string, params: unknown, limits: JobLimits): Promise<JobResult> {
    const id = ++this.#lastId;
    const { signal, timeoutMs, graceMs, memoryMiB } = limits;
    return new Promise((resolve, reject) => {
      const late = new ToolyardError("timeout", `it was interrupted after ${Math.round(timeoutMs)} ms`, {
        details: { limit: "timeout_ms", max: Math.round(timeoutMs) },
      });
      const abort = () => this.#stop(toReason(signal.reason));
      let timer: NodeJS.Timeout | undefined;
      let meter: NodeJS.Timeout | undefined;
      const begin = () => {
        timer = setTimeout(() => this.#stop(late), timeoutMs);
        meter = setInterval(() => this.#checkMemory(memoryMiB), MEMORY_CHECK_MS);
        this.#send({ kind: "start", id, job, params, ms: timeoutMs + graceMs });
      };
      const settle: Running["settle"] = (outcome) => {
        clearTimeout(timer);
        clearInterval(meter);
        signal.removeEventListener("abort", abort);
        this.#running = undefined;
        this.#hold(false);
        // What a job left behind would be counted to the next one.
        if (residentMiB(this.#child.pid) > memoryMiB / 2) this.#usable = false;
        if ("error" in outcome) reject(outcome.error);
        else resolve(outcome);
      };
      this.#running = { id, limits, begin, begun: false, settle, partial: undefined, ended: undefined };
      this.#hold(true);
      if (!this.#usable) return this.#exited();
      signal.addEventListener("abort", abort, { once: true });
      if (signal.aborted) abort();
      else if (this.#ready) this.#begin();
    });
  }

  /** Ends the process at once. */
  kill(): void {
    this.#usable = false;
    this.#child.kill("SIGKILL");
  }

  /** Hands over the job that waits for the process, if one does. */
  #begin(): void {
    const running = this.#running;
    if (running === undefined || running.begun) return;
    running.begun = true;
    running.begin();
  }

  #becomeReady(): void {
    clearTimeout(this.#late);
    this.#ready = true;
    try {
      if (this.#child.pid !== undefined) setPriority(this.#child.pid, NICE);
    } catch {
      // It has ended already, or the system does not let us: then it runs like any other.
    }
    this.#begin();
  }

  /** Has the job end: by itself where its engine hears it, with its process otherwise. */
  #stop(reason: ToolyardError): void {
    const running = this.#running;
    if (running === undefined || running.ended !== undefined) return;
    running.ended = reason;
    // What has not begun leaves a process that goes on starting, for the next job.
    if (!running.begun) return this.#end(running, reason);
    if (running.limits.graceMs <= 0) return this.kill();
    this.#send({ kind: "cancel", id: running.id });
    setTimeout(() => {
      if (this.#running === running) this.kill();
    }, running.limits.graceMs);
  }

  #checkMemory(maxMiB: number): void {
    const running = this.#running;
    if (running === undefined || residentMiB(this.#child.pid) <= maxMiB) return;
    running.ended ??= new ToolyardError("limit_exceeded", `it needs more than ${maxMiB} MiB of memory`, {
      details: { limit: "memory_mib", max: maxMiB },
    });
    this.kill();
  }

  #receive(message: FromProcess): void {
    if (message.kind === "ready") return this.#becomeReady();
    const running = this.#running;
    if (running === undefined || message.id !== running.id) return;
    if (message.kind === "partial") running.partial = { value: message.value };
    else if (running.ended !== undefined) this.#end(running, running.ended);
    else if (message.kind === "done") running.settle({ value: message.value, cutShort: null });
    else running.settle({ error: toError(message.failure) });
  }

  #exited(): void {
    this.#usable = false;
    clearTimeout(this.#late);
    const running = this.#running;
    if (running === undefined) return;
    // Without a word of ours it was the engine itself, or the system that ran out of memory.
    this.#end(running, running.ended ?? new ToolyardError("backend_unavailable", "its process ended by itself"));
  }

  /** What a job left for the case that it meets a limit is its result then. */
  #end({ settle, partial }: Running, reason: ToolyardError): void {
    const limited = reason.outcome === "limit" && partial !== undefined;
    settle(limited ? { ...partial, cutShort: reason } : { error: reason });
  }

  #send(message: ToProcess): void {
    if (this.#child.connected) this.#child.send(message, () => undefined);
  }

  /** Lets the server exit although the process waits, or holds it while a job runs. */
  #hold(holds: boolean): void {
    this.#child[holds ? "ref" : "unref"]();
    this.#child.channel?.[holds ? "ref" : "unref"]();
  }
}

function toError({ error, message, details, suggestion, stack }: JobFailure): Error {
  if (error === undefined) return Object.assign(new Error(message), { stack });
  return new ToolyardError(error, message, {
    ...(details !== undefined && { details }),
    ...(suggestion !== undefined && { suggestion }),
  });
}

function toReason(reason: unknown): ToolyardError {
  return ToolyardError.is(reason) ? reason : new ToolyardError("cancelled", "the call was cancelled");
}

/** What a process holds; 0 where the system does not say. */
function residentMiB(pid: number | undefined): number {
  try {
    const [, kibibytes = "0"] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "latin1")) ?? [];
    return Number(kibibytes) / 1024;
  } catch {
    return 0;
  }
}
