/** What the client assumes of the server's limits on a call. */
export const defaultCallLimits = {
  /** The longest that a server allows any call. */
  longestMs: 3_600_000,
  /** What the client waits beyond the server's limit: the server's grace for the tool to stop, and the way back. */
  marginMs: 15_000,
} as const;

/** How long the client waits for a request that runs no plugin's code. */
export const QUICK_TIMEOUT_MS = 30_000;

/** How long the client waits for warmup, initialize and cleanup: beyond the sum of the server's own limits on them. */
export const LIFECYCLE_TIMEOUT_MS = 600_000;
