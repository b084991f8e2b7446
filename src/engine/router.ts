import type { Session } from "../core/session.ts";
import type { EventType } from "../core/events.ts";
import { ToolyardError } from "../core/errors.ts";
import { BoundedMap } from "./bounded-map.ts";
import type { EventBus } from "./bus.ts";
import { type CancelSource, settlesWithin, untilEnded } from "./deadline.ts";
import { Lifecycle, type LifecycleDeps } from "./lifecycle.ts";
import { hasSessions, type Mount } from "./mount.ts";
import { toSessionConfig } from "./session-config.ts";
import { toSessionId, toSessionName } from "./session-name.ts";
import { type EndReason, type LeaseHolder, SessionRecord } from "./session-record.ts";

/** Who calls. */
export interface Caller {
  readonly tenant: string;
  readonly workerId: string;
}

/** What an explicit create asks for. */
export interface CreateRequest extends Caller {
  readonly resource: string;
  readonly config: Readonly<Record<string, unknown>>;
  readonly customName?: string | undefined;
  readonly ttlMs?: number | undefined;
  readonly autoExtend?: boolean | undefined;
}

/** `created` by this request, `adopted` from a temporary one, or `exists` already. */
export interface CreateResult {
  readonly record: SessionRecord;
  readonly how: "created" | "adopted" | "exists";
}

/** A session held for one call: nothing ends it before `release`. */
export interface Lease {
  readonly record: SessionRecord;
  /** The id of the worker's session that had expired before, if one had. */
  readonly expiredSession: string | undefined;
  release(): void;
}

interface WorkerSessions {
  readonly sessions: Map<string, SessionRecord>;
  /** How many sessions each resource has had since the worker came. */
  readonly counts: Map<string, number>;
}

/** How many expired sessions are remembered by id, for a typed answer to who still names them. */
const REMEMBERED = 10_000;
const CLEANUP_RETRIES_MS = [1_000, 10_000] as const;

/**
 * Keeps one session per worker and resource, and runs its lifecycle.
 *
 * There is no lock: state changes are synchronous, and hooks run outside them, each on its own session. A session that
 * ends leaves the table at once, so that its slow cleanup holds nobody up.
 */
export class ResourceRouter {
  readonly #workers = new Map<string, WorkerSessions>();
  readonly #ending = new Set<SessionRecord>();
  readonly #lifecycles = new Map<string, Lifecycle>();
  readonly #ended = new BoundedMap<string, EndReason>(REMEMBERED);
  readonly #expired = new BoundedMap<string, string>(REMEMBERED);
  readonly #mounts: ReadonlyMap<string, Mount>;
  readonly #deps: LifecycleDeps;
  readonly #bus: EventBus;
  #sessionCount = 0;
  /** Sessions whose cleanup failed for good. */
  leaked = 0;

  constructor(mounts: ReadonlyMap<string, Mount>, deps: LifecycleDeps, bus: EventBus) {
    this.#mounts = mounts;
    this.#deps = deps;
    this.#bus = bus;
    for (const mount of mounts.values()) this.#lifecycles.set(mount.resource, new Lifecycle(mount, deps));
  }

  get workerCount(): number {
    return this.#workers.size;
  }

  get sessionCount(): number {
    return this.#sessionCount;
  }

  /** Sessions whose cleanup is not over. */
  get endingCount(): number {
    return this.#ending.size;
  }

  lifecycle(resource: string): Lifecycle | undefined {
    return this.#lifecycles.get(resource);
  }

  /**
   * Leases the worker's session on a mount for one call, making a temporary one if there is none.
   *
   * @throws ToolyardError session_init_failed; session_expired, session_lost or session_not_found when `sessionId` is not
   *   the live session; the deadline's reason when it ends first.
   */
  acquire(
    mount: Mount,
    caller: Caller,
    holder: LeaseHolder,
    options: { readonly deadline: CancelSource; readonly sessionId?: string | undefined },
  ): Lease | Promise<Lease> {
    let record = this.#live(caller, mount.resource);
    if (options.sessionId !== undefined && record?.id !== options.sessionId) this.#refuse(options.sessionId);
    const expiredSession = record === undefined ? this.#expired.get(toKey(caller, mount.resource)) : undefined;
    record ??= this.#make({ ...caller, resource: mount.resource, config: {} }, mount, true);
    const lease = this.#lease(record, holder, expiredSession);
    if (record.state === "active") return lease;
    return this.#whenReady(lease, options.deadline);
  }

  /**
   * Makes the worker's session on a resource, or says that it has one. A temporary one is adopted, unless the request
   * asks for what it is not: then a new one takes its place, and the temporary one ends with its calls.
   *
   * @throws ToolyardError session_init_failed, invalid_input.
   */
  async create(request: CreateRequest, wait: CancelSource): Promise<CreateResult> {
    const mount = this.#mounts.get(request.resource);
    const live = this.#live(request, request.resource);
    const special = Object.keys(request.config).length > 0 || request.customName !== undefined;
    const isNew = live === undefined || (live.temporary && special);
    const how = isNew ? "created" : live.temporary ? "adopted" : "exists";
    if (isNew && live !== undefined) this.#end(live, "replaced");
    const record = isNew ? this.#make(request, mount, false) : live;
    record.temporary = false;
    this.#expired.delete(toKey(request, request.resource));
    const lease = this.#lease(record, { cancel: () => undefined });
    try {
      if (record.state !== "active") await this.#whenReady(lease, wait);
    } finally {
      lease.release();
    }
    return { record, how };
  }

  /** Finds the worker's live session on a resource. */
  find(caller: Caller, resource: string): SessionRecord | undefined {
    return this.#live(caller, resource);
  }

  /** Lists the worker's live sessions. */
  list(caller: Caller): readonly SessionRecord[] {
    const sessions = this.#workers.get(toWorkerKey(caller))?.sessions;
    if (sessions === undefined) return [];
    return [...sessions.keys()].flatMap((resource) => this.#live(caller, resource) ?? []);
  }

  /** Lets a session live for `ttlMs` from now. */
  renew(record: SessionRecord, ttlMs = record.ttlMs): void {
    const { clock, limits } = this.#deps;
    record.expiresAt = clock.now() + Math.min(ttlMs, limits.maxSessionTtlMs);
    record.lastActivity = clock.date();
  }

  /** Renews every session of a worker that extends itself, and lists the live ones. */
  heartbeat(caller: Caller): readonly SessionRecord[] {
    const records = this.list(caller);
    for (const record of records) this.#touch(record);
    return records;
  }

  /** When the session ends if nothing renews it. */
  expiryDate(record: SessionRecord): Date {
    return new Date(this.#deps.clock.date().getTime() + (record.expiresAt - this.#deps.clock.now()));
  }

  /**
   * Ends a session: new calls no longer meet it, its running calls end first (at once with `force`), then it is cleaned.
   *
   * Resolves with whether that is over; after `destroyWaitMs` it goes on without the caller.
   */
  async destroy(
    record: SessionRecord,
    reason: EndReason,
    options: { readonly force?: boolean } = {},
  ): Promise<boolean> {
    this.#end(record, reason);
    if (options.force === true)
      this.cancelCalls(record, new ToolyardError("cancelled", `The session ${record.id} was destroyed`));
    return settlesWithin(this.#deps.clock, record.ended ?? Promise.resolve(), this.#deps.limits.destroyWaitMs);
  }

  cancelCalls(record: SessionRecord, reason: ToolyardError): void {
    for (const holder of [...record.holders]) holder.cancel(reason);
  }

  /** Ends every idle session whose time is over. */
  sweep(): number {
    let swept = 0;
    for (const { sessions } of [...this.#workers.values()]) {
      for (const record of [...sessions.values()]) {
        if (!this.#isExpired(record)) continue;
        this.#expire(record);
        swept += 1;
      }
    }
    return swept;
  }

  /** Ends every session and waits until the cleanups are over or given up. */
  async endAll(): Promise<number> {
    let count = 0;
    for (const { sessions } of [...this.#workers.values()]) {
      for (const record of [...sessions.values()]) {
        record.initialization.cancel(new ToolyardError("shutting_down", "The server is stopping"));
        this.#end(record, "shutdown");
        count += 1;
      }
    }
    await Promise.all([...this.#ending].map((record) => record.ended));
    return count;
  }

  #live(caller: Caller, resource: string): SessionRecord | undefined {
    const record = this.#workers.get(toWorkerKey(caller))?.sessions.get(resource);
    if (record === undefined || !this.#isExpired(record)) return record;
    this.#expire(record);
    return undefined;
  }

  #isExpired(record: SessionRecord): boolean {
    return !record.leased && record.state === "active" && record.expiresAt <= this.#deps.clock.now();
  }

  #expire(record: SessionRecord): void {
    this.#expired.set(toKey(record, record.resource), record.id);
    this.#end(record, "expired");
  }

  #refuse(sessionId: string): never {
    const reason = this.#ended.get(sessionId);
    if (reason === "expired") throw new ToolyardError("session_expired", `The session ${sessionId} has expired`);
    throw new ToolyardError("session_not_found", `There is no session ${sessionId}`);
  }

  #make(request: CreateRequest, mount: Mount | undefined, temporary: boolean): SessionRecord {
    const { clock, limits } = this.#deps;
    const config = mount === undefined ? request.config : toSessionConfig(mount.backend, request.config);
    const workerKey = toWorkerKey(request);
    let worker = this.#workers.get(workerKey);
    if (worker === undefined) this.#workers.set(workerKey, (worker = { sessions: new Map(), counts: new Map() }));
    const count = (worker.counts.get(request.resource) ?? 0) + 1;
    worker.counts.set(request.resource, count);
    const name = toSessionName(request.resource, request.workerId, count, request.customName);
    const ttlMs = Math.min(request.ttlMs ?? limits.sessionTtlMs, limits.maxSessionTtlMs);
    const record = new SessionRecord({
      id: toSessionId(name),
      name,
      workerId: request.workerId,
      tenant: request.tenant,
      resource: request.resource,
      config,
      mount,
      customName: request.customName,
      temporary,
      ttlMs,
      autoExtend: request.autoExtend ?? true,
      createdAt: clock.date(),
      expiresAt: clock.now() + ttlMs,
    });
    worker.sessions.set(request.resource, record);
    this.#sessionCount += 1;
    if (mount !== undefined && hasSessions(mount.backend)) {
      record.ready = this.#initialize(record, mount);
      // Whoever waits is told; when nobody does, it is no unhandled rejection.
      record.ready.catch(() => undefined);
    } else {
      record.state = "active";
      record.initialized = true;
    }
    return record;
  }

  async #initialize(record: SessionRecord, mount: Mount): Promise<void> {
    const { backend } = mount;
    const lifecycle = this.#lifecycleOf(record);
    const request = { workerId: record.workerId, tenant: record.tenant, sessionId: record.id, config: record.config };
    try {
      if (lifecycle?.warm === false) await lifecycle.warmUp(record.initialization);
      const data = await lifecycle?.run(
        "initialize",
        this.#deps.limits.initializeTimeoutMs,
        async (context) => backend.initialize?.(request, context),
        { parent: record.initialization, onLate: (late) => void this.#cleanUp({ ...record.view, data: late }) },
      );
      record.view = { ...record.view, data };
      record.initialized = true;
      if (record.state === "initializing") record.state = "active";
      this.renew(record, record.ttlMs);
      this.#emit("session.created", record, { temporary: record.temporary });
    } catch (error) {
      const failure = this.#toInitError(record, error);
      this.#emit("session.failed", record, { error: failure.error, message: failure.message });
      this.#end(record, "failed");
      throw failure;
    }
  }

  #toInitError(record: SessionRecord, error: unknown): ToolyardError {
    if (record.initialization.ended !== undefined && ToolyardError.is(error) && error.error === "cancelled")
      return error;
    if (!ToolyardError.is(error)) {
      this.#deps.logger.error({ err: error, resource: record.resource, session_id: record.id }, "initialize failed");
    }
    const reason = this.#lifecycleOf(record)?.describeFailure("initialize", error) ?? "";
    return new ToolyardError(
      "session_init_failed",
      `The ${record.resource} session could not be initialized: ${reason}`,
      {
        details: {
          resource_type: record.resource,
          details: reason,
          ...(ToolyardError.is(error) && { error: error.error, ...error.details }),
        },
        cause: error,
        ...(ToolyardError.is(error) && {
          suggestion: error.suggestion,
          outcome: error.outcome,
          retryable: error.retryable,
        }),
      },
    );
  }

  #lease(record: SessionRecord, holder: LeaseHolder, expiredSession?: string): Lease {
    // Each lease is its own entry, also for a holder that comes twice.
    const entry: LeaseHolder = { cancel: (reason) => holder.cancel(reason) };
    record.holders.add(entry);
    this.#touch(record);
    return {
      record,
      expiredSession,
      release: () => {
        if (!record.holders.delete(entry)) return;
        this.#touch(record);
        if (record.leased) return;
        record.onDrained?.();
        if (record.state === "initializing" || !record.initialized) this.#abandon(record);
        else if (record.temporary) this.#end(record, "temporary");
      },
    };
  }

  #touch(record: SessionRecord): void {
    const { clock } = this.#deps;
    record.lastActivity = clock.date();
    if (record.autoExtend) record.expiresAt = Math.max(record.expiresAt, clock.now() + record.ttlMs);
  }

  /** Ends an initialize that nobody waits for any more. */
  #abandon(record: SessionRecord): void {
    record.initialization.cancel(new ToolyardError("cancelled", "Nobody waits for the session any more"));
    this.#end(record, "cancelled");
  }

  async #whenReady(lease: Lease, wait: CancelSource): Promise<Lease> {
    try {
      await untilEnded(lease.record.ready, wait);
      return lease;
    } catch (error) {
      lease.release();
      throw error;
    }
  }

  /** Takes the session out of the table at once; the rest goes on by itself. Further ends change nothing. */
  #end(record: SessionRecord, reason: EndReason): void {
    if (record.ending) return;
    record.state = "ending";
    record.endReason = reason;
    if (reason === "expired") this.#ended.set(record.id, reason);
    this.#sessionCount -= 1;
    this.#forget(record);
    this.#ending.add(record);
    record.ended = this.#finish(record);
  }

  #forget(record: SessionRecord): void {
    const workerKey = toWorkerKey(record);
    const worker = this.#workers.get(workerKey);
    if (worker?.sessions.get(record.resource) === record) worker.sessions.delete(record.resource);
    if (worker?.sessions.size === 0) this.#workers.delete(workerKey);
  }

  async #finish(record: SessionRecord): Promise<void> {
    // A failed initialize ends its session from inside: waiting for it, or for those who wait for it, would never end.
    if (record.endReason !== "failed") {
      if (!record.initialized) await record.ready.catch(() => undefined);
      if (record.leased) await new Promise<void>((resolve) => (record.onDrained = resolve));
    }
    await this.#cleanUp(record.view);
    record.state = "ended";
    record.view = { ...record.view, data: undefined };
    this.#ending.delete(record);
    this.#emit("session.ended", record, { reason: record.endReason });
  }

  async #cleanUp(session: Session<unknown>): Promise<void> {
    const lifecycle = this.#lifecycles.get(session.resource);
    const backend = this.#mounts.get(session.resource)?.backend;
    if (lifecycle === undefined || backend?.cleanup === undefined) return;
    const { clock, limits, logger } = this.#deps;
    const hook = backend.cleanup.bind(backend);
    for (const delayMs of [...CLEANUP_RETRIES_MS, undefined]) {
      try {
        await lifecycle.run("cleanup", limits.cleanupTimeoutMs, (context) => hook(session, context));
        return;
      } catch (error) {
        logger.error(
          { err: error, resource: session.resource, session_id: session.id, retry_ms: delayMs },
          "cleanup failed",
        );
        if (delayMs === undefined) break;
        await new Promise<void>((resolve) => clock.after(delayMs, resolve));
      }
    }
    this.leaked += 1;
  }

  #lifecycleOf(record: SessionRecord): Lifecycle | undefined {
    return this.#lifecycles.get(record.resource);
  }

  #emit(type: EventType, record: SessionRecord, data: Readonly<Record<string, unknown>>): void {
    if (!this.#bus.watched) return;
    this.#bus.emit({
      type,
      ts: this.#deps.clock.date().toISOString(),
      tenant: record.tenant,
      worker_id: record.workerId,
      session_id: record.id,
      resource: record.resource,
      data,
    });
  }
}

function toWorkerKey(caller: Caller): string {
  return `${caller.tenant}\n${caller.workerId}`;
}

function toKey(caller: Caller, resource: string): string {
  return `${toWorkerKey(caller)}\n${resource}`;
}
