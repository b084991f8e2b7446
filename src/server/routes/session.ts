import { ToolyardError } from "../../core/errors.ts";
import {
  SessionCreateRequest,
  SessionDestroyRequest,
  SessionListRequest,
  SessionRefreshRequest,
} from "../../core/protocol.ts";
import type { Engine } from "../../engine/engine.ts";
import type { ResourceRouter } from "../../engine/router.ts";
import { isConfiguredAs } from "../../engine/session-config.ts";
import type { SessionRecord } from "../../engine/session-record.ts";
import type { CreateRequest } from "../../engine/session-request.ts";
import type { Caller } from "../../engine/session-table.ts";
import type { SessionTimes } from "../../engine/session-times.ts";
import { nearNames } from "../../core/near-names.ts";
import { demand, mayDo } from "../auth/identity.ts";
import { checkName, toCaller } from "../caller.ts";
import { ClientWait } from "../disconnect.ts";
import { succeed } from "../reply.ts";
import { type AnyRoute, route } from "../route.ts";
import { toInitFailure } from "./init-failure.ts";

/** Sessions by hand: create, destroy, list, refresh. */
export function sessionRoutes(engine: Engine): readonly AnyRoute[] {
  const { router } = engine;
  return [
    route({
      method: "post",
      path: "/api/v1/session/create",
      access: "session",
      operation: "session:create",
      summary: "Make a worker's session on a resource",
      description:
        "An existing session is kept, with its own config; `data.config_applied` says whether this config is in force.",
      body: SessionCreateRequest,
      enveloped: true,
      statuses: { 500: "The session could not be initialized" },
      async handle({ body, identity, outgoing }) {
        const caller = toCaller(identity, body.worker_id);
        const resource = checkName("resource_type", body.resource_type);
        demand(identity, "session", resource);
        const meta = { operation: "session:create", resourceType: resource };
        try {
          const request = {
            ...caller,
            resource,
            config: body.session_config ?? {},
            customName: body.custom_name ?? undefined,
            ttlMs: body.ttl === undefined || body.ttl === null ? undefined : body.ttl * 1000,
            autoExtend: body.auto_extend ?? undefined,
            project: toProject(body.project),
          };
          const { record, how } = await router.create(request, new ClientWait(outgoing));
          const facts = { session_id: record.id, session_name: record.name, resource_type: resource };
          const expires = { expires_at: router.times.expiryDate(record).toISOString() };
          const known = { ...meta, sessionId: record.id };
          if (how === "exists") {
            const applied = isInForce(record, request, router.times);
            return succeed(known, {
              status: "exists",
              ...facts,
              session_status: record.state,
              config_applied: applied,
              ...expires,
            });
          }
          return succeed(known, {
            ...facts,
            session_status: "active",
            error: null,
            config_applied: true,
            ...(how === "adopted" && { adopted: true }),
            ...expires,
            ...compatibility(engine, record),
          });
        } catch (error) {
          return toInitFailure(meta, error, ({ details }) => ({ ...details, session_name: null }));
        }
      },
    }),
    route({
      method: "post",
      path: "/api/v1/session/destroy",
      access: "session",
      operation: "session:destroy",
      summary: "End a worker's session on a resource",
      description: "Running calls end first; `force` cancels them.",
      body: SessionDestroyRequest,
      enveloped: true,
      statuses: { 404: "The worker has no such session, or it expired", 410: "Its state was lost" },
      async handle({ body, identity }) {
        demand(identity, "session", body.resource_type);
        const record = await findSession(
          router,
          toCaller(identity, body.worker_id),
          body.resource_type,
          body.target_session_id,
        );
        const over = await router.destroy(record, "destroyed", { force: body.force ?? false });
        return succeed(
          { operation: "session:destroy", resourceType: record.resource, sessionId: record.id },
          {
            message: over ? "Session destroyed" : "Session closed; its running calls end first",
            session_id: record.id,
            session_name: record.name,
            resource_type: record.resource,
          },
        );
      },
    }),
    route({
      method: "post",
      path: "/api/v1/session/list",
      access: "read",
      operation: "session:list",
      summary: "List a worker's sessions",
      body: SessionListRequest,
      enveloped: true,
      handle({ body, identity }) {
        const sessions = router
          .list(toCaller(identity, body.worker_id))
          .filter(({ resource }) => (body.resource_type ?? resource) === resource && mayDo(identity, "read", resource));
        return succeed(
          { operation: "session:list" },
          {
            worker_id: body.worker_id,
            sessions: sessions.map((record) => describeSession(router, record)),
            count: sessions.length,
          },
        );
      },
    }),
    route({
      method: "post",
      path: "/api/v1/session/refresh",
      access: "session",
      operation: "session:refresh",
      summary: "Let one session, or all of a worker's, live longer",
      body: SessionRefreshRequest,
      enveloped: true,
      statuses: { 404: "The worker has no such session, or it expired", 410: "Its state was lost" },
      async handle({ body, identity }) {
        const caller = toCaller(identity, body.worker_id);
        const ttlMs = typeof body.extend_ttl === "number" ? body.extend_ttl * 1000 : undefined;
        const expiry = (record: SessionRecord) => {
          router.renew(record, ttlMs);
          return router.times.expiryDate(record).toISOString();
        };
        const { resource_type: resource } = body;
        if (resource !== undefined && resource !== null) {
          demand(identity, "session", resource);
          const record = await findSession(router, caller, resource, body.target_session_id);
          return succeed(
            { operation: "session:refresh", resourceType: resource, sessionId: record.id },
            {
              message: "Session refreshed",
              resource_type: resource,
              session_id: record.id,
              expires_at: expiry(record),
            },
          );
        }
        const records = router.list(caller).filter((record) => mayDo(identity, "session", record.resource));
        const details = records.map((record) => [record.resource, { status: "refreshed", expires_at: expiry(record) }]);
        return succeed(
          { operation: "session:refresh" },
          {
            message: `${records.length} sessions refreshed`,
            worker_id: body.worker_id,
            refreshed_count: records.length,
            details: Object.fromEntries(details),
          },
        );
      },
    }),
  ];
}

/** @throws ToolyardError session_not_found; session_expired or session_lost when the named session was the worker's. */
async function findSession(
  router: ResourceRouter,
  caller: Caller,
  resource: string,
  sessionId: string | null | undefined,
): Promise<SessionRecord> {
  const record = router.find(caller, checkName("resource_type", resource));
  if (record !== undefined && (sessionId ?? record.id) === record.id) return record;
  const why = typeof sessionId === "string" ? await router.explain(sessionId, caller, resource) : undefined;
  if (why !== undefined && why.error !== "session_not_found") throw why;
  throw new ToolyardError("session_not_found", `The worker has no such ${resource} session`, {
    details: { resource_type: resource },
  });
}

export function describeSession(router: ResourceRouter, record: SessionRecord) {
  return {
    resource_type: record.resource,
    session_id: record.id,
    session_name: record.name,
    status: record.state,
    auto_created: record.temporary,
    created_at: record.createdAt.toISOString(),
    last_activity: router.times.activityDate(record).toISOString(),
    expires_at: router.times.expiryDate(record).toISOString(),
  };
}

/** The wire makes a session also where no backend keeps one; the answer says so in place of pretending. */
function compatibility(engine: Engine, record: SessionRecord): object {
  const { mounts } = engine.catalog;
  if (record.mount?.backend.initialize !== undefined) return {};
  const near = nearNames(record.resource, mounts.keys());
  const message =
    record.mount !== undefined
      ? `${record.resource} keeps no sessions; its tools can be called without one`
      : `No backend is mounted as ${record.resource}${near.length > 0 ? `; did you mean ${near.join(", ")}?` : ""}`;
  return { compatibility_mode: true, compatibility_message: message, known_resource: record.mount !== undefined };
}

function toProject(project: string | null | undefined): string | undefined {
  return typeof project === "string" ? checkName("project", project) : undefined;
}

/** Whether a session that was there already is as it is asked for, such as by a create whose answer was lost. */
function isInForce(record: SessionRecord, request: CreateRequest, times: SessionTimes): boolean {
  const { config, customName, ttlMs, autoExtend, project } = request;
  return (
    isConfiguredAs(record, config) &&
    (customName ?? record.customName) === record.customName &&
    (ttlMs === undefined || times.toTtl(ttlMs) === record.ttlMs) &&
    (autoExtend ?? record.autoExtend) === record.autoExtend &&
    (project ?? record.project) === record.project
  );
}
