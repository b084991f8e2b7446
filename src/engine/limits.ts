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
  /** How long a keyed call goes on once its client went away, for the client to come back under the same key. */
  readonly disconnectGraceMs: number;
  /**
   * How long a call without a key whose client went away goes on, and gives its answer to the next equal call; 0 for not at
   * all. For clients that know no keys and repeat what took too long.
   */
  readonly dedupeUnkeyedMs: number;
  /** How long the answer of a keyed call is kept. */
  readonly idempotencyRetentionMs: number;
  /** The largest answer of a keyed call or a job that is kept. */
  readonly keptAnswerBytes: number;
  /** All answers of keyed calls that this run of the server keeps, and as much for jobs; beyond it the oldest go early, but none of the last ten minutes. */
  readonly keptAnswersBytes: number;
  /** Jobs of one worker, and of one tenant, that are under way at once. */
  readonly jobsPerWorker: number;
  readonly jobsPerTenant: number;
  /** Params of jobs and streamed calls that are under way, in all, about as memory counts them; further ones are refused with 429. */
  readonly heldParamsBytes: number;
  /** Params of one worker's, and of one tenant's, calls under way; further ones are refused with 429. Small ones (16 KiB) are not counted. */
  readonly heldBytesPerWorker: number;
  readonly heldBytesPerTenant: number;
  /** How long a job that is over can be asked for. */
  readonly jobRetentionMs: number;
  /** The longest time that one request waits for a job. */
  readonly jobWaitMs: number;
  /** How long it is remembered how a session ended. */
  readonly sessionRetentionMs: number;
  /** What a session that outlived its server has at least, for its worker to come back. */
  readonly restartGraceMs: number;
  readonly batchItems: number;
  readonly batchConcurrency: number;
  /** The largest serialised result of one call. */
  readonly resultBytes: number;
  /** The deepest nesting of a result. */
  readonly resultDepth: number;
  /** Events that the log keeps; older ones are trimmed. */
  readonly eventLogEvents: number;
  readonly eventLogAgeMs: number;
  /** Events that wait for the store at most; beyond them the oldest are dropped, and a `log.gap` says so. */
  readonly eventPending: number;
  /** How long an event waits for others to be written with it. */
  readonly eventFlushMs: number;
  /** How long a way in to an exposed port stays open when its opener does not say, and at most. */
  readonly portTicketMs: number;
  readonly maxPortTicketMs: number;
  /** Ways in to the ports of one session at once. */
  readonly portsPerSession: number;
  /** Terminals of one session that run at once. */
  readonly terminalsPerSession: number;
  /** Viewers of one terminal at once. */
  readonly terminalViewers: number;
  /** Lines above the screen that a viewer is given. */
  readonly terminalScrollbackLines: number;
  /** What is recorded of one terminal; beyond it the recording ends. */
  readonly terminalRecordingBytes: number;
  /** What is kept of the recordings of one tenant's terminals, in all and for how long; the oldest go first. */
  readonly terminalRecordingsBytes: number;
  readonly terminalRecordingsAgeMs: number;
  /** Output that waits for a slow viewer; beyond it the viewer is given the screen anew in place of what it missed. */
  readonly terminalBufferBytes: number;
  /** How long a terminal lives that nobody watches or reads, types in or writes to. */
  readonly terminalIdleMs: number;
  /** Viewers of one desktop at once. */
  readonly desktopViewers: number;
  /** Pictures that wait for a slow viewer before its display is told to wait. */
  readonly desktopBufferBytes: number;
  /** How long a ticket for a stream waits for its viewer when its maker does not say, and at most. */
  readonly streamTicketMs: number;
  readonly maxStreamTicketMs: number;
  /** How long a human has control without an input when they do not say, and at most. */
  readonly controlLeaseMs: number;
  readonly maxControlLeaseMs: number;
  /** Clients that follow the log or a call at once; further ones are refused with 429. */
  readonly streamClients: number;
  /** What is kept of one streamed call for readers that come back, beside its result. */
  readonly streamBytes: number;
  /** What is kept of all streamed calls that are over. */
  readonly endedStreamBytes: number;
  /** How long a streamed call that is over can be read again. */
  readonly endedStreamMs: number;
  /** How often a quiet stream shows that it lives. */
  readonly streamHeartbeatMs: number;
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
  disconnectGraceMs: 2_000,
  dedupeUnkeyedMs: 0,
  idempotencyRetentionMs: 86_400_000,
  keptAnswerBytes: 8_388_608,
  keptAnswersBytes: 268_435_456,
  jobsPerWorker: 100,
  jobsPerTenant: 1_000,
  heldParamsBytes: 268_435_456,
  heldBytesPerWorker: 134_217_728,
  heldBytesPerTenant: 201_326_592,
  jobRetentionMs: 86_400_000,
  jobWaitMs: 60_000,
  sessionRetentionMs: 86_400_000,
  restartGraceMs: 60_000,
  batchItems: 1_000,
  batchConcurrency: 16,
  resultBytes: 33_554_432,
  resultDepth: 200,
  eventLogEvents: 1_000_000,
  eventLogAgeMs: 604_800_000,
  eventPending: 16_384,
  eventFlushMs: 50,
  portTicketMs: 3_600_000,
  maxPortTicketMs: 86_400_000,
  portsPerSession: 64,
  terminalsPerSession: 8,
  terminalViewers: 16,
  terminalScrollbackLines: 1_000,
  terminalRecordingBytes: 2_097_152,
  terminalRecordingsBytes: 268_435_456,
  terminalRecordingsAgeMs: 604_800_000,
  terminalBufferBytes: 262_144,
  terminalIdleMs: 3_600_000,
  desktopViewers: 16,
  desktopBufferBytes: 1_048_576,
  streamTicketMs: 30_000,
  maxStreamTicketMs: 600_000,
  controlLeaseMs: 300_000,
  maxControlLeaseMs: 3_600_000,
  streamClients: 4_096,
  streamBytes: 8_388_608,
  endedStreamBytes: 67_108_864,
  endedStreamMs: 300_000,
  streamHeartbeatMs: 15_000,
  loopLagMs: 250,
};
