import { z } from "zod";
import type { Engine } from "../../engine/engine.ts";
import type { SessionRecord } from "../../engine/session-record.ts";
import { demand, type Identity, mayDo } from "../auth/identity.ts";
import { checkName } from "../caller.ts";
import { readFlag } from "../files/transfer.ts";
import { succeed } from "../reply.ts";
import { type AnyRoute, route } from "../route.ts";
import { describeSession } from "./session.ts";

const CleanupRequest = z.strictObject({ enabled: z.boolean() });

/** Sessions by their ids, whichever worker's they are: get, close, list, close all, and the cleanup in the background. */
export function sessionAdminRoutes(engine: Engine): readonly AnyRoute[] {
  const { router } = engine;
  const describe = (record: SessionRecord) => ({
    ...describeSession(router, record),
    worker_id: record.workerId,
    ttl_ms: record.ttlMs,
    auto_extend: record.autoExtend,
    ...(record.project !== undefined && { project: record.project }),
  });
  const select = ({ tenant, ...identity }: Identity, verb: "read" | "session", query: URLSearchParams) => {
    const worker = query.get("worker_id");
    const resource = query.get("resource_type");
    if (worker !== null) checkName("worker_id", worker);
    return router
      .listOf(tenant)
      .filter((record) => (worker ?? record.workerId) === record.workerId)
      .filter((record) => (resource ?? record.resource) === record.resource)
      .filter((record) => mayDo({ tenant, ...identity }, verb, record.resource));
  };
  const filters = { worker_id: false, resource_type: false };
  const statuses = { 404: "There is no such session, or it expired", 410: "Its state was lost" };
  return [
    route({
      method: "get",
      path: "/api/v1/sessions",
      access: "read",
      operation: "sessions:active",
      summary: "List the live sessions of all workers",
      enveloped: true,
      queryNames: filters,
      handle({ identity, query }) {
        const sessions = select(identity, "read", query).map(describe);
        return succeed({ operation: "sessions:active" }, { sessions, count: sessions.length });
      },
    }),
    route({
      method: "delete",
      path: "/api/v1/sessions",
      access: "session",
      operation: "sessions:close_all",
      summary: "End the live sessions of all workers, or of those that the filters name",
      description: "Running calls end first; `force=true` cancels them.",
      enveloped: true,
      queryNames: { ...filters, force: false },
      async handle({ identity, query }) {
        const force = readFlag(query, "force");
        const sessions = select(identity, "session", query);
        await Promise.all(sessions.map((record) => router.destroy(record, "destroyed", { force })));
        const closed = sessions.map(({ id }) => id);
        return succeed({ operation: "sessions:close_all" }, { closed, count: closed.length });
      },
    }),
    route({
      method: "get",
      path: "/api/v1/session/:session_id",
      access: "read",
      operation: "session:get",
      summary: "Describe one session",
      enveloped: true,
      statuses,
      async handle({ identity, path }) {
        const record = await router.findById(identity.tenant, path["session_id"] ?? "");
        demand(identity, "read", record.resource);
        return succeed(
          { operation: "session:get", resourceType: record.resource, sessionId: record.id },
          describe(record),
        );
      },
    }),
    route({
      method: "delete",
      path: "/api/v1/session/:session_id",
      access: "session",
      operation: "session:close",
      summary: "End one session",
      description: "Running calls end first; `force=true` cancels them.",
      enveloped: true,
      queryNames: { force: false },
      statuses,
      async handle({ identity, path, query }) {
        const record = await router.findById(identity.tenant, path["session_id"] ?? "");
        demand(identity, "session", record.resource);
        const over = await router.destroy(record, "destroyed", { force: readFlag(query, "force") });
        return succeed(
          { operation: "session:close", resourceType: record.resource, sessionId: record.id },
          { session_id: record.id, session_name: record.name, resource_type: record.resource, over },
        );
      },
    }),
    route({
      method: "post",
      path: "/api/v1/server/cleanup",
      access: "server:admin",
      operation: "cleanup:set",
      summary: "Start or stop the cleanup of expired sessions in the background",
      description: "While it is stopped, an expired session ends when somebody asks for it.",
      body: CleanupRequest,
      enveloped: true,
      handle({ body }) {
        if (body.enabled) engine.cleanup.start();
        else engine.cleanup.stop();
        return succeed({ operation: "cleanup:set" }, { enabled: engine.cleanup.running });
      },
    }),
  ];
}
