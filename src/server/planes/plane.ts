import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Access } from "../route.ts";
import type { Identity } from "../auth/identity.ts";

/** What a plane is given, once its caller is let in. */
export interface PlaneRequest {
  readonly incoming: IncomingMessage;
  /** The plane's from here on: it answers the upgrade, and ends the socket. */
  readonly socket: Duplex;
  /** What the client sent behind its request. */
  readonly head: Buffer;
  /** Names in the path, decoded. */
  readonly path: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly identity: Identity;
}

/** A WebSocket path of the data plane. Its host, its origin and its caller are checked before it is asked. */
export interface Plane {
  /** `/ws/term/:session_id`. */
  readonly path: string;
  readonly operation: string;
  readonly summary: string;
  readonly access: Access;
  /** The purpose of the tickets that open it; `:name` is what the path has there. */
  readonly ticketPurpose: string;
  /**
   * Takes the connection over. What it throws is answered in place of the upgrade, as long as it has written nothing.
   *
   * It lives as long as the socket: the server destroys that when the caller's key goes, and at its own end.
   */
  open(request: PlaneRequest): void | Promise<void>;
}
