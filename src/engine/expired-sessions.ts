import { ToolyardError } from "../core/errors.ts";
import { BoundedMap } from "./bounded-map.ts";
import type { SessionRecord } from "./session-record.ts";
import { type Caller, toPlace } from "./session-table.ts";

const REMEMBERED = 10_000;

/** Remembers the sessions that expired last, for a typed answer to who still counts on them. */
export class ExpiredSessions {
  readonly #places = new BoundedMap<string, string>(REMEMBERED);
  readonly #lastIds = new BoundedMap<string, string>(REMEMBERED);

  add(record: SessionRecord): void {
    const place = toPlace(record, record.resource);
    this.#places.set(record.id, place);
    this.#lastIds.set(place, record.id);
  }

  /** Finds the last session that the worker lost on a resource, if it has made none by itself since. */
  lastOf(caller: Caller, resource: string): string | undefined {
    return this.#lastIds.get(toPlace(caller, resource));
  }

  forgetLastOf(caller: Caller, resource: string): void {
    this.#lastIds.delete(toPlace(caller, resource));
  }

  /** Says why a session is not there; that it has expired is told only to the worker whose it was. */
  explain(sessionId: string, caller: Caller, resource: string): ToolyardError {
    return this.#places.get(sessionId) === toPlace(caller, resource)
      ? new ToolyardError("session_expired", `The session ${sessionId} has expired`)
      : new ToolyardError("session_not_found", `There is no session ${sessionId}`);
  }
}
