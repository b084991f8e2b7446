import { randomBytes } from "node:crypto";
import type { Clock } from "../../core/clock.ts";
import { ToolyardError } from "../../core/errors.ts";
import type { Identity } from "./identity.ts";

/** A ticket as its holder gets it. */
export interface Ticket {
  readonly ticket: string;
  readonly expiresAt: Date;
}

interface Issued {
  readonly identity: Identity;
  readonly purpose: string;
  readonly until: number;
}

const LIFE_MS = 30_000;
const MAX_TICKETS = 4_096;
/** One key cannot use up the places of the others. */
const MAX_TICKETS_PER_KEY = 1_024;

/** Tickets that open one stream once, for clients that cannot send a header; kept in memory only. */
export class TicketBox {
  readonly #clock: Clock;
  readonly #issued = new Map<string, Issued>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#issued.size;
  }

  /**
   * Issues a ticket that stands for the caller, for one purpose; unused, it ends after `lifeMs`.
   *
   * @throws ToolyardError overloaded when too many are waiting to be used.
   */
  issue(identity: Identity, purpose: string, lifeMs: number = LIFE_MS): Ticket {
    this.#dropExpired();
    const own = [...this.#issued.values()].filter((issued) => issued.identity.keyId === identity.keyId).length;
    if (this.#issued.size >= MAX_TICKETS || own >= MAX_TICKETS_PER_KEY) {
      throw new ToolyardError("overloaded", "Too many tickets wait to be used", {
        details: { limit: "tickets", maximum: own >= MAX_TICKETS_PER_KEY ? MAX_TICKETS_PER_KEY : MAX_TICKETS },
      });
    }
    const ticket = randomBytes(24).toString("base64url");
    this.#issued.set(ticket, { identity, purpose, until: this.#clock.now() + lifeMs });
    return { ticket, expiresAt: new Date(this.#clock.date().getTime() + lifeMs) };
  }

  /**
   * Takes a ticket for its one use, for any of these purposes; a use for another purpose uses it up, too.
   *
   * @throws ToolyardError unauthenticated
   */
  redeem(ticket: string, ...purposes: readonly string[]): Identity {
    const issued = this.#issued.get(ticket);
    this.#issued.delete(ticket);
    if (issued === undefined || issued.until <= this.#clock.now() || !purposes.includes(issued.purpose)) {
      throw new ToolyardError("unauthenticated", "The ticket is not valid", {
        suggestion: "Get a new one with POST /api/v1/tickets; it opens one stream of its purpose once.",
      });
    }
    return issued.identity;
  }

  /** Takes back what a key's holder has not used yet. */
  forget(keyId: string): void {
    for (const [ticket, { identity }] of this.#issued) {
      if (identity.keyId === keyId) this.#issued.delete(ticket);
    }
  }

  #dropExpired(): void {
    const now = this.#clock.now();
    for (const [ticket, { until }] of this.#issued) if (until <= now) this.#issued.delete(ticket);
  }
}
