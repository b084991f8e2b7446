import type { Clock } from "../core/clock.ts";
import type { EventType } from "../core/events.ts";
import type { ToolResult } from "../core/result.ts";
import type { EventBus } from "./bus.ts";
import type { Call } from "./call.ts";
import { EventTime } from "./event-time.ts";
import { toBounded } from "./told-events.ts";

type Facts = Readonly<Record<string, unknown>>;

/** The longest message. */
const MAX_MESSAGE_LENGTH = 2_000;

/** Tells the bus what becomes of calls; costs next to nothing when nobody listens. */
export class CallEvents {
  readonly #bus: EventBus;
  readonly #time: EventTime;

  constructor(bus: EventBus, clock: Clock) {
    this.#bus = bus;
    this.#time = new EventTime(clock);
  }

  started(call: Call): void {
    if (this.#bus.watched) this.#emit("call.started", call, { action: call.entry.fullName });
  }

  /** Takes what a tool reports, which the tool may change afterwards and which may not be JSON at all. */
  progress(call: Call, data: Facts): void {
    if (this.#bus.watched) this.#emit("call.progress", call, toBounded(data));
  }

  output(call: Call, stream: "stdout" | "stderr", text: string): void {
    if (this.#bus.watched && text !== "") this.#emit("call.output", call, { stream, text });
  }

  /** Takes an event that the call's tool tells. */
  told(call: Call, type: EventType, data: Facts): void {
    if (this.#bus.watched) this.#emit(type, call, toBounded(data));
  }

  abandoned(call: Call): void {
    if (this.#bus.watched) this.#emit("call.abandoned", call, {});
  }

  /** Tells a call's end, after which only that it was abandoned may still be told. */
  ended(call: Call, result: ToolResult): void {
    call.over = true;
    if (!this.#bus.watched) return;
    const { outcome, execution_time_ms } = result.meta;
    if (result.ok) {
      this.#emit("call.completed", call, { action: call.entry.fullName, outcome, execution_time_ms });
      return;
    }
    const { error, message: text } = result.error;
    const message = text.length > MAX_MESSAGE_LENGTH ? `${text.slice(0, MAX_MESSAGE_LENGTH)}…` : text;
    const type = error === "cancelled" ? "call.cancelled" : "call.failed";
    this.#emit(type, call, { action: call.entry.fullName, outcome, execution_time_ms, error, message });
  }

  #emit(type: EventType, call: Call, data: Facts): void {
    const { caller, within } = call.request;
    // One literal with every key, so that all events have one shape: it is built twice for every call.
    this.#bus.emit({
      type,
      ts: this.#time.now(),
      tenant: caller.tenant,
      worker_id: caller.workerId,
      session_id: call.lease?.record.id,
      resource: call.entry.resourceType ?? undefined,
      actor: call.actor,
      call_id: call.id,
      parent_id: within?.id,
      trace_id: call.traceId,
      data,
      blobs: undefined,
    });
  }
}
