import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/context.ts";
import { type EventStore, StoreError, type StoredEvent } from "../core/store.ts";

/** How much may wait for the store, and for how long. */
export interface EventWriterLimits {
  /** Events that wait for the store at most; beyond them the oldest are dropped, and a `log.gap` says so. */
  readonly eventPending: number;
  /** How long an event waits for others to be written with it. */
  readonly eventFlushMs: number;
}

export interface EventWriterDeps {
  readonly store: EventStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits: EventWriterLimits;
  /** Told of each batch once the store has it. */
  readonly onWritten: (batch: readonly StoredEvent[]) => void;
}

interface Batch {
  readonly events: StoredEvent[];
  /** In events of common size, of which a large one counts as many. */
  weight: number;
}

/** The most that one write carries, in events of common size. */
const BATCH_WEIGHT = 2_048;
const FIRST_RETRY_MS = 100;
const LONGEST_RETRY_MS = 5_000;

/**
 * Writes events to the store in batches, one at a time, and lets nobody wait for it.
 *
 * A store that fails is tried again; one that hangs is waited for. What piles up meanwhile is bounded: past the bound the
 * oldest batch becomes one `log.gap` event that names the ids that are lost.
 */
export class EventWriter {
  readonly #deps: EventWriterDeps;
  readonly #queue: Batch[] = [];
  #open: Batch | undefined;
  #weight = 0;
  #dropped = 0;
  #scheduled = false;
  #running = false;
  #inFlight: Batch | undefined;
  #abandoned = false;
  #onIdle: (() => void)[] = [];
  #hurry: (() => void) | undefined;

  constructor(deps: EventWriterDeps) {
    this.#deps = deps;
  }

  /** Events that wait, in events of common size. */
  get pending(): number {
    return this.#weight;
  }

  /** Takes an event; what follows happens by itself. */
  add(event: StoredEvent, weight: number): void {
    let batch = this.#open;
    if (batch === undefined) {
      batch = this.#open = { events: [], weight: 0 };
      this.#queue.push(batch);
      this.#schedule();
    }
    batch.events.push(event);
    batch.weight += weight;
    this.#weight += weight;
    if (batch.weight >= BATCH_WEIGHT) {
      this.#open = undefined;
      this.#deps.clock.after(0, () => void this.#run());
    }
    if (this.#weight > this.#deps.limits.eventPending) this.#dropOldest();
  }

  /** Writes what waits, and resolves with how many events could not be written by then; it takes no more afterwards. */
  async stop(graceMs: number): Promise<number> {
    const idle = new Promise<void>((resolve) => this.#onIdle.push(resolve));
    const giveUp = new Promise<void>((resolve) => {
      const cancel = this.#deps.clock.after(graceMs, resolve);
      void idle.then(cancel);
    });
    void this.#run();
    this.#hurry?.();
    await Promise.race([idle, giveUp]);
    this.#abandoned = true;
    return this.#queue.reduce((total, batch) => total + batch.events.length, 0);
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#deps.clock.after(this.#deps.limits.eventFlushMs, () => {
      this.#scheduled = false;
      void this.#run();
    });
  }

  async #run(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    let retryMs = FIRST_RETRY_MS;
    for (let batch = this.#queue[0]; batch !== undefined && !this.#abandoned; batch = this.#queue[0]) {
      if (batch === this.#open) this.#open = undefined;
      this.#inFlight = batch;
      // One write at a time on purpose: ids must reach the store in order.
      // oxlint-disable-next-line no-await-in-loop
      const written = await this.#write(batch);
      this.#inFlight = undefined;
      if (written) {
        retryMs = FIRST_RETRY_MS;
        this.#queue.shift();
        this.#weight -= batch.weight;
        this.#deps.onWritten(batch.events);
      } else {
        // oxlint-disable-next-line no-await-in-loop
        await this.#pause(retryMs);
        retryMs = Math.min(retryMs * 2, LONGEST_RETRY_MS);
      }
    }
    this.#running = false;
    if (this.#dropped > 0 && this.#queue.length === 0) {
      this.#deps.logger.warn(
        { dropped: this.#dropped },
        "the event log's store is back; log.gap events name what is lost",
      );
      this.#dropped = 0;
    }
    for (const resolve of this.#onIdle.splice(0)) resolve();
  }

  async #write({ events }: Batch): Promise<boolean> {
    const { store, logger } = this.#deps;
    try {
      await store.append(events);
      return true;
    } catch (error) {
      // A write whose answer was lost is refused the second time, as its ids are taken.
      if (error instanceof StoreError && error.reason === "invalid" && (await this.#holds(events))) return true;
      logger.error({ err: error, waiting: this.#weight }, "events could not be written; they wait for the next try");
      return false;
    }
  }

  async #holds(events: readonly StoredEvent[]): Promise<boolean> {
    const lastId = events.at(-1)?.id ?? 0;
    const bounds = await this.#deps.store.bounds().catch(() => undefined);
    return bounds !== undefined && bounds.lastId >= lastId;
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#deps.clock.after(ms, resolve);
      this.#hurry = () => {
        cancel();
        resolve();
      };
    });
  }

  /** Puts a gap in the place of the oldest batch that is not being written, and joins it with a gap before it. */
  #dropOldest(): void {
    const oldest = this.#queue.findIndex((batch) => batch !== this.#inFlight && !isGap(batch));
    const batch = this.#queue[oldest];
    const first = batch?.events[0];
    const last = batch?.events.at(-1);
    if (batch === undefined || first === undefined || last === undefined) return;
    if (batch === this.#open) this.#open = undefined;
    this.#weight -= batch.weight;
    if (this.#dropped === 0) {
      const limit = this.#deps.limits.eventPending;
      this.#deps.logger.error({ limit }, "the event log's store is too slow: the oldest events that wait are dropped");
    }
    this.#dropped += batch.events.length;
    const before = this.#queue[oldest - 1];
    const gap = before !== undefined && before !== this.#inFlight && isGap(before) ? before.events[0] : undefined;
    const fromId = Number(gap?.data["from_id"] ?? first.id);
    const merged: Batch = { events: [toGap(fromId, last)], weight: 1 };
    this.#weight += 1;
    if (gap === undefined) this.#queue.splice(oldest, 1, merged);
    else {
      this.#weight -= 1;
      this.#queue.splice(oldest - 1, 2, merged);
    }
  }
}

function isGap({ events }: Batch): boolean {
  return events.length === 1 && events[0]?.type === "log.gap";
}

function toGap(fromId: number, { id, ts, tenant }: StoredEvent): StoredEvent {
  return { id, type: "log.gap", ts, tenant, data: { from_id: fromId, to_id: id } };
}
