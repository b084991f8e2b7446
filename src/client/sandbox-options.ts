import type { HttpServiceClientOptions } from "./http-client-options.ts";

/** How a sandbox finds or starts its server, and as whom it calls. */
export interface SandboxOptions extends Omit<HttpServiceClientOptions, "baseUrl"> {
  /** A running server; when absent, the sandbox starts one of its own, which ends with it. */
  readonly serverUrl?: string | undefined;
  /** Whether to start a server on `serverUrl`'s port when none answers there. @default false */
  readonly autoStart?: boolean | undefined;
  /** The config file of a server that is started here. @default the package's own */
  readonly configPath?: string | undefined;
  /** The data folder of a server that is started here. */
  readonly dataDir?: string | undefined;
  /** The program of a server that is started here. @default the package's own */
  readonly serverEntry?: URL | undefined;
  /** Backends to prepare before `start` returns; `true` for all. @default none */
  readonly warmup?: boolean | readonly string[] | undefined;
  /** Milliseconds that a server started here has to come up. @default 30_000 */
  readonly startupTimeoutMs?: number | undefined;
  /** Milliseconds between heartbeats while the sandbox is open; 0 for none. @default 30_000 */
  readonly heartbeatIntervalMs?: number | undefined;
  /** Whether `close` leaves the sessions that this sandbox made. @default false */
  readonly keepSessions?: boolean | undefined;
}
