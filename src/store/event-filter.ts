import type { EventFilter, StoredEvent } from "../core/store.ts";

/** Says whether an event is meant by a filter. */
export function matchesFilter(event: StoredEvent, filter: EventFilter): boolean {
  return (
    (filter.tenant === null || event.tenant === filter.tenant) &&
    (filter.session_id === undefined || event.session_id === filter.session_id) &&
    (filter.worker_id === undefined || event.worker_id === filter.worker_id) &&
    (filter.call_id === undefined || event.call_id === filter.call_id) &&
    (filter.project === undefined || event.project === filter.project) &&
    (filter.trace_id === undefined || event.trace_id === filter.trace_id) &&
    (filter.types === undefined || filter.types.includes(event.type))
  );
}
