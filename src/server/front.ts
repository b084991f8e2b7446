import type { HttpBindings } from "@hono/node-server";
import type { Logger } from "../core/context.ts";
import { ToolyardError } from "../core/errors.ts";
import type { Doorkeeper } from "./auth/doorkeeper.ts";
import { ANYONE, type Identity } from "./auth/identity.ts";
import type { Cors } from "./cors.ts";
import type { HostGuard } from "./guard.ts";
import { createPathMatcher } from "./path-matcher.ts";
import { refusal } from "./refusal.ts";
import { toResponse } from "./reply.ts";
import type { AnyRoute } from "./route.ts";

/** What a handler finds beside the request: node's own objects, and who calls. */
export interface Env extends HttpBindings {
  identity: Identity;
}

/** What answers a request, in the shape that node-server calls. */
export type FetchHandler = (request: Request, env: HttpBindings) => Response | Promise<Response>;

export interface FrontOptions {
  readonly routes: readonly AnyRoute[];
  readonly guard: HostGuard;
  readonly cors: Cors;
  readonly door: Doorkeeper;
  readonly logger: Logger;
}

type Inner = (request: Request, env: Env) => Response | Promise<Response>;

/** Lets a request through to the routes once its host, its origin and its key are found good. */
export function createFront({ routes, guard, cors, door, logger }: FrontOptions, inner: Inner): FetchHandler {
  const openPaths = new Set(routes.filter(({ access }) => access === "anyone").map(({ path }) => path));
  const purposeOf = toPurposes(routes);
  const refuse = (error: unknown): Response => toRefusal(error, logger);
  const enter = (request: Request, env: HttpBindings, identity: Identity) =>
    inner(request, withIdentity(env, identity));

  const admit = (request: Request, env: HttpBindings): Response | Promise<Response> => {
    if (door.open) return enter(request, env, ANYONE);
    const { url = "/" } = env.incoming;
    const path = pathOf(url);
    if (openPaths.has(path)) return enter(request, env, ANYONE);
    try {
      const allowTicket = path.length === url.length ? undefined : purposeOf(env.incoming.method ?? "", path);
      const identity = door.authenticate(env.incoming, { allowTicket });
      if (!(identity instanceof Promise)) return enter(request, env, identity);
      return identity.then((known) => enter(request, env, known), refuse);
    } catch (error) {
      return refuse(error);
    }
  };

  return (request, env) => {
    const refusal = guard.check(env.incoming);
    if (refusal !== undefined) return refuse(refusal);
    const { origin } = env.incoming.headers;
    if (origin === undefined || !guard.allows(origin)) return admit(request, env);
    // A browser asks first without its key.
    const answer = cors.preflight(env.incoming) ?? admit(request, env);
    return answer instanceof Response
      ? cors.allow(origin, answer)
      : answer.then((response) => cors.allow(origin, response));
  };
}

/** Written onto node-server's own object, which is made for each request. */
function withIdentity(env: HttpBindings, identity: Identity): Env {
  const known = env as Env; // it is, from the next line on
  known.identity = identity;
  return known;
}

function pathOf(url: string): string {
  const query = url.indexOf("?");
  return query === -1 ? url : url.slice(0, query);
}

/** Finds what a ticket must be for to open a path. */
function toPurposes(routes: readonly AnyRoute[]): (method: string, path: string) => string | undefined {
  const finders = new Map<string, ReturnType<typeof createPathMatcher<AnyRoute>>>();
  for (const method of ["get", "put"]) {
    const streams = routes.filter((route) => route.method === method && route.ticketPurpose !== undefined);
    finders.set(method, createPathMatcher(streams));
  }
  return (method, path) => {
    const found = finders.get(method === "HEAD" ? "get" : method.toLowerCase())?.(path);
    const purpose = found?.value.ticketPurpose;
    return purpose?.startsWith(":") === true ? found?.names[purpose.slice(1)] : purpose;
  };
}

/** Says in HTTP why somebody is not let in. */
function toRefusal(error: unknown, logger: Logger): Response {
  let known: ToolyardError;
  if (ToolyardError.is(error)) known = error;
  else {
    logger.error({ err: error }, "a request could not be authenticated");
    known = new ToolyardError("dependency_failed", "The API key could not be checked", { cause: error });
  }
  return toResponse(refusal("http", known));
}
