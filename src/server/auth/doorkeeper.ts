import type { IncomingMessage } from "node:http";
import { ToolyardError } from "../../core/errors.ts";
import type { AuditTrail } from "./audit-trail.ts";
import { ANYONE, type Identity } from "./identity.ts";
import type { KeyRing } from "./key-ring.ts";
import type { TicketBox } from "./ticket-box.ts";
import type { TokenBuckets } from "./token-buckets.ts";

export interface DoorkeeperOptions {
  readonly ring: KeyRing;
  readonly tickets: TicketBox;
  readonly audit: AuditTrail;
  /** Whether callers need a key from the start. */
  readonly required: boolean;
  /** What each key may do, or each address where no key is asked for. */
  readonly rate?: TokenBuckets | undefined;
  /** Failed attempts of each address. */
  readonly failures: TokenBuckets;
}

/** What a door takes beside a key. */
export interface AuthenticateOptions {
  /** The purposes for which `?ticket=` is taken in place of a key: `events`, or a session's id. */
  readonly allowTicket?: string | readonly string[] | undefined;
}

/** Longer than any key; what is longer is not looked at. */
const MAX_CREDENTIAL_LENGTH = 512;

/** Decides who stands behind a request, and whether they have asked for too much lately. */
export class Doorkeeper {
  readonly #options: DoorkeeperOptions;
  #required: boolean;

  constructor(options: DoorkeeperOptions) {
    this.#options = options;
    this.#required = options.required;
  }

  /** Whether callers need a key. */
  get required(): boolean {
    return this.#required;
  }

  /** Whether there is nothing to look at: no key is asked for, and nothing is limited. */
  get open(): boolean {
    return !this.#required && this.#options.rate === undefined;
  }

  /** Asks every caller for a key from now on. */
  require(): void {
    this.#required = true;
  }

  /**
   * Tells who calls, by `Authorization: Bearer`, `X-API-Key` or a ticket; at once for a key that was seen lately.
   *
   * Every door calls it: HTTP for each request, SSE and WebSocket for each stream.
   *
   * @throws ToolyardError unauthenticated, rate_limited
   */
  authenticate(incoming: IncomingMessage, options: AuthenticateOptions = {}): Identity | Promise<Identity> {
    if (!this.#required) {
      if (this.#options.rate !== undefined) this.#charge(addressOf(incoming));
      return ANYONE;
    }
    try {
      const found = this.#identify(incoming, options);
      if (!(found instanceof Promise)) return this.#admit(found);
      return found.then(
        (identity) => this.#admit(identity),
        (error: unknown) => this.#refuse(incoming, error),
      );
    } catch (error) {
      return this.#refuse(incoming, error);
    }
  }

  #identify(incoming: IncomingMessage, { allowTicket }: AuthenticateOptions): Identity | Promise<Identity> {
    const credential = credentialOf(incoming);
    if (credential !== undefined) return this.#options.ring.identify(credential);
    const ticket = allowTicket === undefined ? undefined : ticketOf(incoming);
    if (ticket !== undefined && allowTicket !== undefined) {
      return this.#options.tickets.redeem(ticket, ...[allowTicket].flat());
    }
    throw new ToolyardError("unauthenticated", "This server asks for an API key", {
      suggestion: "Send one as Authorization: Bearer ty_… or as X-API-Key.",
    });
  }

  #admit(identity: Identity): Identity {
    // Outside of `#identify`'s own failures: a good key that asks too often has not failed.
    this.#charge(`key ${identity.keyId}`);
    return identity;
  }

  #charge(name: string): void {
    const { rate } = this.#options;
    const waitMs = rate?.take(name) ?? 0;
    if (rate !== undefined && waitMs > 0) throw tooOften("requests_per_minute", rate.limit.requestsPerMinute, waitMs);
  }

  /** Counts a failed attempt: it is answered, audited and, when there are many, slowed down. */
  #refuse(incoming: IncomingMessage, error: unknown): never {
    if (!ToolyardError.is(error) || error.error !== "unauthenticated") throw error;
    const { audit, failures } = this.#options;
    const address = addressOf(incoming);
    audit.recordFlood("auth.failed", address, { data: { address, reason: error.message } });
    const waitMs = failures.take(address);
    if (waitMs > 0) throw tooOften("failed_attempts_per_minute", failures.limit.requestsPerMinute, waitMs);
    throw error;
  }
}

function tooOften(limit: string, maximum: number, waitMs: number): ToolyardError {
  return new ToolyardError(
    "rate_limited",
    `More than ${maximum} ${limit.replaceAll("_", " ").replace(" per minute", "")} per minute`,
    {
      details: { limit, maximum, retry_after_ms: waitMs },
    },
  );
}

function credentialOf({ headers }: IncomingMessage): string | undefined {
  const { authorization } = headers;
  const given = authorization === undefined ? headers["x-api-key"] : /^bearer +(\S+)$/i.exec(authorization)?.[1];
  if (authorization === undefined && given === undefined) return undefined;
  if (typeof given === "string" && given.length <= MAX_CREDENTIAL_LENGTH) return given;
  throw new ToolyardError("unauthenticated", "The API key is not valid");
}

function ticketOf({ url = "" }: IncomingMessage): string | undefined {
  const query = url.indexOf("?");
  return query === -1 ? undefined : (new URLSearchParams(url.slice(query)).get("ticket") ?? undefined);
}

/** The peer's own address: what a proxy says in headers can be made up. */
export function addressOf({ socket }: IncomingMessage): string {
  return socket.remoteAddress ?? "unknown";
}
