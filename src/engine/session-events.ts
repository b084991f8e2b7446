import type { Clock } from "../core/clock.ts";
import type { ToolyardError } from "../core/errors.ts";
import type { LifecycleContext } from "../core/context.ts";
import type { EventType, ToolyardEvent } from "../core/events.ts";
import type { EventBus } from "./bus.ts";
import { checkTold, toBounded } from "./told-events.ts";
import { EventTime } from "./event-time.ts";
import type { SandboxInstance } from "../core/runtime.ts";
import type { SessionRecord } from "./session-record.ts";

type SessionFacts = Pick<SessionRecord, "id" | "tenant" | "workerId" | "resource">;

/** Tells the bus what becomes of sessions. */
export class SessionEvents {
  readonly #bus: EventBus;
  readonly #time: EventTime;
  /** What was told of sessions that are still being made: theirs comes first. */
  readonly #early = new WeakMap<SessionFacts, ToolyardEvent[]>();

  constructor(bus: EventBus, clock: Clock) {
    this.#bus = bus;
    this.#time = new EventTime(clock);
  }

  created(record: SessionRecord): void {
    this.#emit("session.created", record, { temporary: record.temporary });
    const sandbox = sandboxIn(record);
    if (sandbox !== undefined) {
      const { id, runtime, isolation, image = null } = sandbox;
      record.sandbox = { id };
      this.#emit("sandbox_created", record, { sandbox_id: id, runtime, isolation, image });
    }
    this.#tellEarly(record);
  }

  /** A session of the last server is here again. */
  adopted(record: SessionRecord): void {
    this.#emit("session.created", record, { temporary: false, adopted: true });
    const sandbox = sandboxIn(record);
    if (sandbox !== undefined) record.sandbox = { id: sandbox.id };
    this.#tellEarly(record);
  }

  failed(record: SessionRecord, { error, message }: ToolyardError): void {
    this.#tellEarly(record);
    this.#emit("session.failed", record, { error, message });
  }

  ended(record: SessionRecord): void {
    this.#tellEarly(record);
    const { endReason: reason, sandbox } = record;
    if (sandbox !== undefined) this.#emit("sandbox_terminated", record, { sandbox_id: sandbox.id, reason });
    this.#emit("session.ended", record, { reason });
    this.#bus.projects.forget(record.id);
  }

  /** A session of the last server did not come back. */
  lost(session: SessionFacts, sandboxId?: string): void {
    if (sandboxId !== undefined) this.#emit("sandbox_terminated", session, { sandbox_id: sandboxId, reason: "lost" });
    this.#emit("session.ended", session, { reason: "lost" });
  }

  /** How a hook of a session tells what it did. */
  teller(session: SessionFacts): NonNullable<LifecycleContext["emit"]> {
    return (type, data) => {
      checkTold(type);
      this.#emit(type, session, toBounded(data));
    };
  }

  /** How the hook that makes a session tells what it did, also later: nothing of a session is told before itself. */
  earlyTeller(record: SessionRecord): NonNullable<LifecycleContext["emit"]> {
    return (type, data) => {
      checkTold(type);
      if (!this.#bus.watched) return;
      const event = this.#toEvent(type, record, toBounded(data));
      if (record.told) return this.#bus.emit(event);
      const early = this.#early.get(record);
      if (early === undefined) this.#early.set(record, [event]);
      else early.push(event);
    };
  }

  #tellEarly(record: SessionRecord): void {
    if (record.told) return;
    record.told = true;
    const early = this.#early.get(record);
    if (early === undefined) return;
    this.#early.delete(record);
    for (const event of early) this.#bus.emit(event);
  }

  #emit(type: EventType, record: SessionFacts, data: Readonly<Record<string, unknown>>): void {
    if (this.#bus.watched) this.#bus.emit(this.#toEvent(type, record, data));
  }

  #toEvent(type: EventType, record: SessionFacts, data: Readonly<Record<string, unknown>>): ToolyardEvent {
    // One shape for all events: see CallEvents.
    return {
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
    };
  }
}

/** A sandbox that died in the same moment is none to be told of. */
function sandboxIn({ mount, view }: SessionRecord): SandboxInstance | undefined {
  try {
    return mount?.backend.sandbox?.(view);
  } catch {
    return undefined;
  }
}
