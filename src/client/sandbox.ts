import { randomUUID } from "node:crypto";
import { systemClock } from "../core/clock.ts";
import type { EventType } from "../core/events.ts";
import type { ToolResult } from "../core/result.ts";
import type { ActionArguments, ActionName, ActionResult } from "./action-map.ts";
import type * as answers from "./answers.ts";
import type { CallEvent } from "./call-events.ts";
import type { BatchCall, BatchOptions, HttpCallOptions } from "./call-request.ts";
import { ClientError } from "./errors/client-error.ts";
import { ServerEndedError } from "./errors/server-ended-error.ts";
import { findServer } from "./find-server.ts";
import type { EventsFilter, FollowedEvent } from "./follow-events.ts";
import { HttpServiceClient } from "./http-client.ts";
import type { Job } from "./job.ts";
import type { SessionOptions } from "./http-client-options.ts";
import type { SandboxOptions } from "./sandbox-options.ts";
import { SandboxServices, type StartedSandbox } from "./sandbox-services.ts";
import {
  SandboxSessions,
  type SessionReinitialized,
  type SessionsCreated,
  type SessionsDestroyed,
  type SessionsRequest,
} from "./sandbox-sessions.ts";
import type { ServerShare } from "./shared-server.ts";
import { warmAtStart } from "./warm-at-start.ts";

interface Open extends StartedSandbox {
  readonly share: ServerShare | undefined;
}

/**
 * One worker's tools behind one object: starts or finds the server, keeps its sessions alive and ends them.
 *
 * Sandboxes of one process with the same server options share one server. The first method that needs the server starts
 * it. Once a session was created, the calls on its resource run in that session or fail with `session_expired` or
 * `session_not_found`; they never get a fresh one unasked.
 *
 * @example
 * ```ts
 * await using sandbox = await Sandbox.open();
 * const { text } = await sandbox.execute("code:run", { language: "javascript", code: "6 * 7" });
 * ```
 */
export class Sandbox extends SandboxServices {
  readonly workerId: string;
  readonly #options: SandboxOptions;
  #open: Promise<Open> | undefined;
  #client: HttpServiceClient | undefined;
  #closed = false;

  /** Does no I/O. */
  constructor(options: SandboxOptions = {}) {
    super();
    this.#options = options;
    this.workerId = options.workerId ?? `sandbox_${randomUUID().slice(0, 8)}`;
  }

  /** Makes a sandbox and starts it. */
  static async open(options: SandboxOptions = {}): Promise<Sandbox> {
    const sandbox = new Sandbox(options);
    await sandbox.start();
    return sandbox;
  }

  /** Makes a sandbox for another worker of the same server; each has its own sessions and is closed by itself. */
  forWorker(workerId: string): Sandbox {
    return new Sandbox({ ...this.#options, workerId, warmup: false });
  }

  /** The client underneath; `undefined` until started. */
  get client(): HttpServiceClient | undefined {
    return this.#client;
  }

  /** Where the server listens; `undefined` until started. */
  get serverUrl(): string | undefined {
    return this.#client?.baseUrl;
  }

  /**
   * Finds the server or starts it, and warms up what the options ask for; does nothing when started already.
   *
   * @throws ServerStartError when a server of its own does not come up; ConnectionError when none answers at `serverUrl`;
   * ToolyardError `backend_unavailable` when a backend cannot be warmed up.
   */
  async start(): Promise<void> {
    await this.started();
  }

  /**
   * Makes the worker's sessions on one resource or several, together; what failed is said per resource.
   *
   * @throws ConnectionError when the server did not answer.
   */
  async createSession(
    request: SessionsRequest,
    config: object = {},
    options: SessionOptions = {},
  ): Promise<SessionsCreated> {
    return (await this.started()).sessions.create(request, config, options);
  }

  /** Ends the worker's sessions on these resources, or all of them, after their running calls. */
  async destroySession(resources?: string | readonly string[]): Promise<SessionsDestroyed> {
    return (await this.started()).sessions.destroy(resources);
  }

  /**
   * Ends the session on a resource, if there is one, and makes a new one with this config.
   *
   * @throws ServerError when the new one cannot be made; the old one is gone then, too.
   */
  async reinitialize(
    resource: string,
    config: object = {},
    options: SessionOptions = {},
  ): Promise<SessionReinitialized> {
    return (await this.started()).sessions.reinitialize(resource, config, options);
  }

  /**
   * Calls an action that the compiler knows and returns its data.
   *
   * @throws ServerError when the call failed, with the tool's own error name, message and details; `session_expired` or
   * `session_not_found` when the session that was created for it is gone.
   */
  async execute<A extends ActionName>(
    action: A,
    ...rest: ActionArguments<HttpCallOptions>[A]
  ): Promise<ActionResult<A>> {
    const [params, options] = rest;
    const { client } = await this.started();
    return client.executeUntyped<ActionResult<A>>(action, params ?? {}, await this.#inSession(action, options ?? {}));
  }

  /** Calls any action; a failed call is a value, not a throw. */
  async call(action: string, params: object = {}, options: HttpCallOptions = {}): Promise<ToolResult> {
    const { client } = await this.started();
    return client.call(action, params, await this.#inSession(action, options));
  }

  /**
   * Runs an action that the compiler knows and yields what it tells while it runs, at last its result.
   *
   * Leaving the loop cancels the call; a cut connection is taken up again. A failed call is a value in the last event.
   *
   * @example
   * ```ts
   * for await (const event of sandbox.stream("code:run", { language: "python", code: "print(1)" })) {
   *   if (event.type === "output") process.stdout.write(event.data.text);
   * }
   * ```
   */
  async *stream<A extends ActionName>(
    action: A,
    ...rest: ActionArguments<HttpCallOptions>[A]
  ): AsyncGenerator<CallEvent<ActionResult<A>>, void, undefined> {
    const [params, options] = rest;
    const { client } = await this.started();
    yield* client.streamUntyped<ActionResult<A>>(action, params ?? {}, await this.#inSession(action, options ?? {}));
  }

  /** Yields what happens, by default to this worker and from now on, until the reader leaves the loop. */
  async *events<T extends EventType>(filter: EventsFilter<T> = {}): AsyncGenerator<FollowedEvent<T>, void, undefined> {
    yield* (await this.started()).client.events(filter);
  }

  /** Starts an action as a job, which outlives this process; `client.findJob(id)` finds it again. */
  async job<A extends ActionName>(
    action: A,
    ...rest: ActionArguments<HttpCallOptions>[A]
  ): Promise<Job<ActionResult<A>>> {
    const [params, options] = rest;
    const { client } = await this.started();
    return client.startJob<ActionResult<A>>(action, params ?? {}, await this.#inSession(action, options ?? {}));
  }

  /** Runs several calls in one request; each call's failure is a value in `results`. */
  async batch(calls: readonly BatchCall[], options: BatchOptions = {}): Promise<answers.BatchResult> {
    const { client } = await this.started();
    const bound = await Promise.all(calls.map((call) => this.#inSession(call.action, call)));
    return client.executeBatch(bound, options);
  }

  /**
   * Stops the server, also for others who use it, and closes this sandbox.
   *
   * @throws ServerError when the server refuses.
   */
  async shutdownServer(options: { readonly force?: boolean; readonly cleanupSessions?: boolean } = {}): Promise<void> {
    const { client, sessions: own } = await this.started();
    await client.shutdownServer(options);
    own.forget();
    await this.close();
  }

  /**
   * Ends the sessions that this sandbox made and its share of a server that was started for it.
   * Safe to call more than once; never throws for a server that is gone. A closed sandbox cannot be started again.
   */
  async close(): Promise<void> {
    this.#closed = true;
    const opening = this.#open;
    this.#open = undefined;
    const open = await opening?.catch(() => undefined);
    if (open === undefined) return;
    try {
      if (this.#options.keepSessions !== true) await open.sessions.destroyOwn();
      await open.client.close();
    } finally {
      await open.share?.release();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #inSession<O extends { readonly sessionId?: string | undefined }>(action: string, given: O): Promise<O> {
    if (given.sessionId !== undefined) return given;
    const { sessions } = await this.started();
    const sessionId = await sessions.sessionIdFor(action);
    return sessionId === undefined ? given : { ...given, sessionId };
  }

  protected override async started(): Promise<Open> {
    if (this.#closed) throw new ClientError("the sandbox is closed", "Open another one with Sandbox.open().");
    this.#open ??= this.#connect();
    const open = await this.#open;
    const exit = open.share?.server.exit ?? null;
    if (exit !== null) throw new ServerEndedError(exit);
    return open;
  }

  async #connect(): Promise<Open> {
    let share: ServerShare | undefined;
    let client: HttpServiceClient | undefined;
    try {
      share = await findServer(this.#options);
      client = this.#createClient(share?.server.url ?? this.#options.serverUrl);
      await client.connect();
      await warmAtStart(client, this.#options.warmup);
      this.#client = client;
      return { client, share, sessions: new SandboxSessions(client, this.#options.clock ?? systemClock) };
    } catch (error) {
      // The next method tries again.
      this.#open = undefined;
      await client?.close();
      await share?.release();
      throw error;
    }
  }

  #createClient(baseUrl: string | undefined): HttpServiceClient {
    return new HttpServiceClient({
      ...this.#options,
      heartbeatIntervalMs: this.#options.heartbeatIntervalMs ?? 30_000,
      workerId: this.workerId,
      ...(baseUrl === undefined ? {} : { baseUrl }),
    });
  }
}
