import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/context.ts";
import type { ToolyardEvent } from "../core/events.ts";
import type { EventFilter, EventPage, EventStore, StoredEvent } from "../core/store.ts";
import type { EventBus } from "./bus.ts";
import { type EventGap, EventGaps } from "./event-gaps.ts";
import { matchesEvent } from "./event-match.ts";
import { EventWindow } from "./event-window.ts";
import { EventWriter } from "./event-writer.ts";
import type { EngineLimits } from "./limits.ts";
import { SessionSequences } from "./session-sequences.ts";
import { SteadyTime } from "./steady-time.ts";

export interface EventLogDeps {
  readonly store: EventStore;
  readonly bus: EventBus;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits: EngineLimits;
}

/** A part of the log as a reader gets it, holes included, in the order of ids. */
export interface LogPage {
  readonly entries: readonly (StoredEvent | EventGap)[];
  /** Everything up to this id has been looked at. */
  readonly throughId: number;
}

/** Events of no tenant belong to the one of servers without keys. */
const NO_TENANT = "default";
const FIRST = { first: true, last: false } as const;
const LAST = { first: false, last: true } as const;
const BETWEEN = { first: false, last: false } as const;
const placeOf = (type: string) => (type === "session.created" ? FIRST : type === "session.ended" ? LAST : BETWEEN);

const WINDOW_EVENTS = 4_096;
const TRIM_INTERVAL_MS = 30_000;
const STOP_GRACE_MS = 2_000;
/** How many bytes of progress or output weigh as much as one common event. */
const COMMON_BYTES = 512;

/**
 * Keeps everything that the bus carries: gives each event its id and its place in its session, writes it behind the back
 * of the calls, and reads it back.
 *
 * Readers see an event once it is written, so that what anyone was shown survives a crash.
 */
export class EventLog {
  readonly #deps: EventLogDeps;
  readonly #sequences = new SessionSequences();
  readonly #gaps = new EventGaps();
  readonly #window = new EventWindow(WINDOW_EVENTS);
  readonly #writer: EventWriter;
  readonly #time: SteadyTime;
  readonly #watchers = new Set<() => void>();
  readonly #release: (() => void)[] = [];
  #nextId = 1;
  #firstId = 1;
  #writtenId = 0;
  #closed = false;

  /** Takes nothing before `open`. */
  constructor(deps: EventLogDeps) {
    this.#deps = deps;
    const { store, clock, logger, limits } = deps;
    this.#time = new SteadyTime(clock);
    this.#writer = new EventWriter({ store, clock, logger, limits, onWritten: (batch) => this.#onWritten(batch) });
  }

  /**
   * Goes on where the store's log ends, and takes every event from now on.
   *
   * @param sessionIds sessions of an earlier run of the server that go on in this one.
   * @throws StoreError when the store cannot be read.
   */
  async open(sessionIds: readonly string[] = []): Promise<void> {
    const { store, bus } = this.#deps;
    const { firstId, lastId } = await store.bounds();
    this.#nextId = lastId + 1;
    this.#writtenId = lastId;
    this.#window.skipTo(lastId);
    if (sessionIds.length > 0) this.#sequences.resume(await store.lastSeqs(sessionIds));
    await this.#gaps.load(store);
    this.#firstId = this.#gaps.startOf(firstId);
    this.#release.push(bus.subscribe((event) => this.#accept(event)));
    this.#scheduleTrim();
  }

  /** The id of the newest event that readers see. */
  get lastId(): number {
    return this.#writtenId;
  }

  /** The oldest id that is held. */
  get firstId(): number {
    return this.#firstId;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Readers that are told of new events. */
  get watcherCount(): number {
    return this.#watchers.size;
  }

  /** Events that wait for the store. */
  get pending(): number {
    return this.#writer.pending;
  }

  /** Calls back whenever there is more to read, and when the log is closed. */
  watch(callback: () => void): () => void {
    this.#watchers.add(callback);
    return () => {
      this.#watchers.delete(callback);
      if (this.#watchers.size === 0) this.#window.clear();
    };
  }

  /**
   * Reads what matches after an id, at most about `limit` of it.
   *
   * @throws StoreError when the store cannot be read.
   */
  async read(filter: EventFilter, afterId: number, limit: number): Promise<LogPage> {
    const endId = this.#writtenId;
    if (afterId >= endId) return { entries: [], throughId: afterId };
    const page: EventPage = this.#window.reaches(afterId)
      ? this.#readWindow(filter, afterId, limit)
      : await this.#deps.store.read(filter, { afterId, limit });
    // Looked at after the read: what was trimmed meanwhile is missing, too.
    const trimmedTo = Math.min(this.#firstId - 1, Math.max(endId, page.throughId));
    const throughId = Math.max(page.throughId, trimmedTo);
    const events = page.events.filter((event) => matchesEvent(event, filter));
    return { entries: this.#gaps.mergeInto(events, { afterId, throughId, trimmedTo, lost: page.lost }), throughId };
  }

  /** Finds the event that a reader with this filter wants to go on after. */
  async find(filter: EventFilter, id: number): Promise<StoredEvent | "unknown" | "expired"> {
    if (id < 1 || id > this.#writtenId) return "unknown";
    if (id < this.#firstId) return "expired";
    const event = await this.#deps.store.get(filter.tenant, id);
    if (event === null) return id < this.#firstId ? "expired" : "unknown";
    return matchesEvent(event, filter) ? event : "unknown";
  }

  /** Writes what waits, within two seconds, and lets the readers go. */
  async stop(): Promise<void> {
    for (const release of this.#release.splice(0)) release();
    const lost = await this.#writer.stop(STOP_GRACE_MS);
    if (lost > 0) this.#deps.logger.error({ lost }, "the server stopped before its last events were written");
    this.#closed = true;
    this.#tellWatchers();
  }

  #accept(event: ToolyardEvent): void {
    const { type, session_id: sessionId } = event;
    // Output is for those who stream the call; its result holds it again.
    if (type === "call.output") return;
    const stored: StoredEvent = {
      id: this.#nextId,
      seq: sessionId === undefined ? undefined : this.#sequences.next(sessionId, placeOf(type)),
      type,
      ts: event.ts,
      tenant: event.tenant ?? NO_TENANT,
      worker_id: event.worker_id,
      session_id: sessionId,
      resource: event.resource,
      project: event.project ?? this.#deps.bus.projects.of(sessionId),
      actor: event.actor,
      call_id: event.call_id,
      parent_id: event.parent_id,
      trace_id: event.trace_id,
      data: event.data,
      blobs: event.blobs,
    };
    this.#nextId += 1;
    const weight = type === "call.progress" ? 1 + JSON.stringify(event.data).length / COMMON_BYTES : 1;
    this.#writer.add(stored, weight);
  }

  #onWritten(batch: readonly StoredEvent[]): void {
    this.#writtenId = batch.at(-1)?.id ?? this.#writtenId;
    for (const event of batch) if (event.type === "log.gap") this.#gaps.add(event);
    if (this.#watchers.size === 0) {
      this.#window.skipTo(this.#writtenId);
      return;
    }
    this.#window.add(batch);
    this.#tellWatchers();
  }

  #tellWatchers(): void {
    for (const callback of this.#watchers) callback();
  }

  #readWindow(filter: EventFilter, afterId: number, limit: number) {
    const events: StoredEvent[] = [];
    let throughId = afterId;
    for (const event of this.#window.after(afterId)) {
      if (events.length >= limit) return { events, throughId };
      throughId = event.id;
      if (matchesEvent(event, filter)) events.push(event);
    }
    return { events, throughId };
  }

  #scheduleTrim(): void {
    const cancel = this.#deps.clock.after(TRIM_INTERVAL_MS, () => {
      this.#release.splice(this.#release.indexOf(cancel), 1);
      void this.#trim();
    });
    this.#release.push(cancel);
  }

  async #trim(): Promise<void> {
    const { store, clock, limits, logger } = this.#deps;
    try {
      const keep = { maxEvents: limits.eventLogEvents, maxAgeMs: limits.eventLogAgeMs };
      // The earlier of both: one that jumped forward makes nothing old, and one that was set back dates what came since.
      const now = Math.min(this.#time.now(), clock.date().getTime());
      const { firstId } = await store.trim(keep, now);
      this.#gaps.forgetBefore(firstId);
      this.#firstId = Math.max(this.#firstId, this.#gaps.startOf(firstId));
    } catch (error) {
      logger.error({ err: error }, "the event log could not be trimmed; it is tried again");
    }
    if (this.#release.length > 0) this.#scheduleTrim();
  }
}
