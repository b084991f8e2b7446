import type { ToolResult } from "../core/result.ts";

/** The answer of GET /health. */
export interface HealthReport {
  readonly status: string;
  readonly timestamp: string;
  /** What this server can do beyond the protocol, such as `idempotency`. */
  readonly features?: readonly string[];
}

/** The answer of GET /ready; says of each backend and runtime whether it is up, and why not. */
export interface ReadyReport {
  readonly status: string;
  readonly tools_count: number;
  readonly active_workers: number;
  readonly total_sessions: number;
  readonly [fact: string]: unknown;
}

/** The answer to a heartbeat. */
export interface HeartbeatReport {
  readonly worker_id: string;
  /** The resources on which the worker has a session. */
  readonly active_sessions: readonly string[];
  readonly timestamp: string;
}

/** One worker as the server sees it. */
export interface WorkerStatus {
  readonly worker_id: string;
  readonly active_resources: readonly string[];
  readonly sessions: Readonly<
    Record<
      string,
      {
        readonly session_id: string;
        readonly status: string;
        readonly created_at: string;
        readonly last_activity: string;
      }
    >
  >;
  readonly tools_available: number | readonly string[];
}

/** A session that was made, or that was there already. */
export interface SessionCreated {
  readonly session_id: string;
  readonly session_name: string;
  readonly resource_type: string;
  /** `exists` when the worker had the session before; its config is then the old one. */
  readonly status?: "exists";
  readonly session_status?: string;
  /** Whether the config that was asked for is the session's. */
  readonly config_applied?: boolean;
  readonly expires_at?: string;
  /** Set when no backend stands behind the session; `compatibility_message` says why. */
  readonly compatibility_mode?: true;
  readonly compatibility_message?: string;
  /** `false` when nothing is mounted under this name; `true` when its backend keeps no sessions. */
  readonly known_resource?: boolean;
}

/** A session that was ended. */
export interface SessionDestroyed {
  readonly message: string;
  readonly session_id: string;
  readonly session_name: string;
  readonly resource_type: string;
}

/** One session in a listing; times are ISO 8601. */
export interface SessionListing {
  readonly resource_type: string;
  readonly session_id: string;
  readonly session_name: string;
  readonly status: string;
  readonly auto_created: boolean;
  readonly created_at: string;
  readonly last_activity: string;
  readonly expires_at: string;
}

/** One session with all that is told of it. */
export interface SessionDetails extends SessionListing {
  readonly worker_id: string;
  readonly ttl_ms: number;
  readonly auto_extend: boolean;
  /** The label that it was created with, if any. */
  readonly project?: string;
}

/** What a refresh moved: one session, or all of the worker's. */
export interface SessionRefreshed {
  readonly message: string;
  readonly resource_type?: string;
  readonly session_id?: string;
  readonly expires_at?: string;
  readonly worker_id?: string;
  readonly refreshed_count?: number;
  readonly details?: Readonly<Record<string, { readonly status: string; readonly expires_at?: string }>>;
}

/** How many sessions a disconnect ended. */
export interface WorkerDisconnected {
  readonly worker_id: string;
  readonly sessions_cleaned: number;
}

/** What came of initialising one resource. */
export interface ResourceInitialized {
  readonly session_id: string | null;
  readonly resource_type?: string;
  readonly session_status: string;
  readonly error: string | null;
}

/** What came of initialising several resources; some may have failed. */
export interface BatchInitialized {
  readonly worker_id: string;
  readonly results: Readonly<Record<string, ResourceInitialized & { readonly status: string }>>;
  readonly total: number;
  readonly success_count: number;
}

/** A config file of the server's, as it read it. */
export interface ConfigLoaded {
  readonly config_loaded: string | boolean;
  readonly config: Readonly<Record<string, unknown>>;
}

/** What came of a warmup, by backend. */
export interface WarmupReport {
  readonly status: "success" | "partial_error";
  readonly results: Readonly<Record<string, boolean>>;
  readonly summary: { readonly total: number; readonly warmed_up: number; readonly pending: number };
  readonly errors?: Readonly<Record<string, string>>;
}

/** Which backends are loaded and warm. */
export interface WarmupStatus {
  readonly backends: Readonly<Record<string, { readonly loaded: boolean; readonly warmed_up: boolean }>>;
  readonly summary: { readonly total: number; readonly warmed_up: number; readonly pending: number };
}

/** The server's last words. */
export interface ShutdownReport {
  readonly status: string;
  readonly message: string;
  readonly sessions_cleaned: number;
}

/** What a batch came to. */
export interface BatchResult {
  /** Whether every call succeeded. */
  readonly ok: boolean;
  /** In the order of the calls; shorter than they are when an error stopped the batch. */
  readonly results: readonly ToolResult[];
  readonly total: number;
  readonly executed: number;
  readonly successCount: number;
}
