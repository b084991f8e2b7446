import type { Clock } from "../core/clock.ts";
import type { Actor, EventType } from "../core/events.ts";
import type { EventBus } from "./bus.ts";
import type { SessionRecord } from "./session-record.ts";

/** Who did something to a session, and by which call if by one. */
export interface EventOrigin {
  readonly actor: Actor;
  readonly callId?: string | undefined;
  readonly parentId?: string | undefined;
  readonly traceId?: string | undefined;
}

/** Tells the bus of something that happened to a session beside the calls themselves. */
export function emitFor(
  { bus, clock }: { readonly bus: EventBus; readonly clock: Clock },
  type: EventType,
  record: SessionRecord,
  data: Readonly<Record<string, unknown>>,
  origin: Actor | EventOrigin = "agent",
): void {
  if (!bus.watched) return;
  const { actor, callId, parentId, traceId }: EventOrigin = typeof origin === "string" ? { actor: origin } : origin;
  // One shape for all events: see CallEvents.
  bus.emit({
    type,
    ts: clock.date().toISOString(),
    tenant: record.tenant,
    worker_id: record.workerId,
    session_id: record.id,
    resource: record.resource,
    actor,
    call_id: callId,
    parent_id: parentId,
    trace_id: traceId,
    data,
    blobs: undefined,
  });
}
