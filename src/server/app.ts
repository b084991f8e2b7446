import { Hono } from "hono";
import type { IncomingMessage } from "node:http";
import { z } from "zod";
import type { Logger } from "../core/context.ts";
import { ToolyardError } from "../core/errors.ts";
import { toIssues } from "../core/issues.ts";
import { checkAccess, resourceOf } from "./auth/access.ts";
import type { CrossingWatch } from "./auth/crossing-watch.ts";
import type { Doorkeeper } from "./auth/doorkeeper.ts";
import type { Identity } from "./auth/identity.ts";
import type { OpenStreams } from "./auth/open-streams.ts";
import { readJson } from "./body.ts";
import { BodyBudget, BodyShare } from "./body-budget.ts";
import { Cors, type CorsOptions } from "./cors.ts";
import { createFront, type Env, type FetchHandler } from "./front.ts";
import { HostGuard, type GuardOptions } from "./guard.ts";
import type { HttpLimits } from "./http-limits.ts";
import { fail, type Reply, toResponse } from "./reply.ts";
import type { AnyRoute } from "./route.ts";

export interface AppOptions {
  readonly routes: readonly AnyRoute[];
  readonly guard: GuardOptions;
  readonly cors: CorsOptions;
  readonly door: Doorkeeper;
  readonly crossings: CrossingWatch;
  readonly streams: OpenStreams;
  readonly limits: HttpLimits;
  readonly logger: Logger;
}

/** Puts the routes behind the guard, and turns every failure into a typed answer without a traceback. */
export function createApp({ routes, limits, logger, crossings, streams, ...options }: AppOptions): FetchHandler {
  const app = new Hono<{ Bindings: Env }>();
  const methods = new Map<string, Set<string>>();
  const bodies = new BodyBudget(limits.bodyBytesInFlight);

  for (const route of routes) {
    const onError = (error: unknown) => toErrorReply(route, toKnownError(error, route, logger));
    for (const path of [route.path, ...(route.aliases ?? [])]) {
      methods.set(path, (methods.get(path) ?? new Set()).add(route.method.toUpperCase()));
      app.on(route.method.toUpperCase(), path, async (c) => {
        const { incoming, outgoing, identity } = c.env;
        let reply: Reply;
        let raw: unknown;
        const share = new BodyShare(bodies);
        try {
          await enter(identity, route, () => readJson(incoming, limits, share));
          raw = route.body === undefined ? undefined : await readJson(incoming, limits, share);
          const body = route.body === undefined ? undefined : parseBody(route, route.body, raw);
          const query = incoming.url?.includes("?") === true ? new URL(c.req.url).searchParams : NO_QUERY;
          reply = await route.handle({
            body: body as never, // parsed by the route's own schema; see route()
            path: path.includes(":") ? c.req.param() : NO_NAMES,
            query,
            identity,
            tenant: identity.tenant,
            incoming,
            outgoing,
          });
        } catch (error) {
          reply = onError(error);
        } finally {
          share.end();
        }
        if (incoming.method === "HEAD") reply = await withoutStream(reply);
        if (reply.stream !== undefined) streams.track(identity, outgoing);
        if (reply.status !== 200 && identity.keyId !== null) crossings.observe(identity, route, raw ?? c.req.param());
        return toResponse(closeHalfRead(reply, incoming));
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

  const { guard, cors, door } = options;
  const front = { guard: new HostGuard(guard), cors: new Cors(cors, guard.allowedOrigins), routes, door, logger };
  return createFront(front, (request, env) => app.fetch(request, env));
}

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
const NO_QUERY = new URLSearchParams();
const NO_NAMES: Readonly<Record<string, string>> = {};

/** Refuses whom the path is closed to, in words that name the body's resource where it can be read. */
async function enter(identity: Identity, route: AnyRoute, readBody: () => Promise<unknown>): Promise<void> {
  try {
    checkAccess(identity, route.access);
  } catch (refused) {
    if (route.body === undefined) throw refused;
    checkAccess(identity, route.access, resourceOf(await readBody().catch(() => undefined)));
  }
}

function parseBody(route: AnyRoute, schema: z.ZodType, raw: unknown): unknown {
  const parsed = schema.safeParse(raw);
  if (parsed.success) return parsed.data;
  const issues = toIssues(parsed.error);
  const [first] = issues;
  const where = first === undefined || first.path === "" ? "the body" : first.path;
  throw new ToolyardError(route.badBody ?? "invalid_request", `${where}: ${first?.message ?? "is invalid"}`, {
    details: { issues },
  });
}

function toKnownError(error: unknown, route: AnyRoute | undefined, logger: Logger): ToolyardError {
  if (ToolyardError.is(error)) return error;
  logger.error({ err: error, path: route?.path }, "a request failed unexpectedly");
  return new ToolyardError("internal_error", "The server failed unexpectedly", { cause: error });
}

/** Where the known wire answers with FastAPI's own 422, its `detail` stands beside the envelope. */
function toErrorReply(route: AnyRoute, error: ToolyardError): Reply {
  const reply = fail({ operation: route.operation }, error);
  if (error.error !== "unprocessable") return reply;
  const issues = z
    .array(z.object({ path: z.string(), message: z.string() }))
    .catch([])
    .parse(error.details?.["issues"]);
  return withDetail(
    reply,
    issues.map(({ path, message }) => ({ loc: ["body", ...path.split(".")], msg: message, type: "value_error" })),
  );
}

/** Hono answers HEAD with GET's handler and leaves the body unread: the reader of a stream would stay for ever. */
async function withoutStream({ stream, ...reply }: Reply): Promise<Reply> {
  await stream?.cancel();
  return reply;
}

/** What is left of a body that was refused half read is not read to its end. */
function closeHalfRead(reply: Reply, incoming: IncomingMessage): Reply {
  if (reply.status < 400 || (reply.status !== 413 && incoming.complete)) return reply;
  return { ...reply, headers: { ...reply.headers, connection: "close" } };
}

function withDetail(reply: Reply, detail: unknown): Reply {
  return { ...reply, body: { ...Object(reply.body), detail } };
}
