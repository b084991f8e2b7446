import { ToolyardError } from "../core/errors.ts";
import { BoundedMap } from "./bounded-map.ts";
import type { SessionRecord } from "./session-record.ts";
import { type Caller, toPlace } from "./session-table.ts";

/** How many are remembered. */
export const REMEMBERED = 10_000;

/** A session that went without its worker's doing. */
export interface Departed {
  readonly id: string;
  readonly reason: "expired" | "lost";
}

/** Remembers the sessions that went last without their worker's doing, for a typed answer to who still counts on them. */
export class DepartedSessions {
  readonly #byId = new BoundedMap<string, { readonly place: string; readonly reason: Departed["reason"] }>(REMEMBERED);
  readonly #last = new BoundedMap<string, Departed>(REMEMBERED);

  add({ id, resource, ...caller }: Caller & Pick<SessionRecord, "id" | "resource">, reason: Departed["reason"]): void {
    const place = toPlace(caller, resource);
    this.#byId.set(id, { place, reason });
    this.#last.set(place, { id, reason });
  }

  /** Finds the last session that the worker lost on a resource, if it has made none by itself since. */
  lastOf(caller: Caller, resource: string): Departed | undefined {
    return this.#last.isEmpty ? undefined : this.#last.get(toPlace(caller, resource));
  }

  /** Returns what was forgotten. */
  forgetLastOf(caller: Caller, resource: string): Departed | undefined {
    const place = toPlace(caller, resource);
    const last = this.#last.get(place);
    if (last !== undefined) this.#last.delete(place);
    return last;
  }

  /** Says why a session is not there; that it once was is told only to the worker whose it was. */
  explain(sessionId: string, caller: Caller, resource: string): ToolyardError {
    const departed = this.#byId.get(sessionId);
    if (departed?.place !== toPlace(caller, resource)) {
      return unknownSession(sessionId);
    }
    return departed.reason === "expired"
      ? new ToolyardError("session_expired", `The session ${sessionId} has expired`)
      : new ToolyardError("session_lost", `The session ${sessionId} was lost, and its state with it`);
  }
}

/** One answer for what never was and for what is another's. */
export function unknownSession(sessionId: string): ToolyardError {
  return new ToolyardError("session_not_found", `There is no session ${sessionId}`);
}
