import { WorkerRequest } from "../../core/protocol.ts";
import type { Engine } from "../../engine/engine.ts";
import { mayDo } from "../auth/identity.ts";
import { toCaller } from "../caller.ts";
import { succeed } from "../reply.ts";
import { type AnyRoute, route } from "../route.ts";

/** What a worker says of itself: heartbeat, status, goodbye. */
export function lifecycleRoutes(engine: Engine): readonly AnyRoute[] {
  const { router, clock, catalog } = engine;
  return [
    route({
      method: "post",
      path: "/api/v1/lifecycle/heartbeat",
      access: "session",
      operation: "session:heartbeat",
      summary: "Keep a worker's sessions alive",
      body: WorkerRequest,
      enveloped: true,
      handle({ body, identity }) {
        const sessions = router
          .heartbeat(toCaller(identity, body.worker_id))
          .filter(({ resource }) => mayDo(identity, "session", resource));
        return succeed(
          { operation: "session:heartbeat" },
          {
            worker_id: body.worker_id,
            active_sessions: sessions.map((session) => session.resource),
            timestamp: clock.date().toISOString(),
          },
        );
      },
    }),
    route({
      method: "post",
      path: "/api/v1/lifecycle/status",
      access: "read",
      operation: "session:status",
      summary: "Tell what a worker has",
      body: WorkerRequest,
      enveloped: true,
      handle({ body, identity }) {
        const sessions = router
          .list(toCaller(identity, body.worker_id))
          .filter(({ resource }) => mayDo(identity, "read", resource));
        return succeed(
          { operation: "session:status" },
          {
            worker_id: body.worker_id,
            active_resources: sessions.map((session) => session.resource),
            sessions: Object.fromEntries(
              sessions.map((session) => [
                session.resource,
                {
                  session_id: session.id,
                  status: session.state,
                  created_at: session.createdAt.toISOString(),
                  last_activity: router.times.activityDate(session).toISOString(),
                },
              ]),
            ),
            tools_available: catalog.size,
          },
        );
      },
    }),
    route({
      method: "post",
      path: "/api/v1/worker/disconnect",
      access: "session",
      operation: "session:disconnect",
      summary: "End all of a worker's sessions",
      description: "Running calls end first.",
      body: WorkerRequest,
      badBody: "unprocessable",
      enveloped: true,
      async handle({ body, identity }) {
        const sessions = router
          .list(toCaller(identity, body.worker_id))
          .filter(({ resource }) => mayDo(identity, "session", resource));
        await Promise.all(sessions.map((session) => router.destroy(session, "disconnected")));
        return succeed(
          { operation: "session:disconnect" },
          { worker_id: body.worker_id, sessions_cleaned: sessions.length },
        );
      },
    }),
  ];
}
