import type { Clock } from "../core/clock.ts";
import { ERRORS } from "../core/errors.ts";
import type { EventType } from "../core/events.ts";
import type { EventStore, StoredEvent } from "../core/store.ts";
import type { EventBus } from "./bus.ts";

/** How far back the log is looked at, in events. */
const TAIL_EVENTS = 10_000;

/** What the last server began and never told the end of, as far as the newest events of its log say. */
export class OpenEnds {
  readonly #calls = new Map<string, StoredEvent>();
  readonly #sessions = new Map<string, StoredEvent>();
  readonly #sandboxes = new Map<string, StoredEvent>();

  /**
   * Reads the end of the log; to be done before new events come.
   *
   * @throws StoreError when the store cannot be read.
   */
  static async find(store: EventStore): Promise<OpenEnds> {
    const ends = new OpenEnds();
    const { firstId, lastId } = await store.bounds();
    let afterId = Math.max(firstId - 1, lastId - TAIL_EVENTS);
    while (afterId < lastId) {
      // oxlint-disable-next-line no-await-in-loop -- each page begins where the last one ended
      const { events, throughId } = await store.read({ tenant: null }, { afterId, limit: TAIL_EVENTS });
      for (const event of events) ends.#take(event);
      if (throughId <= afterId) break;
      afterId = throughId;
    }
    return ends;
  }

  /** The sessions that the ends belong to, whose events must be counted on. */
  get sessionIds(): readonly string[] {
    return [
      ...this.#sessions.keys(),
      ...this.#sandboxes.keys(),
      ...[...this.#calls.values()].flatMap(({ session_id }) => session_id ?? []),
    ];
  }

  /** The ids of the sandboxes that were not terminated, by session. */
  get sandboxes(): ReadonlyMap<string, string> {
    return new Map([...this.#sandboxes].map(([session, { data }]) => [session, String(data["sandbox_id"])]));
  }

  /** Tells the ends: of every call, and of every session but those whose rows are left, which are the recovery's to tell. */
  tell(bus: EventBus, clock: Clock, leftIds: ReadonlySet<string>): void {
    const emit = (type: EventType, { id: _, seq: __, ...begun }: StoredEvent, data: StoredEvent["data"]) =>
      bus.emit({ ...begun, type, ts: clock.date().toISOString(), data });
    // Inner calls end before the calls that made them.
    for (const begun of [...this.#calls.values()].toReversed()) {
      emit("call.failed", begun, {
        action: begun.data["action"],
        outcome: ERRORS.unknown_outcome.outcome,
        execution_time_ms: null,
        error: "unknown_outcome",
        message: "The server ended while it ran; it may have had its effect",
      });
    }
    for (const [id, begun] of this.#sandboxes) {
      const facts = { sandbox_id: begun.data["sandbox_id"], reason: "lost" };
      if (!leftIds.has(id)) emit("sandbox_terminated", begun, facts);
    }
    for (const [id, begun] of this.#sessions) if (!leftIds.has(id)) emit("session.ended", begun, { reason: "lost" });
  }

  #take(event: StoredEvent): void {
    const { type, call_id: callId, session_id: sessionId } = event;
    if (type === "call.started" && callId !== undefined) this.#calls.set(callId, event);
    else if (type === "call.completed" || type === "call.failed" || type === "call.cancelled") {
      if (callId !== undefined) this.#calls.delete(callId);
    } else if (sessionId !== undefined) {
      if (type === "session.created") this.#sessions.set(sessionId, event);
      else if (type === "session.ended") this.#sessions.delete(sessionId);
      else if (type === "sandbox_created") this.#sandboxes.set(sessionId, event);
      else if (type === "sandbox_terminated") this.#sandboxes.delete(sessionId);
    }
  }
}
