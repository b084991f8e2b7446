import { ShutdownRequest } from "../../core/protocol.ts";
import type { Engine } from "../../engine/engine.ts";
import type { AuditTrail } from "../auth/audit-trail.ts";
import { type AnyRoute, route } from "../route.ts";

/** Ends the server on a client's word; `stop` is called once the sessions are over and the answer is on its way. */
export function shutdownRoutes(engine: Engine, audit: AuditTrail, stop: () => void): readonly AnyRoute[] {
  return [
    route({
      method: "post",
      path: "/api/v1/server/shutdown",
      access: "server:admin",
      operation: "server:shutdown",
      summary: "Stop the server",
      description: "Running calls end by the drain deadline, or at once with `force`. Sessions are always cleaned up.",
      body: ShutdownRequest,
      badBody: "unprocessable",
      enveloped: false,
      async handle({ body, identity, outgoing }) {
        const { tenant, keyId } = identity;
        audit.record("server.shutdown", "done", { tenant, keyId, data: { force: body.force } });
        const cleaned = await engine.stop({ force: body.force });
        // The client may be gone by now, and the server must stop all the same.
        if (outgoing.closed) stop();
        else outgoing.once("close", stop);
        return {
          status: 200,
          body: { status: "success", message: "The server is stopping", sessions_cleaned: cleaned },
          headers: { connection: "close" },
        };
      },
    }),
  ];
}
