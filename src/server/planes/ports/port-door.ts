import type { IncomingMessage } from "node:http";
import { ToolyardError } from "../../../core/errors.ts";
import type { Engine } from "../../../engine/engine.ts";
import type { WayIn } from "../../../engine/session-ports.ts";
import type { Doorkeeper } from "../../auth/doorkeeper.ts";
import { demand, type Identity } from "../../auth/identity.ts";
import type { KeyRing } from "../../auth/key-ring.ts";
import type { HostGuard } from "../../guard.ts";
import { parsePortPath, type PortAddress, type PortsOrigin, takeTicket } from "./port-address.ts";
import { ticketsIn, toTicketCookie } from "./port-cookies.ts";

/** A request for an exposed port, once it is let in. */
export interface PortVisit {
  readonly address: PortAddress;
  /** By which the client came, where that is known. */
  readonly scheme: string;
  /** Path and query as the sandbox gets them: without the ticket. */
  readonly rest: string;
  readonly tenant: string;
  readonly sessionId: string;
  readonly port: number;
  /** What was exposed; absent for who comes with a key. */
  readonly way: WayIn | undefined;
  /** Who came with a key; absent for who came with a ticket. */
  readonly identity: Identity | undefined;
  /** Throws for a resource that the caller may do nothing with. */
  readonly authorize: (resource: string) => void;
  /** What a browser that came with a ticket is given. */
  readonly cookie: string | undefined;
  /** The sandbox's own credentials in the request, where they cannot be Toolyard's. */
  readonly authorization: string | undefined;
}

export interface PortDoorOptions {
  readonly engine: Engine;
  readonly guard: HostGuard;
  readonly door: Doorkeeper;
  readonly ring: KeyRing;
  /** Where each exposed port has an origin of its own; absent: all are under `/ports/` on the server's. */
  readonly origin?: PortsOrigin | undefined;
}

/** Lets requests through to exposed ports: by ticket, by the cookie that a ticket became, or by key. */
export class PortDoor {
  readonly #options: PortDoorOptions;

  constructor(options: PortDoorOptions) {
    this.#options = options;
  }

  /** Whether a request is for an exposed port, or for what would be one. */
  takes({ url = "", headers }: IncomingMessage): boolean {
    return url.startsWith("/ports/") || this.#options.origin?.idOf(headers.host) !== undefined;
  }

  /**
   * Checks host, origin and ticket or key.
   *
   * @throws ToolyardError forbidden, route_not_found, unauthenticated, rate_limited
   */
  async admit(incoming: IncomingMessage): Promise<PortVisit> {
    const address = this.#addressOf(incoming);
    this.#checkOrigin(incoming, address?.kind ?? "path");
    if (address === undefined) {
      await this.#options.door.authenticate(incoming);
      throw new ToolyardError("route_not_found", "An exposed port is at /ports/{session_id}/{port}/");
    }
    const { rest, ticket } = takeTicket(address.rest);
    const way = this.#wayOf(incoming, address, ticket);
    if (way === undefined) return this.#admitByKey(incoming, address);
    const isFirst = way.ticket === ticket;
    const seconds = (way.expiresAt.getTime() - this.#options.engine.clock.date().getTime()) / 1000;
    const secure = address.kind === "host" && this.#options.origin?.scheme === "https";
    return {
      address,
      scheme: secure ? "https" : "http",
      // Another ticket in the query is the sandbox's own matter.
      rest: isFirst ? rest : address.rest,
      tenant: way.record.tenant,
      sessionId: way.record.id,
      port: way.port,
      way,
      identity: undefined,
      authorize: () => undefined,
      cookie: isFirst ? toTicketCookie(way.ticket, seconds, address, secure) : undefined,
      authorization: this.#foreign(incoming.headers.authorization),
    };
  }

  #addressOf({ url = "", headers }: IncomingMessage): PortAddress | undefined {
    const id = this.#options.origin?.idOf(headers.host);
    return id === undefined ? parsePortPath(url) : { kind: "host", id, rest: url, prefix: "" };
  }

  #checkOrigin(incoming: IncomingMessage, kind: PortAddress["kind"]): void {
    if (kind === "path") {
      const refusal = this.#options.guard.check(incoming);
      if (refusal !== undefined) throw refusal;
      return;
    }
    const { origin, host } = incoming.headers;
    // An origin of its own: neither Toolyard's pages nor those of other ports may call.
    if (origin === undefined || origin.toLowerCase() === `${this.#options.origin?.scheme}://${host?.toLowerCase()}`)
      return;
    throw new ToolyardError("forbidden", "Pages of this Origin may not call this exposed port");
  }

  #wayOf({ headers }: IncomingMessage, address: PortAddress, ticket: string | undefined): WayIn | undefined {
    const { ports } = this.#options.engine;
    for (const one of [...(ticket === undefined ? [] : [ticket]), ...ticketsIn(headers.cookie)]) {
      const way = ports.byTicket(one);
      if (way === undefined) continue;
      const fits =
        address.kind === "host"
          ? way.id === address.id
          : way.record.id === address.sessionId && way.port === address.port;
      if (fits) return way;
    }
    return undefined;
  }

  async #admitByKey(incoming: IncomingMessage, address: PortAddress): Promise<PortVisit> {
    const identity = address.kind === "path" ? await this.#options.door.authenticate(incoming) : undefined;
    // Also where the server asks for no key: a page that knows the address is not to come in by that alone.
    if (address.kind === "host" || identity === undefined || identity.keyId === null) {
      throw new ToolyardError("unauthenticated", "This port is open to who has a ticket for it", {
        suggestion: "Get a URL with a ticket by sandbox:expose or POST /api/v1/session/{session_id}/ports.",
      });
    }
    const { sessionId, port, rest } = address;
    return {
      address,
      scheme: "http",
      rest,
      tenant: identity.tenant,
      sessionId,
      port,
      way: undefined,
      identity,
      authorize: (resource) => demand(identity, "execute", resource),
      cookie: undefined,
      authorization: undefined,
    };
  }

  /** The sandbox's own credentials may pass; one of Toolyard's keys never does. */
  #foreign(authorization: string | undefined): string | undefined {
    const credential = /^bearer +(\S+)$/i.exec(authorization ?? "")?.[1];
    return credential !== undefined && this.#options.ring.isOwn(credential) ? undefined : authorization;
  }
}
