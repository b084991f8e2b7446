import type { Clock } from "../core/clock.ts";

/** How to reach a server, and as whom. */
export interface HttpServiceClientOptions {
  /** The server's root, with a path prefix if a proxy gives it one. @default "http://127.0.0.1:18890" */
  readonly baseUrl?: string | undefined;
  /** Who calls. @default `client_` and eight random hex digits */
  readonly workerId?: string | undefined;
  /** Milliseconds that the server allows a call that does not say. By default the tool's own limit, then the server's. */
  readonly timeoutMs?: number | undefined;
  /** How often a request that cannot run twice is sent again; 0 for never. @default 3 */
  readonly maxRetries?: number | undefined;
  /** Milliseconds before the first retry; doubles with each. A server's Retry-After wins. @default 500 */
  readonly retryDelayMs?: number | undefined;
  /** Sent as a bearer token. @default the environment's TOOLYARD_API_KEY */
  readonly apiKey?: string | undefined;
  /** Milliseconds between heartbeats from `connect` on; 0 for none. @default 0 */
  readonly heartbeatIntervalMs?: number | undefined;
  /** Told of each heartbeat that failed; later ones go on. */
  readonly onHeartbeatFailure?: ((error: unknown) => void) | undefined;
  /** In place of the connection pool that all clients of this process share. */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** Drives the heartbeats. */
  readonly clock?: Clock | undefined;
}

/** What a session is to be made with, beside its config. */
export interface SessionOptions {
  /** Becomes a part of the session's name. */
  readonly customName?: string | undefined;
  /** Milliseconds until an idle session ends; the server's default and maximum apply. */
  readonly ttlMs?: number | undefined;
  /** Whether calls and heartbeats move the expiry. @default true */
  readonly autoExtend?: boolean | undefined;
  /** A label, by which events can be followed. */
  readonly project?: string | undefined;
}
