import { randomUUID } from "node:crypto";
import type { ToolyardError } from "../core/errors.ts";
import type { ResultMeta, ToolResult } from "../core/result.ts";
import type { Call, CallRequest } from "./call.ts";
import type { CatalogEntry } from "./catalog.ts";
import { toFailure } from "./failure.ts";
import type { PlainJson } from "./plain-json.ts";
import type { Lease } from "./session-request.ts";

const NOTHING = {};
/** What is told of a name that no tool has. */
const MAX_ACTION_LENGTH = 256;

/** When a call came, when its tool was started (if it was) and when it ended, by the monotonic clock. */
export interface CallTimes {
  readonly arrivedAt: number;
  readonly startedAt: number | undefined;
  readonly endedAt: number;
}

export function toSuccess(call: Call, { value, lossy }: PlainJson, times: CallTimes): ToolResult {
  const { entry, lease, traceId, outcome } = call;
  const meta: { -readonly [K in keyof ResultMeta]: ResultMeta[K] } = {
    tool: entry.fullName,
    execution_time_ms: executionTimeOf(times),
    resource_type: entry.resourceType,
    session_id: lease?.record.id ?? null,
    trace_id: traceId,
    outcome,
    queued_ms: queueTimeOf(times),
  };
  // Set and not spread: nearly every result has none of these.
  if (lease?.record.temporary === true) meta.temporary_session = true;
  if (lease?.departed !== undefined) Object.assign(meta, toDeparture(lease));
  if (lossy.length > 0) meta.lossy = lossy;
  return { ok: true, data: value, meta };
}

/** Makes the result of a call that failed, at whatever step: what is not known yet is left out. */
export function toFailedResult(
  facts: {
    readonly request: CallRequest;
    readonly traceId: string;
    readonly entry: CatalogEntry | undefined;
    readonly call: Call | undefined;
  },
  error: ToolyardError,
  times: CallTimes,
): ToolResult {
  const failure = toFailure(error);
  const meta: ResultMeta = {
    tool: facts.entry?.fullName ?? facts.request.action.slice(0, MAX_ACTION_LENGTH),
    execution_time_ms: executionTimeOf(times),
    resource_type: facts.entry?.resourceType ?? null,
    session_id: facts.call?.lease?.record.id ?? null,
    trace_id: facts.traceId,
    outcome: failure.outcome,
    queued_ms: queueTimeOf(times),
    ...toDeparture(facts.call?.lease),
    error: failure.error,
    retryable: failure.retryable,
    suggestion: failure.suggestion,
  };
  return { ok: false, error: failure, meta };
}

/** Makes the result of a call that was not run, or of which no more is known than its name. */
export function toRefusedResult(
  { action, traceId = randomUUID() }: { readonly action: string; readonly traceId?: string | undefined },
  error: ToolyardError,
): ToolResult {
  const failure = toFailure(error);
  const meta: ResultMeta = {
    tool: action.slice(0, MAX_ACTION_LENGTH),
    execution_time_ms: null,
    resource_type: null,
    session_id: null,
    trace_id: traceId,
    outcome: failure.outcome,
    error: failure.error,
    retryable: failure.retryable,
    suggestion: failure.suggestion,
  };
  return { ok: false, error: failure, meta };
}

/** Tells of the session that the worker had before, also where the call fails. */
function toDeparture(lease: Lease | undefined): Pick<ResultMeta, "lost_session" | "expired_session"> {
  return lease?.departed === undefined ? NOTHING : { [`${lease.departed.reason}_session`]: lease.departed.id };
}

function executionTimeOf({ startedAt, endedAt }: CallTimes): number {
  return round(endedAt - (startedAt ?? endedAt));
}

function queueTimeOf({ arrivedAt, startedAt, endedAt }: CallTimes): number {
  return round((startedAt ?? endedAt) - arrivedAt);
}

function round(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
