import type { ErrorName } from "../core/errors.ts";

/** What a job is given beside its params. */
export interface JobContext {
  /** Aborted when the job's time is over or nobody waits any more; one that goes on is killed with its process. */
  readonly signal: AbortSignal;
  /** Keeps a result for the case that the job meets a limit before it ends. */
  partial(value: unknown): void;
}

/** What a process runs, in a process that nothing else uses meanwhile; params and result are structured clones. */
export type Job = (params: never, context: JobContext) => unknown;

/** A failure of a job as it crosses to the server; without `error` it is a bug. */
export interface JobFailure {
  readonly error?: ErrorName | undefined;
  readonly message: string;
  readonly details?: Readonly<Record<string, unknown>> | undefined;
  readonly suggestion?: string | undefined;
  readonly stack?: string | undefined;
}

export type ToProcess =
  | { readonly kind: "start"; readonly id: number; readonly job: string; readonly params: unknown; readonly ms: number }
  | { readonly kind: "cancel"; readonly id: number };

export type FromProcess =
  /** Once, when it has loaded what its jobs need. */
  | { readonly kind: "ready" }
  | { readonly kind: "partial"; readonly id: number; readonly value: unknown }
  | { readonly kind: "done"; readonly id: number; readonly value: unknown }
  | { readonly kind: "failed"; readonly id: number; readonly failure: JobFailure };
