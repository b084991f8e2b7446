import type { EventFilter, StoredEvent } from "../core/store.ts";

/** Whether an event is meant by a filter; the log's own gaps never are, as every reader is told of them otherwise. */
export function matchesEvent(event: StoredEvent, filter: EventFilter): boolean {
  return (
    (filter.tenant === null || event.tenant === filter.tenant) &&
    (filter.worker_id === undefined || event.worker_id === filter.worker_id) &&
    (filter.session_id === undefined || event.session_id === filter.session_id) &&
    (filter.call_id === undefined || event.call_id === filter.call_id) &&
    (filter.project === undefined || event.project === filter.project) &&
    (filter.trace_id === undefined || event.trace_id === filter.trace_id) &&
    (filter.types === undefined || filter.types.includes(event.type)) &&
    event.type !== "log.gap"
  );
}
