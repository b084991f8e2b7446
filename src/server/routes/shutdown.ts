import { ShutdownRequest } from "../../core/protocol.ts";
import type { Engine } from "../../engine/engine.ts";
import { type AnyRoute, route } from "../route.ts";

/** Ends the server on a client's word; `stop` is called once the sessions are over and the answer is on its way. */
export function shutdownRoutes(engine: Engine, stop: () => void): readonly AnyRoute[] {
  return [
    route({
      method: "post",
      path: "/api/v1/server/shutdown",
      operation: "server:shutdown",
      summary: "Stop the server",
      description: "Running calls end by the drain deadline, or at once with `force`. Sessions are always cleaned up.",
      body: ShutdownRequest,
      badBody: "unprocessable",
      enveloped: false,
      async handle({ body, outgoing }) {
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
