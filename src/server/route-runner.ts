import type { IncomingMessage, ServerResponse } from "node:http";
import { z } from "zod";
import type { Logger } from "../core/context.ts";
import { ToolyardError } from "../core/errors.ts";
import { toIssues } from "../core/issues.ts";
import type { ByteBudget } from "../engine/byte-budget.ts";
import { checkAccess, resourceOf } from "./auth/access.ts";
import type { CrossingWatch } from "./auth/crossing-watch.ts";
import type { Identity } from "./auth/identity.ts";
import type { OpenStreams } from "./auth/open-streams.ts";
import { readJson } from "./body.ts";
import { BodyShare, createBodyBudget } from "./body-budget.ts";
import type { HttpLimits } from "./http-limits.ts";
import { checkQueryNames } from "./query-names.ts";
import { fail, type Reply, withDetail } from "./reply.ts";
import type { AnyRoute } from "./route.ts";

export interface RouteRunnerOptions {
  readonly crossings: CrossingWatch;
  readonly streams: OpenStreams;
  readonly limits: HttpLimits;
  readonly logger: Logger;
}

/** A request to a route, from somebody who was let in. */
export interface RoutedRequest {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  readonly identity: Identity;
  /** Names in the path, decoded. */
  readonly path: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
}

/** Runs a route's handler on a request's parsed body, and turns every failure into a typed answer without a traceback. */
export class RouteRunner {
  readonly #options: RouteRunnerOptions;
  readonly #bodies: ByteBudget;

  constructor(options: RouteRunnerOptions) {
    this.#options = options;
    this.#bodies = createBodyBudget(options.limits.bodyBytesInFlight);
  }

  /** Never rejects. */
  async run(route: AnyRoute, { incoming, outgoing, identity, path, query }: RoutedRequest): Promise<Reply> {
    const { limits, streams, crossings } = this.#options;
    const share = new BodyShare(this.#bodies);
    let reply: Reply;
    let raw: unknown;
    try {
      const entering = enter(identity, route, () => readJson(incoming, limits, share));
      if (entering !== undefined) await entering;
      checkQueryNames(route, query);
      raw = route.body === undefined ? undefined : await readJson(incoming, limits, share);
      const body = route.body === undefined ? undefined : parseBody(route, route.body, raw);
      const { tenant } = identity;
      // The body is parsed by the route's own schema; see route().
      const { bytes: bodyBytes } = share;
      reply = await route.handle({ body: body as never, bodyBytes, path, query, identity, tenant, incoming, outgoing });
    } catch (error) {
      reply = this.refuse(route, error);
    } finally {
      share.end();
    }
    if (incoming.method === "HEAD") reply = await withoutStream(reply);
    if (reply.stream !== undefined) streams.track(identity, outgoing);
    if (reply.status !== 200 && identity.keyId !== null) crossings.observe(identity, route, raw ?? path);
    return closeHalfRead(reply, incoming);
  }

  /** Says what a failure on a route is answered with. */
  refuse(route: AnyRoute, error: unknown): Reply {
    return toErrorReply(route, toKnownError(error, route, this.#options.logger));
  }
}

/** Refuses whom the path is closed to, in words that name the body's resource where it can be read. */
function enter(identity: Identity, route: AnyRoute, readBody: () => Promise<unknown>): Promise<void> | undefined {
  try {
    checkAccess(identity, route.access);
    return undefined;
  } catch (refused) {
    if (route.body === undefined) throw refused;
    return readBody().then(
      (body) => checkAccess(identity, route.access, resourceOf(body)),
      () => checkAccess(identity, route.access, resourceOf(undefined)),
    );
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

/** What may be told of a failure; what was not foreseen goes to the log. */
export function toKnownError(error: unknown, route: AnyRoute | undefined, logger: Logger): ToolyardError {
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

/** What is left of a body that was refused half read, or that a GET should not have, is not read to its end. */
function closeHalfRead(reply: Reply, incoming: IncomingMessage): Reply {
  if (reply.status < 400 && incoming.method !== "GET") return reply;
  if (reply.status !== 413 && incoming.complete) return reply;
  return { ...reply, headers: { ...reply.headers, connection: "close" } };
}
