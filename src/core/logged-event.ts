import type { Actor, EventData, EventType } from "./events.ts";

interface EventFacts {
  /** Opaque; resumes after this event when it is sent as `Last-Event-ID`. */
  readonly id: string;
  /** Counts the events of one session from 1; `null` on events of no session. */
  readonly seq: number | null;
  /** ISO 8601, UTC. */
  readonly ts: string;
  readonly session_id: string | null;
  readonly worker_id: string | null;
  readonly resource: string | null;
  /** The label of its session; absent when that has none. */
  readonly project?: string;
  readonly actor: Actor;
  readonly call_id: string | null;
  /** The call whose tool made this one. */
  readonly parent_id: string | null;
  readonly trace_id: string | null;
  readonly blobs: readonly string[];
}

/** One event as the wire carries it; `type` decides what `data` holds. */
export type LoggedEvent = {
  readonly [T in EventType]: EventFacts & { readonly type: T; readonly data: EventData[T] };
}[EventType];

/** A hole in what a reader is given: events that were trimmed before it came, that the store did not take in time, or that are damaged where they lie. */
export interface GapEvent {
  readonly id: string;
  readonly type: "gap";
  readonly data: {
    readonly reason: "trimmed" | "dropped" | "damaged";
    /** The first and last id of the hole, matching or not. */
    readonly from: string;
    readonly to: string;
  };
}

/** A part of the log as JSON. */
export interface EventPageAnswer {
  readonly events: readonly (LoggedEvent | GapEvent)[];
  /** The `after` of the next page. */
  readonly next: string;
  /** Whether the log held more when this page was read. */
  readonly has_more: boolean;
}
