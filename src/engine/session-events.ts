import type { Clock } from "../core/clock.ts";
import type { ToolyardError } from "../core/errors.ts";
import type { LifecycleContext } from "../core/context.ts";
import type { EventType } from "../core/events.ts";
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

  constructor(bus: EventBus, clock: Clock) {
    this.#bus = bus;
    this.#time = new EventTime(clock);
  }

  created(record: SessionRecord): void {
    this.#emit("session.created", record, { temporary: record.temporary });
    const sandbox = sandboxIn(record);
    if (sandbox === undefined) return;
    const { id, runtime, isolation, image = null } = sandbox;
    record.sandbox = { id };
    this.#emit("sandbox_created", record, { sandbox_id: id, runtime, isolation, image });
  }

  /** A session of the last server is here again. */
  adopted(record: SessionRecord): void {
    this.#emit("session.created", record, { temporary: false, adopted: true });
    const sandbox = sandboxIn(record);
    if (sandbox !== undefined) record.sandbox = { id: sandbox.id };
  }

  failed(record: SessionRecord, { error, message }: ToolyardError): void {
    this.#emit("session.failed", record, { error, message });
  }

  ended(record: SessionRecord): void {
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

/** A sandbox that died in the same moment is none to be told of. */
function sandboxIn({ mount, view }: SessionRecord): SandboxInstance | undefined {
  try {
    return mount?.backend.sandbox?.(view);
  } catch {
    return undefined;
  }
}
