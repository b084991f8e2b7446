import type { ToolyardEvent } from "../core/events.ts";
import { SessionProjects } from "./session-projects.ts";

export type EventListener = (event: ToolyardEvent) => void;

/** Carries events inside the process, in order, to whoever listens. */
export class EventBus {
  readonly #listeners = new Set<EventListener>();
  /** For who keeps events: they are told without their session's label. */
  readonly projects = new SessionProjects();

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
