import type { CancelSource } from "./deadline.ts";
import type { Departed } from "./departed-sessions.ts";
import type { SessionRecord } from "./session-record.ts";
import type { Caller } from "./session-table.ts";

/** What an explicit create asks for. */
export interface CreateRequest extends Caller {
  readonly resource: string;
  readonly config: Readonly<Record<string, unknown>>;
  readonly customName?: string | undefined;
  readonly ttlMs?: number | undefined;
  readonly autoExtend?: boolean | undefined;
  /** A label, for the event log. */
  readonly project?: string | undefined;
}

/** `created` by this request, `adopted` from a temporary one, or `exists` already. */
export interface CreateResult {
  readonly record: SessionRecord;
  readonly how: "created" | "adopted" | "exists";
}

/** A session held for one call: nothing ends it before `release`. */
export interface Lease {
  readonly record: SessionRecord;
  /** The worker's session that had gone before without its doing, if one had. */
  readonly departed: Departed | undefined;
  release(): void;
}

/** How a call gets its lease. */
export interface AcquireOptions {
  /** Ends the wait for the session. */
  readonly deadline: CancelSource;
  /** The session that it must be. */
  readonly sessionId?: string | undefined;
  /** The session that the tool which makes the call holds. */
  readonly held?: SessionRecord | undefined;
}

/** How a session is to end. */
export interface DestroyOptions {
  /** Cancels what runs in it, its initialize too, in place of waiting. */
  readonly force?: boolean;
}
