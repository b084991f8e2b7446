import type { HttpBindings } from "@hono/node-server";
import { Hono } from "hono";
import type { Logger } from "../core/context.ts";
import { ToolyardError } from "../core/errors.ts";
import type { Identity } from "./auth/identity.ts";
import type { Cors } from "./cors.ts";
import type { Front } from "./front.ts";
import type { HostGuard } from "./guard.ts";
import { fail, toResponse, withDetail } from "./reply.ts";
import type { AnyRoute } from "./route.ts";
import { type RouteRunner, toKnownError } from "./route-runner.ts";

/** What a handler finds beside the request: node's own objects, and who calls. */
interface Env extends HttpBindings {
  identity: Identity;
}

/** What answers a request, in the shape that node-server calls. */
export type FetchHandler = (request: Request, env: HttpBindings) => Response | Promise<Response>;

export interface AppOptions {
  readonly routes: readonly AnyRoute[];
  readonly runner: RouteRunner;
  readonly front: Front;
  readonly guard: HostGuard;
  readonly cors: Cors;
  readonly logger: Logger;
}

/** Puts the routes behind the front, and answers for every path and method that is none of them. */
export function createApp({ routes, runner, front, guard, cors, logger }: AppOptions): FetchHandler {
  const app = new Hono<{ Bindings: Env }>();
  const methods = new Map<string, Set<string>>();

  for (const route of routes) {
    for (const path of [route.path, ...(route.aliases ?? [])]) {
      methods.set(path, (methods.get(path) ?? new Set()).add(route.method.toUpperCase()));
      app.on(route.method.toUpperCase(), path, async (c) => {
        const { incoming, outgoing, identity } = c.env;
        const query = incoming.url?.includes("?") === true ? new URL(c.req.url).searchParams : NO_QUERY;
        const names = path.includes(":") ? c.req.param() : NO_NAMES;
        return toResponse(await runner.run(route, { incoming, outgoing, identity, path: names, query }));
      });
    }
  }

  for (const [path, allowed] of methods) {
    // Not `all`: a second handler on a path would cost every request the middleware chain.
    const refused = METHODS.filter((method) => !allowed.has(method));
    app.on(refused, path, () => {
      const error = new ToolyardError("method_not_allowed", `${path} takes ${[...allowed].join(" or ")}`);
      const reply = withDetail(fail({ operation: "http" }, error), "Method Not Allowed");
      return toResponse({ ...reply, headers: { allow: [...allowed].join(", ") } });
    });
  }
  app.notFound((c) => {
    const error = new ToolyardError("route_not_found", `There is nothing at ${c.req.path.slice(0, 200)}`);
    return toResponse(withDetail(fail({ operation: "http" }, error), "Not Found"));
  });
  app.onError((error) => toResponse(fail({ operation: "http" }, toKnownError(error, undefined, logger))));

  const refuse = (error: unknown) => toResponse(front.refuse(error));
  const enter = (request: Request, env: HttpBindings): Response | Promise<Response> => {
    try {
      const identity = front.identify(env.incoming);
      if (!(identity instanceof Promise)) return app.fetch(request, withIdentity(env, identity));
      return identity.then((known) => app.fetch(request, withIdentity(env, known)), refuse);
    } catch (error) {
      return refuse(error);
    }
  };

  return (request, env) => {
    const refused = front.check(env.incoming);
    if (refused !== undefined) return refuse(refused);
    const { origin } = env.incoming.headers;
    if (origin === undefined || !guard.allows(origin)) return enter(request, env);
    // A browser asks first without its key.
    const answer = cors.preflight(env.incoming) ?? enter(request, env);
    return answer instanceof Response
      ? cors.allow(origin, answer)
      : answer.then((response) => cors.allow(origin, response));
  };
}

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
const NO_QUERY = new URLSearchParams();
const NO_NAMES: Readonly<Record<string, string>> = {};

/** Written onto node-server's own object, which is made for each request. */
function withIdentity(env: HttpBindings, identity: Identity): Env {
  const known = env as Env; // it is, from the next line on
  known.identity = identity;
  return known;
}
