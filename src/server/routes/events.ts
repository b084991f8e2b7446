import { ToolyardError } from "../../core/errors.ts";
import type { EventPageAnswer } from "../../core/logged-event.ts";
import type { Logger } from "../../core/context.ts";
import { SERVER_RESOURCE } from "../../core/scopes.ts";
import { StoreError } from "../../core/store.ts";
import type { Engine } from "../../engine/engine.ts";
import { EventFeed } from "../../engine/event-feed.ts";
import { type Identity, mayDo } from "../auth/identity.ts";
import { checkName } from "../caller.ts";
import { type EventScope, locateCursor, toPosition } from "../event-cursor.ts";
import { type EventQuery, parseEventQuery } from "../event-query.ts";
import { createLogSource, toLoggedEvent } from "../event-source.ts";
import { type Reply, succeed } from "../reply.ts";
import { type AnyRoute, route, type RouteRequest } from "../route.ts";
import { toSseReply } from "../sse.ts";
import type { StreamClients } from "../stream-clients.ts";

const DEFAULT_PAGE = 100;
const MAX_PAGE = 1_000;

const FOLLOWED = {
  method: "get",
  access: "read",
  ticketPurpose: "events",
  enveloped: false,
  statuses: {
    404: "There is no such event to resume after",
    410: "What followed the event is no longer held",
    429: "Too many clients follow streams",
  },
} as const;

/** `/api/v1/events`: the log of everything that happened, followed or in pages. */
export function eventRoutes(engine: Engine, clients: StreamClients, logger: Logger): readonly AnyRoute[] {
  return [
    route({
      ...FOLLOWED,
      path: "/api/v1/events",
      operation: "events",
      summary: "Follow what happens, as server-sent events",
      description:
        "Filters: `worker`, `session`, `project`, `run` (a trace id), `type` (a comma list). `Last-Event-ID` or `after` resumes; `after=0` " +
        "starts with the oldest event that is held; without either it starts now. `format=json` answers one page. `worker_id`, " +
        "`session_id` and `trace_id` are other names of the filters; a name or a type that there is not is refused.",
      handle: (request) => follow({ engine, clients, logger }, request, parseEventQuery(request.query)),
    }),
  ];
}

/** `/api/v1/sandbox/events/{project_id}`: the same log, of the sessions that have one label. */
export function sandboxEventRoutes(engine: Engine, clients: StreamClients, logger: Logger): readonly AnyRoute[] {
  return [
    route({
      ...FOLLOWED,
      path: "/api/v1/sandbox/events/:project_id",
      operation: "sandbox:events",
      summary: "Follow what happens in the sandboxes of a project, as server-sent events",
      description: "As `/api/v1/events?project=`. A project is the label that sessions are created with.",
      handle(request) {
        const query = parseEventQuery(request.query);
        const project = checkName("project_id", request.path["project_id"] ?? "");
        if (query.filter.project !== undefined && query.filter.project !== project) {
          throw new ToolyardError("invalid_input", "The path names the project: project is not to be given again");
        }
        return follow({ engine, clients, logger }, request, { ...query, filter: { ...query.filter, project } });
      },
    }),
  ];
}

interface FollowDeps {
  readonly engine: Engine;
  readonly clients: StreamClients;
  readonly logger: Logger;
}

async function follow(
  { engine, clients, logger }: FollowDeps,
  { identity, incoming }: RouteRequest<unknown>,
  asked: EventQuery,
): Promise<Reply> {
  const { log, clock, limits } = engine;
  const scope = toScope(asked, identity);
  const header = incoming.headers["last-event-id"];
  const cursor = (typeof header === "string" && header !== "" ? header : undefined) ?? asked.after;
  try {
    if (asked.format === "json") return await readPage(engine, scope, cursor, asked.limit);
    const leave = clients.enter();
    try {
      const after = cursor === null ? log.lastId : await locateCursor(log, cursor, scope);
      const feed = new EventFeed(log, scope.filter, after, { clock, logger });
      const source = createLogSource(feed, { allows: scope.allows, onClose: leave });
      return toSseReply(source, clock, limits.streamHeartbeatMs);
    } catch (error) {
      leave();
      throw error;
    }
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    throw new ToolyardError("dependency_failed", `The event log cannot be read: ${error.reason}`, { cause: error });
  }
}

async function readPage(
  { log }: Engine,
  scope: EventScope,
  cursor: string | null,
  limitText: string | null,
): Promise<Reply> {
  const limit = limitText === null ? DEFAULT_PAGE : Number(limitText);
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > MAX_PAGE) {
    throw new ToolyardError("invalid_input", `limit takes 1 to ${MAX_PAGE}`);
  }
  const after = await locateCursor(log, cursor ?? "0", scope);
  const { entries, throughId } = await log.read(scope.filter, after, limit);
  const data: EventPageAnswer = {
    events: entries.filter((entry) => "gap" in entry || scope.allows(entry)).map(toLoggedEvent),
    next: toPosition(throughId),
    has_more: throughId < log.lastId,
  };
  return succeed({ operation: "events" }, data);
}

function toScope({ filter }: EventQuery, identity: Identity): EventScope {
  // What concerns no resource is the tenant's, or the server's own: for who may read all of either.
  const readsAll = mayDo(identity, "read", "*") || mayDo(identity, "read", SERVER_RESOURCE);
  return {
    filter: { ...filter, tenant: identity.tenant },
    allows: ({ resource }) => (resource === undefined ? readsAll : mayDo(identity, "read", resource)),
  };
}
