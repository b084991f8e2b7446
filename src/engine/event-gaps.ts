import type { EventStore, LostEvents, StoredEvent } from "../core/store.ts";

/** A hole in the log that a reader is told of in the place where it is. */
export interface EventGap {
  /** Tells it from an event. */
  readonly gap: "trimmed" | "dropped" | "damaged";
  readonly fromId: number;
  /** Its place: readers go on after it. */
  readonly id: number;
}

/** The holes that are remembered; more of them than this are the oldest ones, joined into one. */
const MAX_GAPS = 256;
const PAGE = 1_000;

/** Knows the holes of the log, so that every reader is told of them whatever its filter. */
export class EventGaps {
  readonly #gaps: EventGap[] = [];

  /** Finds the ones that the store holds. */
  async load(store: EventStore): Promise<void> {
    const { lastId } = await store.bounds();
    for (let afterId = 0; afterId < lastId; ) {
      // Each page starts where the last one ended.
      // oxlint-disable-next-line no-await-in-loop
      const page = await store.read({ tenant: null, types: ["log.gap"] }, { afterId, limit: PAGE });
      for (const event of page.events) this.add(event);
      if (page.throughId <= afterId) return;
      afterId = page.throughId;
    }
  }

  add({ id, data }: StoredEvent): void {
    this.#gaps.push({ gap: "dropped", fromId: Number(data["from_id"]), id });
    if (this.#gaps.length <= MAX_GAPS) return;
    const [first, second] = this.#gaps;
    if (first !== undefined && second !== undefined) this.#gaps.splice(0, 2, { ...second, fromId: first.fromId });
  }

  /** Forgets those that are older than anything held. */
  forgetBefore(firstId: number): void {
    const kept = this.#gaps.findIndex(({ id }) => id >= firstId);
    this.#gaps.splice(0, kept === -1 ? this.#gaps.length : kept);
  }

  /** The oldest id of which anything is known: the start of the hole that the oldest event held stands for, if it does. */
  startOf(firstId: number): number {
    const [oldest] = this.#gaps;
    return oldest?.id === firstId ? oldest.fromId : firstId;
  }

  /** Puts the holes between two ids among the events. */
  mergeInto(
    events: readonly StoredEvent[],
    range: {
      readonly afterId: number;
      readonly throughId: number;
      readonly trimmedTo: number;
      readonly lost?: readonly LostEvents[] | undefined;
    },
  ): readonly (StoredEvent | EventGap)[] {
    const { afterId, throughId, trimmedTo, lost = [] } = range;
    const gaps: EventGap[] = this.#gaps.filter(({ id }) => id > Math.max(afterId, trimmedTo) && id <= throughId);
    for (const { fromId, id } of lost) if (id > trimmedTo) gaps.push({ gap: "damaged", fromId, id });
    if (trimmedTo > afterId) gaps.unshift({ gap: "trimmed", fromId: afterId + 1, id: trimmedTo });
    if (gaps.length === 0) return events;
    return [...gaps, ...events].toSorted((left, right) => left.id - right.id);
  }
}
