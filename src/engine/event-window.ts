import type { StoredEvent } from "../core/store.ts";

/** The newest written events, for readers that keep up, so that each need not ask the store. */
export class EventWindow {
  readonly #capacity: number;
  #batches: (readonly StoredEvent[])[] = [];
  #size = 0;
  /** The window holds every event after this id, up to the newest written one. */
  #afterId = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** Takes what was written, and forgets the oldest batches beyond the capacity. */
  add(batch: readonly StoredEvent[]): void {
    this.#batches.push(batch);
    this.#size += batch.length;
    while (this.#size > this.#capacity) this.#forgetOldest();
  }

  /** Forgets everything up to the newest event; for when nobody reads. */
  clear(): void {
    while (this.#batches.length > 0) this.#forgetOldest();
  }

  /** Moves the start of an empty window, past events that it was not given. */
  skipTo(id: number): void {
    if (this.#batches.length === 0) this.#afterId = id;
  }

  /** Every event that it holds after an id, oldest first. */
  *after(id: number): Generator<StoredEvent, void, void> {
    for (const batch of this.#batches) {
      if ((batch.at(-1)?.id ?? 0) <= id) continue;
      for (const event of batch) if (event.id > id) yield event;
    }
  }

  /** Whether it holds every event after an id. */
  reaches(id: number): boolean {
    return id >= this.#afterId;
  }

  #forgetOldest(): void {
    const batch = this.#batches.shift();
    if (batch === undefined) return;
    this.#size -= batch.length;
    this.#afterId = batch.at(-1)?.id ?? this.#afterId;
  }
}
