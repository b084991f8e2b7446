import type { Envelope } from "../core/protocol.ts";
import type { ToolResult } from "../core/result.ts";
import { toServerError, toToolResult } from "./envelope.ts";
import { expectData, expectEnvelope } from "./expect-answer.ts";
import { QUICK_TIMEOUT_MS } from "./timeouts.ts";
import type { Transport } from "./transport.ts";

/** How a job is; `unknown` when its server died over it. */
export type JobState = "queued" | "running" | "completed" | "failed" | "cancelled" | "unknown";

/** A job as the server tells it; times are ISO 8601. */
export interface JobStatus {
  readonly job_id: string;
  readonly state: JobState;
  readonly worker_id: string;
  readonly action: string;
  readonly created_at: string;
  readonly ended_at: string | null;
  /** The last progress that the tool reported. */
  readonly progress: Readonly<Record<string, unknown>> | null;
  /** The call's envelope once it is over; left out of listings. */
  readonly result?: Envelope | null;
}

/** How to wait for a job. */
export interface JobWaitOptions {
  /** Milliseconds; as long as it takes by default. */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** How long one request waits; the server's own maximum applies. */
const LONG_POLL_MS = 25_000;
const OVER: ReadonlySet<JobState> = new Set(["completed", "failed", "cancelled", "unknown"]);

/** A call that outlives its connection, by its id; `T` is what it comes to, which nothing checks. */
export class Job<T = unknown> {
  readonly id: string;
  readonly #transport: Transport;

  /** Does no I/O, and makes no job: see `HttpServiceClient.startJob` and `HttpServiceClient.findJob`. */
  constructor(transport: Transport, id: string) {
    this.#transport = transport;
    this.id = id;
  }

  /**
   * Asks how the job is: its state, its last progress and its result, if it is over.
   *
   * @throws ServerError `unknown_name` when the server does not know it, or not any more.
   */
  async status(): Promise<JobStatus> {
    return this.#ask("GET", "", QUICK_TIMEOUT_MS);
  }

  async state(): Promise<JobState> {
    return (await this.status()).state;
  }

  /** Cancels it, if it is not over, and tells how it is then; a tool may take a moment to stop. */
  async cancel(): Promise<JobStatus> {
    return this.#ask("POST", "/cancel", QUICK_TIMEOUT_MS);
  }

  /** Waits for its end and tells how it is, over or not once the time is up. */
  async wait({ timeoutMs = Number.POSITIVE_INFINITY, signal }: JobWaitOptions = {}): Promise<JobStatus> {
    let leftMs = timeoutMs;
    for (;;) {
      const pollMs = Math.min(leftMs, LONG_POLL_MS);
      const status = await this.#ask(
        "GET",
        `/wait?timeout_ms=${Math.round(pollMs)}`,
        pollMs + QUICK_TIMEOUT_MS,
        signal,
      );
      leftMs -= pollMs;
      if (OVER.has(status.state) || leftMs <= 0) return status;
    }
  }

  /** Waits for its end and returns what the call came to; a failed call is a value, not a throw. */
  async outcome(options: { readonly signal?: AbortSignal | undefined } = {}): Promise<ToolResult<T>> {
    const envelope = await this.#envelope(options.signal);
    // As everywhere in the client: the protocol says what an action answers.
    return toToolResult(envelope) as ToolResult<T>;
  }

  /**
   * Waits for its end and returns the call's data.
   *
   * @throws ServerError when the call failed; `unknown_outcome` when its server died over it.
   */
  async result(options: { readonly signal?: AbortSignal | undefined } = {}): Promise<T> {
    const envelope = await this.#envelope(options.signal);
    if (envelope.code !== 0) throw toServerError(envelope);
    return envelope.data as T; // see outcome
  }

  async #envelope(signal: AbortSignal | undefined): Promise<Envelope> {
    const { result } = await this.wait({ signal });
    // A job that is over has one.
    return result ?? { code: 5013, message: "The job has no result", data: null, meta: NO_META };
  }

  async #ask(method: "GET" | "POST", path: string, timeoutMs: number, signal?: AbortSignal): Promise<JobStatus> {
    const answer = await this.#transport.exchange({
      method,
      path: `/api/v1/jobs/${encodeURIComponent(this.id)}${path}`,
      timeoutMs,
      // Cancelling twice is cancelling once.
      repeatable: true,
      signal,
    });
    return expectData<JobStatus>(expectEnvelope(answer, method));
  }
}

const NO_META: Envelope["meta"] = {
  tool: "job",
  execution_time_ms: null,
  resource_type: null,
  session_id: null,
  trace_id: "",
  outcome: "infra_error",
  error: "internal_error",
};
