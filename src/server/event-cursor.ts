import { ToolyardError } from "../core/errors.ts";
import type { EventFilter, StoredEvent } from "../core/store.ts";
import type { EventLog } from "../engine/event-log.ts";

/** Where a reader starts: after an event that it was given, or at a place in the log. */
export type EventCursor =
  | { readonly kind: "event"; readonly id: number }
  | { readonly kind: "position"; readonly id: number };

/** What a reader asked for, and what of it the reader's key may see. */
export interface EventScope {
  readonly filter: EventFilter;
  readonly allows: (event: StoredEvent) => boolean;
}

/** Names an event for readers. */
export function toEventId(id: number): string {
  return `e_${id}`;
}

/** Names a place in the log, of which nothing is said but that it has been passed. */
export function toPosition(id: number): string {
  return `p_${id}`;
}

/** Reads what a client says it had last; `0` is the start of the log. */
export function parseCursor(text: string): EventCursor | undefined {
  if (text === "0") return { kind: "position", id: 0 };
  const [, kind, digits] = /^([ep])_(0|[1-9]\d{0,14})$/.exec(text) ?? [];
  if (digits === undefined) return undefined;
  return { kind: kind === "e" ? "event" : "position", id: Number(digits) };
}

/**
 * Finds the place to go on from.
 *
 * @throws ToolyardError cursor_expired when what follows is no longer held; unknown_cursor, in the same words, for an id
 *   that never was, that is another tenant's or that the filter leaves out.
 */
export async function locateCursor(log: EventLog, text: string, scope: EventScope): Promise<number> {
  const cursor = parseCursor(text);
  if (cursor === undefined) throw unknownCursor();
  const { kind, id } = cursor;
  if (kind === "event") {
    const event = await log.find(scope.filter, id);
    if (event === "expired") throw expiredCursor();
    if (event === "unknown" || !scope.allows(event)) throw unknownCursor();
    return id;
  }
  if (id > log.lastId) throw unknownCursor();
  if (id !== 0 && id < log.firstId - 1) throw expiredCursor();
  return id;
}

/** Says that there is no such event to resume after. */
export function unknownCursor(): ToolyardError {
  return new ToolyardError("unknown_cursor", "There is no such event to resume after");
}

/** Says that what follows the event is no longer held. */
export function expiredCursor(): ToolyardError {
  return new ToolyardError("cursor_expired", "What followed this event is no longer held");
}
