import { randomBytes } from "node:crypto";
import type { Clock } from "../core/clock.ts";
import { ToolyardError } from "../core/errors.ts";
import type { EventType } from "../core/events.ts";
import type { ExposedPort, NewExposedPort, SessionPorts } from "../core/exposed-port.ts";
import type { EventBus } from "./bus.ts";
import { emitFor } from "./record-events.ts";
import type { EngineLimits } from "./limits.ts";
import { sandboxOf, unable } from "./sandbox-of.ts";
import type { SessionRecord } from "./session-record.ts";

/** A way in as the engine keeps it. */
export interface WayIn extends ExposedPort {
  readonly ticket: string;
  readonly record: SessionRecord;
  /** Told when it closes, for what is connected through it. */
  readonly onClose: Set<() => void>;
  /** Whether somebody has come through it. */
  visited: boolean;
}

interface PortsDeps {
  readonly clock: Clock;
  readonly limits: EngineLimits;
  readonly bus: EventBus;
}

/** Keeps the ways in to the ports of all sessions; each closes at its time, by hand, or with its session. */
export class ExposedPorts {
  readonly #deps: PortsDeps;
  readonly #byTicket = new Map<string, WayIn>();
  readonly #byId = new Map<string, WayIn>();
  readonly #bySession = new Map<SessionRecord, Map<WayIn, () => void>>();
  /** Says where a way in is found from outside; set by the door that serves them. */
  toUrl: ((way: Pick<WayIn, "id" | "port" | "ticket"> & { readonly sessionId: string }) => string) | undefined;

  constructor(deps: PortsDeps) {
    this.#deps = deps;
  }

  get size(): number {
    return this.#byTicket.size;
  }

  /** The ports of one session, for its tools and for those who may call them. */
  of(record: SessionRecord): SessionPorts {
    return {
      expose: (port, options = {}) => this.#expose(record, port, options.ttlMs),
      unexpose: (port) => this.#unexpose(record, port),
      list: () => [...(this.#bySession.get(record)?.keys() ?? [])].map(describe),
    };
  }

  /** Finds the way in that a ticket opens. */
  byTicket(ticket: string): WayIn | undefined {
    return this.#byTicket.get(ticket);
  }

  /** Finds a way in by its id, which opens nothing by itself. */
  byId(id: string): WayIn | undefined {
    return this.#byId.get(id);
  }

  #expose(record: SessionRecord, port: number, wantedMs: number | undefined): NewExposedPort {
    const { clock, limits } = this.#deps;
    if (!Number.isInteger(port) || port < 1 || port > 65_535) {
      throw new ToolyardError("invalid_input", "port takes a whole number from 1 to 65535");
    }
    if (record.ending) throw new ToolyardError("session_not_found", `There is no session ${record.id}`);
    if (sandboxOf(record).connect === undefined) throw unable(record, "connections to its ports");
    if (this.toUrl === undefined) throw new ToolyardError("runtime_unavailable", "This server exposes no ports");
    const own = this.#bySession.get(record) ?? this.#open(record);
    if (own.size >= limits.portsPerSession) {
      throw new ToolyardError("limit_exceeded", `A session may have ${limits.portsPerSession} ways in to its ports`, {
        details: { limit: "ports_per_session", maximum: limits.portsPerSession },
      });
    }
    const ttlMs = Math.min(wantedMs ?? limits.portTicketMs, limits.maxPortTicketMs);
    const createdAt = clock.date();
    const way: WayIn = {
      id: randomBytes(8).toString("hex"),
      ticket: randomBytes(24).toString("base64url"),
      port,
      record,
      createdAt,
      expiresAt: new Date(createdAt.getTime() + ttlMs),
      onClose: new Set(),
      visited: false,
    };
    own.set(
      way,
      clock.after(ttlMs, () => this.#close(way, "expired")),
    );
    this.#byTicket.set(way.ticket, way);
    this.#byId.set(way.id, way);
    this.#emit("port.exposed", way, { expires_at: way.expiresAt.toISOString() });
    const url = this.toUrl({ ...way, sessionId: record.id });
    return { ...describe(way), url, ticket: way.ticket };
  }

  #open(record: SessionRecord): Map<WayIn, () => void> {
    const own = new Map<WayIn, () => void>();
    this.#bySession.set(record, own);
    record.onEnding.add(() => {
      for (const way of [...own.keys()]) this.#close(way, "session_ended");
      this.#bySession.delete(record);
    });
    return own;
  }

  #unexpose(record: SessionRecord, port: number): number {
    const ways = [...(this.#bySession.get(record)?.keys() ?? [])].filter((way) => way.port === port);
    for (const way of ways) this.#close(way, "revoked");
    return ways.length;
  }

  #close(way: WayIn, reason: string): void {
    const own = this.#bySession.get(way.record);
    const cancelTimer = own?.get(way);
    if (cancelTimer === undefined) return;
    cancelTimer();
    own?.delete(way);
    this.#byTicket.delete(way.ticket);
    this.#byId.delete(way.id);
    this.#emit("port.closed", way, { reason });
    for (const tell of [...way.onClose]) tell();
    way.onClose.clear();
  }

  #emit(type: EventType, { id, port, record }: WayIn, data: Readonly<Record<string, unknown>>): void {
    emitFor(this.#deps, type, record, { id, port, ...data });
  }
}

function describe({ id, port, createdAt, expiresAt }: ExposedPort): ExposedPort {
  return { id, port, createdAt, expiresAt };
}
