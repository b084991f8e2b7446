import { randomUUID } from "node:crypto";
import { systemClock } from "../core/clock.ts";
import type { EventType } from "../core/events.ts";
import type { Envelope } from "../core/protocol.ts";
import type { ToolResult } from "../core/result.ts";
import type { ActionArguments, ActionName, ActionResult } from "./action-map.ts";
import type * as answers from "./answers.ts";
import { type CallEvent, streamCall } from "./call-events.ts";
import {
  type BatchCall,
  type BatchOptions,
  batchWaitMs,
  callWaitMs,
  type HttpCallOptions,
  toBatchBody,
  toExecuteBody,
} from "./call-request.ts";
import { isJsonObject, toServerError, toToolResult } from "./envelope.ts";
import { Heartbeat } from "./heartbeat.ts";
import type { Job, JobStatus } from "./job.ts";
import type { HttpServiceClientOptions, SessionOptions } from "./http-client-options.ts";
import { expectData, expectEnvelope } from "./expect-answer.ts";
import { type EventsFilter, followEvents, type FollowedEvent } from "./follow-events.ts";
import { ServerClient } from "./server-client.ts";
import { LIFECYCLE_TIMEOUT_MS, QUICK_TIMEOUT_MS } from "./timeouts.ts";
import { type Exchange, Transport } from "./transport.ts";

/**
 * Speaks the wire protocol for one worker; it keeps no sessions in mind, and sends a session id only when told to.
 *
 * Every method throws `ServerError` for what the server refused or failed, `ConnectionError` when no answer came and
 * `ProtocolError` when the answer is not the protocol's. Only what cannot run twice is sent again by itself.
 */
export class HttpServiceClient extends ServerClient {
  readonly workerId: string;
  readonly #options: HttpServiceClientOptions;
  readonly #heartbeat: Heartbeat | undefined;

  /** Does no I/O. The transport is for {@link forWorker}, which passes it on. */
  constructor(options: HttpServiceClientOptions = {}, transport: Transport = createTransport(options)) {
    super(transport);
    this.#options = options;
    this.workerId = options.workerId ?? `client_${randomUUID().slice(0, 8)}`;
    const intervalMs = options.heartbeatIntervalMs ?? 0;
    if (intervalMs > 0) {
      this.#heartbeat = new Heartbeat({
        intervalMs,
        clock: options.clock ?? systemClock,
        beat: (signal) => this.heartbeat({ signal }),
        onFailure: options.onHeartbeatFailure,
      });
    }
  }

  /** Makes a client for another worker of the same server; each has its own heartbeats and its own close. */
  forWorker(workerId: string): HttpServiceClient {
    return new HttpServiceClient({ ...this.#options, workerId }, this.transport);
  }

  /** Checks that a server answers, learns its features and starts the heartbeats. */
  async connect(): Promise<answers.HealthReport> {
    const health = await this.health();
    this.#heartbeat?.start();
    return health;
  }

  /** Stops the heartbeats; sessions stay unless `destroySessions` says otherwise. */
  async close({ destroySessions = false }: { readonly destroySessions?: boolean } = {}): Promise<void> {
    this.#heartbeat?.stop();
    if (destroySessions) await this.destroyAllSessions();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /**
   * Calls an action that the compiler knows and returns its data.
   *
   * @throws ServerError when the call failed, with the tool's own error name, message and details.
   */
  async execute<A extends ActionName>(
    action: A,
    ...rest: ActionArguments<HttpCallOptions>[A]
  ): Promise<ActionResult<A>> {
    const [params, options] = rest;
    return this.executeUntyped<ActionResult<A>>(action, params ?? {}, options);
  }

  /** Calls any action and takes its data for a `T`, which nothing checks; for callers that have their own types. */
  async executeUntyped<T = unknown>(action: string, params: object = {}, options: HttpCallOptions = {}): Promise<T> {
    return expectData<T>(await this.#execute(action, params, options));
  }

  /** Calls any action; a failed call is a value, not a throw. */
  async call(action: string, params: object = {}, options: HttpCallOptions = {}): Promise<ToolResult> {
    const { envelope, status } = await this.#execute(action, params, options);
    return toToolResult(envelope, status);
  }

  /**
   * Runs an action that the compiler knows and yields what it tells, at last its result; a failed call is a value there.
   *
   * Leaving the loop cancels the call unless `onDisconnect` is `detach`; a cut connection is taken up again unless it is
   * `cancel`. Nothing is sent before the first event is asked for.
   *
   * @throws ConnectionError when the stream cannot be taken up again.
   */
  stream<A extends ActionName>(
    action: A,
    ...rest: ActionArguments<HttpCallOptions>[A]
  ): AsyncGenerator<CallEvent<ActionResult<A>>, void, undefined> {
    const [params, options] = rest;
    return this.streamUntyped<ActionResult<A>>(action, params ?? {}, options);
  }

  /** As {@link stream}, for any action, with a `T` that nothing checks. */
  streamUntyped<T = unknown>(
    action: string,
    params: object = {},
    options: HttpCallOptions = {},
  ): AsyncGenerator<CallEvent<T>, void, undefined> {
    return streamCall<T>(this.transport, this.workerId, { action, params }, this.#timed(options));
  }

  /**
   * Yields what happens, by default to this worker and from now on, until the reader leaves the loop.
   *
   * @throws ServerError `cursor_expired` or `unknown_cursor` for an `after` that cannot be gone on from.
   */
  events<T extends EventType>(filter: EventsFilter<T> = {}): AsyncGenerator<FollowedEvent<T>, void, undefined> {
    return followEvents(this.transport, this.workerId, filter);
  }

  /**
   * Starts an action as a job, which outlives this client's connection, and on most servers the server's own end.
   *
   * @throws ServerError when it was refused, and then nothing ran.
   */
  async job<A extends ActionName>(
    action: A,
    ...rest: ActionArguments<HttpCallOptions>[A]
  ): Promise<Job<ActionResult<A>>> {
    const [params, options] = rest;
    return this.startJob<ActionResult<A>>(action, params ?? {}, options);
  }

  /** Starts any action as a job, whose data is taken for a `T`. */
  async startJob<T = unknown>(action: string, params: object = {}, options: HttpCallOptions = {}): Promise<Job<T>> {
    const { job_id: id } = expectData<JobStatus>(await this.#execute(action, params, options, { async_mode: true }));
    return this.findJob<T>(id);
  }

  /**
   * Runs several calls in one request; each call's failure is a value in `results`.
   *
   * @throws ServerError when the batch as a whole was refused.
   */
  async executeBatch(calls: readonly BatchCall[], options: BatchOptions = {}): Promise<answers.BatchResult> {
    const defaults = this.#options.timeoutMs;
    const timed = defaults === undefined ? calls : calls.map((call) => ({ timeoutMs: defaults, ...call }));
    const { envelope, status } = await this.#post("/api/v1/execute/batch", toBatchBody(this.workerId, timed, options), {
      timeoutMs: batchWaitMs(timed),
      // Each call runs once under a key that the server makes of this one.
      repeatable: "keyed",
      headers: { "idempotency-key": randomUUID() },
      signal: options.signal,
    });
    const { data } = envelope;
    if (!isJsonObject(data) || !Array.isArray(data["results"])) throw toServerError(envelope, status);
    const results = data["results"].map((item: Envelope) => toToolResult(item));
    return {
      ok: envelope.code === 0,
      results,
      total: Number(data["total"] ?? calls.length),
      executed: Number(data["executed"] ?? results.length),
      successCount: Number(data["success_count"] ?? results.filter(({ ok }) => ok).length),
    };
  }

  /** Tells the server that the worker is alive, which keeps its idle sessions. */
  async heartbeat({ signal }: { readonly signal?: AbortSignal } = {}): Promise<answers.HeartbeatReport> {
    return this.#operate("/api/v1/lifecycle/heartbeat", {}, { repeatable: true, signal });
  }

  /** Lists what the worker holds. */
  async getStatus(): Promise<answers.WorkerStatus> {
    return this.#operate("/api/v1/lifecycle/status", {}, { repeatable: true });
  }

  /** Makes the worker's session on a resource; one that is there already is answered with status `exists` and keeps its config. */
  async createSession(
    resource: string,
    config: object = {},
    options: SessionOptions = {},
  ): Promise<answers.SessionCreated> {
    const { customName, ttlMs, autoExtend, project } = options;
    return this.#operate("/api/v1/session/create", {
      resource_type: resource,
      session_config: config,
      custom_name: customName,
      ttl: ttlMs === undefined ? undefined : ttlMs / 1000,
      auto_extend: autoExtend,
      project,
    });
  }

  /**
   * Ends the worker's session on a resource, after its running calls unless `force` cancels them.
   *
   * @throws ServerError `session_not_found` when there is none, or when `sessionId` is not the live one.
   */
  async destroySession(
    resource: string,
    { sessionId, force }: { readonly sessionId?: string | undefined; readonly force?: boolean | undefined } = {},
  ): Promise<answers.SessionDestroyed> {
    return this.#operate("/api/v1/session/destroy", { resource_type: resource, target_session_id: sessionId, force });
  }

  /** Ends every session of the worker, also those that other clients of the same worker made. */
  async destroyAllSessions(): Promise<answers.WorkerDisconnected> {
    return this.#operate("/api/v1/worker/disconnect", {});
  }

  /** Lists the worker's sessions, of one resource or of all. */
  async listSessions(resource?: string): Promise<readonly answers.SessionListing[]> {
    const data = await this.#operate<{ readonly sessions: readonly answers.SessionListing[] }>(
      "/api/v1/session/list",
      { resource_type: resource },
      { repeatable: true },
    );
    return data.sessions;
  }

  /** Moves the expiry of one session, or of all of the worker's when no resource is given. */
  async refreshSession(
    resource?: string,
    { ttlMs, sessionId }: { readonly ttlMs?: number | undefined; readonly sessionId?: string | undefined } = {},
  ): Promise<answers.SessionRefreshed> {
    const extend = ttlMs === undefined ? undefined : ttlMs / 1000;
    const body = { resource_type: resource, extend_ttl: extend, target_session_id: sessionId };
    return this.#operate("/api/v1/session/refresh", body, { repeatable: true });
  }

  /** Gets the worker's session on a resource, made if there is none. */
  async initResource(resource: string, config: object = {}): Promise<answers.ResourceInitialized> {
    return this.#operate("/api/v1/init/resource", { resource_type: resource, init_config: config });
  }

  /** Initialises several resources; what failed is said in `results`, by resource. */
  async initBatch(configs: Readonly<Record<string, object>>): Promise<answers.BatchInitialized> {
    const answer = await this.#post("/api/v1/init/batch", { worker_id: this.workerId, resource_configs: configs });
    return expectData(answer, ["partial_failure", "all_failed"]);
  }

  /** Reads a config file out of the server's own config folder; `overrides` replace its top-level keys in the answer. */
  async initFromConfig(configPath: string, overrides: object = {}): Promise<answers.ConfigLoaded> {
    return this.#operate("/api/v1/init/from-config", { config_path: configPath, override_params: overrides });
  }

  async #execute(action: string, params: object, given: HttpCallOptions, mode: object = {}) {
    const options = this.#timed(given);
    const { timeoutMs } = options;
    const body = { ...toExecuteBody(this.workerId, action, params, options), ...mode };
    return this.#post("/api/v1/execute", body, {
      timeoutMs: callWaitMs(timeoutMs),
      // Under a key that the server keeps, a second sending gets the first one's answer.
      repeatable: "keyed",
      headers: { "idempotency-key": options.idempotencyKey ?? randomUUID() },
      signal: options.signal,
    });
  }

  #timed(given: HttpCallOptions): HttpCallOptions {
    const timeoutMs = given.timeoutMs ?? this.#options.timeoutMs;
    return timeoutMs === undefined ? given : { ...given, timeoutMs };
  }

  async #operate<T>(path: string, body: object, options: Partial<Exchange> = {}): Promise<T> {
    return expectData<T>(await this.#post(path, { worker_id: this.workerId, ...body }, options));
  }

  async #post(path: string, body: object, options: Partial<Exchange> = {}) {
    const waitMs = options.repeatable === true ? QUICK_TIMEOUT_MS : LIFECYCLE_TIMEOUT_MS;
    const exchange: Exchange = { timeoutMs: waitMs, repeatable: false, ...options, method: "POST", path, body };
    return expectEnvelope(await this.transport.exchange(exchange), "POST");
  }
}

function createTransport(options: HttpServiceClientOptions): Transport {
  return new Transport({
    baseUrl: options.baseUrl ?? "http://127.0.0.1:18890",
    apiKey: options.apiKey ?? (process.env["TOOLYARD_API_KEY"] || undefined),
    maxRetries: options.maxRetries ?? 3,
    retryDelayMs: options.retryDelayMs ?? 500,
    fetch: options.fetch,
  });
}
