import type { Clock } from "../core/clock.ts";
import type { Actor, EventType } from "../core/events.ts";
import type { EventBus } from "./bus.ts";
import type { SessionRecord } from "./session-record.ts";

/** Tells the bus of something that happened to a session outside of any call. */
export function emitFor(
  { bus, clock }: { readonly bus: EventBus; readonly clock: Clock },
  type: EventType,
  record: SessionRecord,
  data: Readonly<Record<string, unknown>>,
  actor: Actor = "agent",
): void {
  if (!bus.watched) return;
  // One shape for all events: see CallEvents.
  bus.emit({
    type,
    ts: clock.date().toISOString(),
    tenant: record.tenant,
    worker_id: record.workerId,
    session_id: record.id,
    resource: record.resource,
    actor,
    call_id: undefined,
    parent_id: undefined,
    trace_id: undefined,
    data,
    blobs: undefined,
  });
}
