import type { Clock } from "../core/clock.ts";
import type { ToolyardError } from "../core/errors.ts";
import type { EventType } from "../core/events.ts";
import type { EventBus } from "./bus.ts";
import { EventTime } from "./event-time.ts";
import type { SessionRecord } from "./session-record.ts";

type SessionFacts = Pick<SessionRecord, "id" | "tenant" | "workerId" | "resource">;

/** Tells the bus what becomes of sessions. */
export class SessionEvents {
  readonly #bus: EventBus;
  readonly #time: EventTime;

  constructor(bus: EventBus, clock: Clock) {
    this.#bus = bus;
    this.#time = new EventTime(clock);
  }

  created(record: SessionRecord): void {
    this.#emit("session.created", record, { temporary: record.temporary });
  }

  /** A session of the last server is here again. */
  adopted(record: SessionRecord): void {
    this.#emit("session.created", record, { temporary: false, adopted: true });
  }

  failed(record: SessionRecord, { error, message }: ToolyardError): void {
    this.#emit("session.failed", record, { error, message });
  }

  ended(record: SessionRecord): void {
    this.#emit("session.ended", record, { reason: record.endReason });
  }

  /** A session of the last server did not come back. */
  lost(session: SessionFacts): void {
    this.#emit("session.ended", session, { reason: "lost" });
  }

  #emit(type: EventType, record: SessionFacts, data: Readonly<Record<string, unknown>>): void {
    if (!this.#bus.watched) return;
    // One shape for all events: see CallEvents.
    this.#bus.emit({
      type,
      ts: this.#time.now(),
      tenant: record.tenant,
      worker_id: record.workerId,
      session_id: record.id,
      resource: record.resource,
      actor: undefined,
      call_id: undefined,
      parent_id: undefined,
      trace_id: undefined,
      data,
      blobs: undefined,
    });
  }
}
