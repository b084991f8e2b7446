import type { ToolyardEvent } from "../core/events.ts";

export type EventListener = (event: ToolyardEvent) => void;

/** Carries events inside the process, in order, to whoever listens. */
export class EventBus {
  readonly #listeners = new Set<EventListener>();

  /** Whether building an event is worth it. */
  get watched(): boolean {
    return this.#listeners.size > 0;
  }

  subscribe(listener: EventListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  emit(event: ToolyardEvent): void {
    for (const listener of this.#listeners) listener(event);
  }
}
