import { randomBytes } from "node:crypto";
import type { Clock } from "../core/clock.ts";
import type { ControlHolder, ControlLease } from "../core/control.ts";
import { ToolyardError } from "../core/errors.ts";
import type { Actor } from "../core/events.ts";
import type { EventBus } from "./bus.ts";
import type { EngineLimits } from "./limits.ts";
import { emitFor } from "./record-events.ts";
import type { SessionRecord } from "./session-record.ts";

interface ControlDeps {
  readonly clock: Clock;
  readonly limits: EngineLimits;
  readonly bus: EventBus;
}

/** How control is asked for. */
export interface TakeRequest {
  /** Shown to who is refused. */
  readonly holder: string;
  readonly ttlMs?: number | undefined;
  /** The lease that is to be renewed. */
  readonly lease?: string | undefined;
  /** Takes it from another human. */
  readonly force?: boolean | undefined;
}

interface Held {
  readonly id: string;
  readonly holder: string;
  readonly since: Date;
  readonly ttlMs: number;
  /** By the monotonic clock. */
  until: number;
  cancelTimer: () => void;
  readonly cancelEnding: () => void;
}

/**
 * Says who controls the desktop and the terminals of each session: anybody who may call its tools, until a human takes it.
 *
 * Held here and nowhere else, so that every way in meets the same answer: tools, REST, WebSockets.
 */
export class ControlLeases {
  readonly #deps: ControlDeps;
  readonly #onTaken: (record: SessionRecord, refusal: ToolyardError) => void;
  readonly #held = new Map<SessionRecord, Held>();

  /** @param onTaken told when a human takes control from whoever had it, but not when they keep it, and how others are refused. */
  constructor(deps: ControlDeps, onTaken: (record: SessionRecord, refusal: ToolyardError) => void = () => undefined) {
    this.#deps = deps;
    this.#onTaken = onTaken;
  }

  /**
   * Gives control to a human, or lets the one who has it keep it longer.
   *
   * @throws ToolyardError `control_taken` when another one has it and it is not forced; `session_not_found` for one that ends.
   */
  take(record: SessionRecord, request: TakeRequest): ControlLease {
    const { limits, clock } = this.#deps;
    if (record.ending) throw new ToolyardError("session_not_found", `There is no session ${record.id}`);
    const held = this.#held.get(record);
    const renews = held !== undefined && held.id === request.lease;
    if (held !== undefined && !renews && request.force !== true) throw this.#taken(held);
    if (held !== undefined) this.#drop(record, held);
    if (held !== undefined && !renews) this.#tellEnd(record, held, "replaced");
    const ttlMs = Math.min(request.ttlMs ?? limits.controlLeaseMs, limits.maxControlLeaseMs);
    const onEnding = () => this.#end(record, "session_ended");
    const next: Held = {
      id: renews ? held.id : randomBytes(18).toString("base64url"),
      holder: request.holder,
      since: renews ? held.since : clock.date(),
      ttlMs,
      until: clock.now() + ttlMs,
      cancelTimer: () => undefined,
      cancelEnding: () => record.onEnding.delete(onEnding),
    };
    record.onEnding.add(onEnding);
    this.#held.set(record, next);
    this.#watch(record, next);
    if (!renews) this.#onTaken(record, this.#taken(next));
    const lease = { id: next.id, ...this.#describe(next) };
    const facts = { holder: next.holder, expires_at: lease.expiresAt.toISOString() };
    emitFor(this.#deps, "control.taken", record, facts, "human");
    return lease;
  }

  /**
   * Gives control back; answers whether there was any to give.
   *
   * @throws ToolyardError `control_taken` when it is another one's.
   */
  release(record: SessionRecord, lease: string): boolean {
    const held = this.#held.get(record);
    if (held === undefined) return false;
    if (held.id !== lease) throw this.#taken(held);
    this.#end(record, "released");
    return true;
  }

  holderOf(record: SessionRecord): ControlHolder | null {
    const held = this.#held.get(record);
    return held === undefined ? null : this.#describe(held);
  }

  /** Whether a lease is the one that holds now. */
  isHeldBy(record: SessionRecord, lease: string | undefined): boolean {
    return lease !== undefined && this.#held.get(record)?.id === lease;
  }

  /**
   * Says who makes an input: the human whose lease is shown, or else the `actor` that the way in stands for. Input of the
   * holder's lets the lease live on.
   *
   * @throws ToolyardError `control_taken` when somebody else has control.
   */
  demand(record: SessionRecord, lease: string | undefined, actor: Actor): Actor {
    const held = this.#held.get(record);
    if (held === undefined) return actor;
    if (held.id !== lease) throw this.#taken(held);
    held.until = this.#deps.clock.now() + held.ttlMs;
    return "human";
  }

  #watch(record: SessionRecord, held: Held): void {
    const { clock } = this.#deps;
    // Looked at when it would have run out: input moves the end without a timer of its own.
    held.cancelTimer = clock.after(held.until - clock.now(), () => {
      if (held.until > clock.now()) this.#watch(record, held);
      else this.#end(record, "expired");
    });
  }

  #end(record: SessionRecord, reason: string): void {
    const held = this.#held.get(record);
    if (held === undefined) return;
    this.#drop(record, held);
    this.#tellEnd(record, held, reason);
  }

  #drop(record: SessionRecord, held: Held): void {
    held.cancelTimer();
    held.cancelEnding();
    this.#held.delete(record);
  }

  #tellEnd(record: SessionRecord, { holder }: Held, reason: string): void {
    const actor = reason === "released" || reason === "replaced" ? "human" : "system";
    emitFor(this.#deps, "control.released", record, { holder, reason }, actor);
  }

  #describe({ holder, since, until }: Held): ControlHolder {
    const { clock } = this.#deps;
    return { holder, since, expiresAt: new Date(clock.date().getTime() + until - clock.now()) };
  }

  #taken(held: Held): ToolyardError {
    const { holder, since, expiresAt } = this.#describe(held);
    return new ToolyardError("control_taken", `${holder} has control of this session`, {
      details: { holder, since: since.toISOString(), expires_at: expiresAt.toISOString() },
    });
  }
}
