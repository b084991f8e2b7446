/** The kinds of events, noun first. */
export type EventType =
  | "session.created"
  | "session.ended"
  | "session.failed"
  | "call.started"
  | "call.progress"
  | "call.completed"
  | "call.failed"
  | "call.cancelled"
  | "call.abandoned"
  | "backend.health"
  | "loop.blocked";

/** One thing that happened, as the bus carries it. */
export interface ToolyardEvent {
  readonly type: EventType;
  /** ISO 8601, UTC. */
  readonly ts: string;
  readonly tenant?: string;
  readonly worker_id?: string;
  readonly session_id?: string;
  readonly resource?: string;
  readonly call_id?: string;
  readonly trace_id?: string;
  readonly data: Readonly<Record<string, unknown>>;
}
