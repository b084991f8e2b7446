import type { ErrorName, Outcome } from "./errors.ts";

/** What the server knows about a call, beside its result. Keys are the wire's. */
export interface ResultMeta {
  /** The full name of the tool, or the operation (`session:create`). */
  readonly tool: string;
  readonly execution_time_ms: number | null;
  readonly resource_type: string | null;
  readonly session_id: string | null;
  readonly trace_id: string;
  readonly outcome: Outcome;
  /** Milliseconds that the call waited for admission, its session and its turn. */
  readonly queued_ms?: number;
  /** The session was made for this call and is gone after it. */
  readonly temporary_session?: true;
  /** The id of the session that had expired before this call, whose state is gone. */
  readonly expired_session?: string;
  /** The id of the session that was lost before this call, and its state with it. */
  readonly lost_session?: string;
  /** Paths whose value JSON cannot hold, and what stands there instead. */
  readonly lossy?: readonly string[];
  readonly error?: ErrorName;
  readonly retryable?: boolean;
  readonly suggestion?: string;
}

/** The failure of a call as a value. */
export interface ToolFailure {
  readonly error: ErrorName;
  /** The numeric code of the wire protocol. */
  readonly code: number;
  readonly status: number;
  readonly outcome: Exclude<Outcome, "ok">;
  readonly message: string;
  readonly retryable: boolean;
  readonly suggestion: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

/** What a call came to; `ok: true` means that the tool did its work, whatever that work's own exit code was. */
export type ToolResult<T = unknown> =
  | { readonly ok: true; readonly data: T; readonly meta: ResultMeta }
  | { readonly ok: false; readonly error: ToolFailure; readonly meta: ResultMeta };
