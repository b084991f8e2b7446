/** Every bound of the engine, with its unit in the name. The config's `limits` section sets them in snake case. */
export interface EngineLimits {
  /** How long a call may take when neither the caller nor the tool says; queueing counts. */
  readonly callTimeoutMs: number;
  /** The longest timeout that a caller or a tool may ask for. */
  readonly maxCallTimeoutMs: number;
  readonly warmupTimeoutMs: number;
  readonly initializeTimeoutMs: number;
  readonly cleanupTimeoutMs: number;
  /** How long a tool or hook may take to end its work once its signal is aborted, before it is given up. */
  readonly abortGraceMs: number;
  /** How long a destroy waits for the session's running calls before it answers; the destroy itself goes on. */
  readonly destroyWaitMs: number;
  /** How long an idle session lives when its creator does not say. */
  readonly sessionTtlMs: number;
  readonly maxSessionTtlMs: number;
  readonly sweepIntervalMs: number;
  /** How long a shutdown lets running calls go on before it cancels them. */
  readonly drainMs: number;
  /** Calls that run at once, in all. Calls that tools make run under the slot of the call that they are made from. */
  readonly maxConcurrentCalls: number;
  /** Calls that run at once on one backend; less than all, so that one that hangs leaves room for the others. */
  readonly maxConcurrentPerBackend: number;
  /** Calls of one worker that run at once, over all backends. */
  readonly maxConcurrentPerWorker: number;
  /** Calls that wait for a slot, for their session's turn or for its initialize; further ones are refused with 429. */
  readonly maxQueuedCalls: number;
  readonly maxQueuedPerBackend: number;
  /** Less than all, so that one worker cannot fill the queue. */
  readonly maxQueuedPerWorker: number;
  /** Sessions at once, from before their initialize until their cleanup is over; further ones are refused with 429. */
  readonly maxSessions: number;
  readonly maxSessionsPerTenant: number;
  readonly maxSessionsPerWorker: number;
  readonly batchItems: number;
  readonly batchConcurrency: number;
  /** The largest serialised result of one call. */
  readonly resultBytes: number;
  /** The deepest nesting of a result. */
  readonly resultDepth: number;
  /** How late the event loop may be before the watchdog names the tools that were running. */
  readonly loopLagMs: number;
}

export const defaultLimits: EngineLimits = {
  callTimeoutMs: 300_000,
  maxCallTimeoutMs: 3_600_000,
  warmupTimeoutMs: 300_000,
  initializeTimeoutMs: 120_000,
  cleanupTimeoutMs: 60_000,
  abortGraceMs: 5_000,
  destroyWaitMs: 30_000,
  sessionTtlMs: 300_000,
  maxSessionTtlMs: 86_400_000,
  sweepIntervalMs: 5_000,
  drainMs: 10_000,
  maxConcurrentCalls: 2_048,
  maxConcurrentPerBackend: 1_024,
  maxConcurrentPerWorker: 64,
  maxQueuedCalls: 20_000,
  maxQueuedPerBackend: 20_000,
  maxQueuedPerWorker: 16_000,
  maxSessions: 10_000,
  maxSessionsPerTenant: 10_000,
  maxSessionsPerWorker: 64,
  batchItems: 1_000,
  batchConcurrency: 16,
  resultBytes: 33_554_432,
  resultDepth: 200,
  loopLagMs: 250,
};
