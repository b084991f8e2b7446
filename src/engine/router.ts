import { ToolyardError } from "../core/errors.ts";
import type { EventBus } from "./bus.ts";
import { Cancellation, type CancelSource, settlesWithin, untilEnded } from "./deadline.ts";
import { type Departed, DepartedSessions, unknownSession } from "./departed-sessions.ts";
import { Lifecycle, type LifecycleDeps } from "./lifecycle.ts";
import { hasSessions, type Mount } from "./mount.ts";
import { SessionCleaner } from "./session-cleaner.ts";
import { SessionEndings } from "./session-endings.ts";
import { SessionEvents } from "./session-events.ts";
import { SessionInitializer } from "./session-initializer.ts";
import { SessionLeases } from "./session-leases.ts";
import type { SessionJournal } from "./session-journal.ts";
import { SessionMaker } from "./session-maker.ts";
import { SessionRecovery } from "./session-recovery.ts";
import type { EndReason, LeaseHolder, SessionRecord } from "./session-record.ts";
import type { AcquireOptions, CreateRequest, CreateResult, DestroyOptions, Lease } from "./session-request.ts";
import { type Caller, SessionTable } from "./session-table.ts";
import { SessionTimes } from "./session-times.ts";

/**
 * Keeps one session per worker and resource, and runs its lifecycle.
 *
 * There is no lock: state changes are synchronous, and hooks run outside them, each on its own session. A session that
 * ends leaves the table at once, so that its slow cleanup holds nobody up.
 */
export class ResourceRouter {
  readonly #table = new SessionTable();
  readonly #endings: SessionEndings;
  readonly #leases: SessionLeases;
  readonly recovery: SessionRecovery;
  readonly #lifecycles = new Map<string, Lifecycle>();
  readonly #cleaner: SessionCleaner;
  readonly #initializer: SessionInitializer;
  readonly times: SessionTimes;
  readonly #maker: SessionMaker;
  readonly #departed = new DepartedSessions();
  readonly #deps: LifecycleDeps;
  readonly #events: SessionEvents;
  readonly #journal: SessionJournal;
  #closed = false;

  constructor(mounts: ReadonlyMap<string, Mount>, deps: LifecycleDeps, bus: EventBus, journal: SessionJournal) {
    this.#deps = deps;
    this.#events = new SessionEvents(bus, deps.clock);
    this.#journal = journal;
    for (const mount of mounts.values()) this.#lifecycles.set(mount.resource, new Lifecycle(mount, deps));
    this.times = new SessionTimes(deps.clock, deps.limits);
    this.#maker = new SessionMaker(mounts, this.#table, this.times, { ...deps, projects: bus.projects });
    this.#cleaner = new SessionCleaner(this.#lifecycles, deps, this.#events);
    this.#initializer = new SessionInitializer(this.#lifecycles, this.#cleaner, deps, this.#events);
    const table = this.#table;
    const parts = { table, maker: this.#maker, journal, events: this.#events };
    this.#endings = new SessionEndings({ ...parts, cleaner: this.#cleaner });
    this.#leases = new SessionLeases(this.times, this.#endings);
    this.recovery = new SessionRecovery({
      ...parts,
      endings: this.#endings,
      initializer: this.#initializer,
      departed: this.#departed,
      logger: deps.logger,
    });
  }

  get workerCount(): number {
    return this.#table.workerCount;
  }

  get sessionCount(): number {
    return this.#table.size;
  }

  /** Sessions whose cleanup is not over. */
  get endingCount(): number {
    return this.#endings.count;
  }

  /** Sessions whose cleanup failed for good. */
  get leaked(): number {
    return this.#cleaner.leaked;
  }

  /** Whose a live session is; for the audit, never for an answer. */
  tenantOf(sessionId: string): string | undefined {
    return this.#table.tenantOf(sessionId);
  }

  lifecycle(resource: string): Lifecycle | undefined {
    return this.#lifecycles.get(resource);
  }

  /**
   * Leases the worker's session on a mount for one call, making a temporary one if there is none. A call that a tool
   * makes runs in the session that the tool `held`, which others may no longer meet.
   *
   * @throws ToolyardError session_init_failed; session_expired, session_lost or session_not_found when `sessionId` is not
   *   the live session; the deadline's reason when it ends first.
   */
  acquire(mount: Mount, caller: Caller, holder: LeaseHolder, options: AcquireOptions): Lease | Promise<Lease> {
    const { held, sessionId } = options;
    const { resource } = mount;
    let record = held !== undefined && (sessionId ?? held.id) === held.id ? held : this.find(caller, resource);
    if (sessionId !== undefined && record?.id !== sessionId)
      return this.explain(sessionId, caller, resource).then((why) => Promise.reject(why));
    const departed = record === undefined ? this.#departed.lastOf(caller, resource) : undefined;
    record ??= this.#make({ ...caller, resource, config: {} }, true);
    const lease = this.#leases.take(record, holder, departed);
    if (record.state === "active") return lease;
    return this.#leases.whenReady(lease, options.deadline);
  }

  /** Leases a session that another lease holds already. */
  lease(record: SessionRecord, holder: LeaseHolder): Lease {
    return this.#leases.take(record, holder);
  }

  /**
   * Makes the worker's session on a resource, or says that it has one. A temporary one is adopted, unless the request
   * asks for what it is not: then a new one takes its place, and the temporary one ends with its calls.
   *
   * @throws ToolyardError session_init_failed, invalid_input, shutting_down.
   */
  async create(request: CreateRequest, wait: CancelSource): Promise<CreateResult> {
    if (this.#closed) throw new ToolyardError("shutting_down", "The server is stopping");
    const result = this.#obtain(request);
    const departed = this.#departed.forgetLastOf(request, request.resource);
    // Who makes a new session counts on the old one no more.
    if (departed !== undefined) this.tell(departed);
    const lost = new Cancellation();
    const lease = this.#leases.take(result.record, lost);
    try {
      if (result.record.state !== "active") await this.#leases.whenReady(lease, wait);
      // A stop does not wait for a store that hangs.
      await untilEnded(this.#journal.write(result.record), lost);
    } catch (error) {
      // Who joined meanwhile, a create or a call, keeps the session.
      lease.release();
      if (result.how === "created" && !result.record.leased) this.#endings.end(result.record, "cancelled");
      throw error;
    } finally {
      lease.release();
    }
    return result;
  }

  /** Ends a session whose state is gone, so that nobody meets it any more; its worker is told when it comes back. */
  lose(record: SessionRecord): void {
    if (record.ending) return;
    if (!record.temporary) this.#departed.add(record, "lost");
    this.#endings.end(record, "lost");
  }

  /** Notes that a worker was told of a session that it lost. */
  tell(departed: Departed): void {
    void this.#journal.tell(departed);
  }

  /** Finds the worker's live session on a resource. */
  find(caller: Caller, resource: string): SessionRecord | undefined {
    const record = this.#table.get(caller, resource);
    if (record === undefined || !this.times.isOver(record)) return record;
    this.#expire(record);
    return undefined;
  }

  /**
   * Finds a live session of a tenant by its id alone.
   *
   * @throws ToolyardError session_not_found; session_expired or session_lost when it was one of the tenant's.
   */
  async findById(tenant: string, sessionId: string): Promise<SessionRecord> {
    const record = this.#table.byId(tenant, sessionId);
    if (record !== undefined && this.find(record, record.resource) === record) return record;
    const owner = record ?? (await this.#journal.ownerOf(tenant, sessionId));
    throw owner === null
      ? unknownSession(sessionId)
      : await this.explain(sessionId, { ...owner, tenant }, owner.resource);
  }

  /** Lists a tenant's live sessions. */
  listOf(tenant: string): readonly SessionRecord[] {
    return this.#table.list().filter((record) => record.tenant === tenant && !this.times.isOver(record));
  }

  /** Says why a session is not the worker's live one: session_expired, session_lost or session_not_found. */
  async explain(sessionId: string, caller: Caller, resource: string): Promise<ToolyardError> {
    const known = this.#departed.explain(sessionId, caller, resource);
    if (known.error !== "session_not_found") return known;
    return (await this.#journal.explain(sessionId, caller, resource)) ?? known;
  }

  /** Lists the worker's live sessions. */
  list(caller: Caller): readonly SessionRecord[] {
    return this.#table.listOf(caller).filter((record) => this.find(record, record.resource) === record);
  }

  /** Lets a session live for `ttlMs` from now. */
  renew(record: SessionRecord, ttlMs?: number): void {
    this.times.renew(record, ttlMs);
  }

  /** Renews every session of a worker that extends itself, and lists the live ones. */
  heartbeat(caller: Caller): readonly SessionRecord[] {
    const records = this.list(caller);
    for (const record of records) this.times.touch(record);
    return records;
  }

  /**
   * Ends a session: new calls no longer meet it, its running calls end first (at once with `force`), then it is cleaned.
   *
   * Resolves with whether that is over; after `destroyWaitMs` it goes on without the caller.
   */
  async destroy(record: SessionRecord, reason: EndReason, options: DestroyOptions = {}): Promise<boolean> {
    this.#endings.end(record, reason);
    if (options.force === true) {
      const cause = new ToolyardError("cancelled", `The session ${record.id} was destroyed`);
      record.initialization.cancel(cause);
      for (const holder of [...record.holders]) holder.cancel(cause);
    }
    return settlesWithin(this.#deps.clock, record.ended ?? Promise.resolve(), this.#deps.limits.destroyWaitMs);
  }

  /** Ends every idle session whose time is over. */
  sweep(): number {
    const expired = this.#table.list().filter((record) => this.times.isOver(record));
    for (const record of expired) this.#expire(record);
    void this.#journal.flush();
    return expired.length;
  }

  /** Makes no further sessions, but for calls that run already. */
  close(): void {
    this.#closed = true;
  }

  /** Ends every session and waits until the cleanups are over or given up. */
  async endAll(): Promise<number> {
    const records = this.#table.list();
    for (const record of records) {
      record.initialization.cancel(new ToolyardError("shutting_down", "The server is stopping"));
      this.#endings.end(record, "shutdown");
    }
    this.#endings.release(new ToolyardError("shutting_down", "The server is stopping"));
    await this.#endings.settled();
    return records.length;
  }

  #expire(record: SessionRecord): void {
    this.#departed.add(record, "expired");
    this.#endings.end(record, "expired");
  }

  #obtain(request: CreateRequest): CreateResult {
    const live = this.find(request, request.resource);
    const named = request.customName !== undefined || request.project !== undefined;
    const special = Object.keys(request.config).length > 0 || named;
    if (live === undefined || (live.temporary && special)) {
      // Made before the one it replaces ends: a config that is refused changes nothing.
      const record = this.#make(request, false);
      if (live !== undefined) this.#endings.end(live, "replaced");
      return { record, how: "created" };
    }
    if (!live.temporary) return { record: live, how: "exists" };
    live.temporary = false;
    live.autoExtend = request.autoExtend ?? live.autoExtend;
    live.ttlMs = this.times.toTtl(request.ttlMs ?? live.ttlMs);
    this.renew(live);
    return { record: live, how: "adopted" };
  }

  #make(request: CreateRequest, temporary: boolean): SessionRecord {
    const record = this.#maker.make(request, temporary);
    const { mount } = record;
    if (mount !== undefined && hasSessions(mount.backend)) {
      this.#initialize(record, mount);
    } else {
      record.state = "active";
      record.initialized = true;
    }
    return record;
  }

  #initialize(record: SessionRecord, mount: Mount): void {
    const activate = () => {
      record.activate();
      this.renew(record);
      this.#events.created(record);
    };
    const fail = (error: unknown): never => {
      if (ToolyardError.is(error)) this.#events.failed(record, error);
      this.#endings.end(record, "failed");
      throw error;
    };
    const initializing = this.#initializer.initialize(record, mount);
    if (initializing === undefined) return activate();
    record.ready = initializing.then(activate, fail);
    // Whoever waits is told; when nobody does, it is no unhandled rejection.
    record.ready.catch(() => undefined);
  }
}
