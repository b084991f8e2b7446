import type { z } from "zod";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Verb } from "../core/scopes.ts";
import type { Identity } from "./auth/identity.ts";
import type { Reply } from "./reply.ts";

/** What a route's handler is given. */
export interface RouteRequest<B> {
  readonly body: B;
  /** Of the body as it came. */
  readonly bodyBytes: number;
  /** Names in the path, decoded. */
  readonly path: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** Who calls; handlers that name a resource `demand` the verb on it. */
  readonly identity: Identity;
  /** The identity's. */
  readonly tenant: string;
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
}

/**
 * Who may use a path, once keys are asked for: `anyone` without one, any `key`, a key with the verb on some resource, or one
 * that may do it on the server itself.
 */
export type Access = "anyone" | "key" | Exclude<Verb, "admin"> | `server:${"read" | "admin"}`;

/** One path of the API: what serves it, and what /openapi.json says of it. */
export interface Route<S extends z.ZodType = z.ZodType> {
  readonly method: "get" | "post" | "put" | "delete";
  /** Hono's syntax: `/api/v1/tools/:name/schema`. */
  readonly path: string;
  readonly aliases?: readonly string[];
  /** The envelope's `meta.tool`; absent on paths without an envelope. */
  readonly operation: string;
  readonly summary: string;
  /** @default "server:admin", so that a path is never open by oversight */
  readonly access?: Access;
  /** The purpose of the one-time tickets that open this path in place of a key; `:name` is what the path has there. */
  readonly ticketPurpose?: string;
  readonly description?: string;
  /** What the query takes, and whether it must be there; where it is given, anything else is refused. */
  readonly queryNames?: Readonly<Record<string, boolean>>;
  /** The types of a body that is no JSON, which the handler itself reads or writes; for /openapi.json. */
  readonly binary?: { readonly request?: string; readonly response?: string };
  readonly body?: S;
  /** How a body of the wrong shape is answered: as FastAPI's 422, or as the hand-parsed paths' 400. */
  readonly badBody?: "unprocessable" | "invalid_request";
  /** Statuses beside 200, for /openapi.json. */
  readonly statuses?: Readonly<Record<number, string>>;
  /** Whether the 200 is an envelope. */
  readonly enveloped: boolean;
  handle(request: RouteRequest<z.output<S>>): Reply | Promise<Reply>;
}

/** A route whose body type is checked by its own schema at run time. */
export type AnyRoute = Route<z.ZodType<never>>;

/** Ties a handler to the schema of its body. */
export function route<S extends z.ZodType>(definition: Route<S>): AnyRoute {
  // Sound because the only caller parses the body with this very schema first.
  return definition as unknown as AnyRoute;
}
