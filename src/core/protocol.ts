import { z } from "zod";
import type { ResultMeta } from "./result.ts";

/** The answer of every enveloped path; success is code 0 with the message `success`. */
export interface Envelope<T = unknown> {
  readonly code: number;
  readonly message: string;
  readonly data: T;
  readonly meta: ResultMeta;
}

/** The longest worker id, action and other name that the wire takes, in characters. */
export const MAX_NAME_LENGTH = 256;

const RESERVED = new Set(["__proto__", "constructor", "prototype"]);

/** Names are printable ASCII: nothing to confuse, to inject into a log or to pollute a prototype with. */
export function isSafeName(name: string): boolean {
  return name.length > 0 && name.length <= MAX_NAME_LENGTH && /^[\x20-\x7e]+$/.test(name) && !RESERVED.has(name);
}

const Params = z.record(z.string(), z.unknown());
const Seconds = z.number().min(0).nullish();
const Milliseconds = z.number().min(0).nullish();

const CallFields = {
  params: Params.nullish(),
  /** Seconds, fractions allowed; 0 and null mean the server's default. */
  timeout: Seconds,
  /** Milliseconds; wins over `timeout`. */
  timeout_ms: Milliseconds,
};

export const ExecuteRequest = z.object({
  worker_id: z.string(),
  action: z.string(),
  ...CallFields,
  /** The session that the call must run in; omitted: the worker's live one, or a temporary one. */
  session_id: z.string().max(MAX_NAME_LENGTH).nullish(),
  trace_id: z.string().max(MAX_NAME_LENGTH).nullish(),
  /** Shows that the human who has control of the session makes the call. */
  control_lease: z.string().max(MAX_NAME_LENGTH).nullish(),
  /** What a client that goes away does to its call. */
  on_disconnect: z.enum(["cancel", "detach"]).default("cancel"),
  /** Answers with server-sent events: what the call tells while it runs, then its envelope. */
  stream: z.boolean().nullish(),
  /** Sent again under the same id, the call runs once; the header `Idempotency-Key` wins. */
  request_id: z.string().nullish(),
  /** Answers at once with a job to ask for in place of the result. */
  async_mode: z.boolean().default(false),
});
export type ExecuteRequest = z.infer<typeof ExecuteRequest>;

/** What only a call of its own can be; a batch that asks for it is refused, as it would be cancelled with its connection. */
const NotInBatch = { async_mode: z.boolean().nullish(), stream: z.boolean().nullish() };

export const BatchItem = z.object({
  action: z.string(),
  ...CallFields,
  ...NotInBatch,
  session_id: z.string().max(MAX_NAME_LENGTH).nullish(),
  /** As in a call of its own; by default, the batch's key and the item's place. */
  request_id: z.string().nullish(),
});
export type BatchItem = z.infer<typeof BatchItem>;

export const BatchRequest = z.object({
  worker_id: z.string(),
  actions: z.array(BatchItem),
  ...NotInBatch,
  /** Sent again under the same id, each item runs once; the header `Idempotency-Key` wins. */
  request_id: z.string().nullish(),
  parallel: z.boolean().default(false),
  stop_on_error: z.boolean().default(true),
  /** Calls in flight at once when parallel; the server's maximum applies. */
  max_concurrency: z.int().min(1).nullish(),
  trace_id: z.string().max(MAX_NAME_LENGTH).nullish(),
  on_disconnect: z.enum(["cancel", "detach"]).default("cancel"),
});
export type BatchRequest = z.infer<typeof BatchRequest>;

export const WorkerRequest = z.object({ worker_id: z.string() });

export const SessionCreateRequest = z.object({
  worker_id: z.string(),
  resource_type: z.string(),
  session_config: Params.nullish(),
  custom_name: z.string().max(MAX_NAME_LENGTH).nullish(),
  /** Seconds until an idle session ends; the server's default and maximum apply. */
  ttl: z.number().positive().nullish(),
  /** Whether calls and heartbeats move the expiry. */
  auto_extend: z.boolean().nullish(),
  /** A label, by which `GET /api/v1/sandbox/events/{project_id}` follows the sessions that have it. */
  project: z.string().max(MAX_NAME_LENGTH).nullish(),
});

export const SessionDestroyRequest = z.object({
  worker_id: z.string(),
  resource_type: z.string(),
  /** Destroys only if this is the live session. */
  target_session_id: z.string().max(MAX_NAME_LENGTH).nullish(),
  /** Cancels the session's running calls; otherwise they end first. */
  force: z.boolean().nullish(),
});

export const SessionListRequest = z.object({ worker_id: z.string(), resource_type: z.string().nullish() });

export const SessionRefreshRequest = z.object({
  worker_id: z.string(),
  resource_type: z.string().nullish(),
  target_session_id: z.string().max(MAX_NAME_LENGTH).nullish(),
  /** Seconds from now; the session's own ttl by default. */
  extend_ttl: z.number().positive().nullish(),
});

export const InitResourceRequest = z.object({
  worker_id: z.string(),
  resource_type: z.string(),
  init_config: Params.nullish(),
});

export const InitBatchRequest = z.object({ worker_id: z.string(), resource_configs: z.record(z.string(), Params) });

export const InitFromConfigRequest = z.object({
  worker_id: z.string(),
  config_path: z.string(),
  override_params: Params.nullish(),
});

export const WarmupRequest = z.object({ backends: z.array(z.string()).nullish() });

export const ShutdownRequest = z.object({
  /** Cancels running calls at once in place of waiting for them. */
  force: z.boolean().default(false),
  cleanup_sessions: z.boolean().default(true),
});
