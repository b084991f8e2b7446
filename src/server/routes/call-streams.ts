import { ToolyardError } from "../../core/errors.ts";
import type { Verb } from "../../core/scopes.ts";
import { CallStream } from "../../engine/call-stream.ts";
import type { Engine } from "../../engine/engine.ts";
import { demand, type Identity } from "../auth/identity.ts";
import { demandUse } from "../auth/tool-access.ts";
import { expiredCursor, unknownCursor } from "../event-cursor.ts";
import { createCallSource } from "../event-source.ts";
import { succeed, toEnvelope } from "../reply.ts";
import { type AnyRoute, route } from "../route.ts";
import { toSseReply } from "../sse.ts";
import type { StreamClients } from "../stream-clients.ts";

/** `/api/v1/calls/{call_id}`: streamed calls, for a client that comes back. */
export function callStreamRoutes(engine: Engine, clients: StreamClients): readonly AnyRoute[] {
  const find = async (callId: string, identity: Identity, verb: Verb): Promise<CallStream> => {
    const { tenant } = identity;
    const stream = engine.streams.find(tenant, callId);
    if (stream !== undefined) {
      if (stream.resource !== undefined) demand(identity, verb, stream.resource);
      return stream;
    }
    const recalled = await engine.streams.recall(tenant, callId);
    if (recalled === undefined) {
      throw new ToolyardError("unknown_name", "There is no such streamed call", {
        suggestion: "A streamed call can be read while it runs, and its result for limits.idempotency_retention_ms.",
      });
    }
    const { action, number, result } = recalled;
    demandUse(engine.catalog, identity, verb, action);
    return CallStream.restored({ callId, tenant, number, envelope: JSON.stringify(toEnvelope(result)) });
  };
  return [
    route({
      method: "get",
      path: "/api/v1/calls/:call_id/stream",
      access: "read",
      ticketPurpose: "call",
      operation: "call:stream",
      summary: "Read a streamed call again, or go on after `Last-Event-ID`",
      enveloped: false,
      queryNames: { after: false },
      statuses: { 404: "There is no such call or event", 410: "What followed the event is no longer held" },
      async handle({ path, query, identity, incoming }) {
        const stream = await find(path["call_id"] ?? "", identity, "read");
        const header = incoming.headers["last-event-id"];
        const cursor = (typeof header === "string" && header !== "" ? header : undefined) ?? query.get("after");
        const after = cursor === null ? 0 : locate(stream, cursor);
        const source = createCallSource(stream, after, clients.enter());
        return toSseReply(source, engine.clock, engine.limits.streamHeartbeatMs);
      },
    }),
    route({
      method: "post",
      path: "/api/v1/calls/:call_id/cancel",
      access: "execute",
      operation: "call:cancel",
      summary: "Cancel a streamed call",
      enveloped: true,
      statuses: { 404: "There is no such streamed call" },
      async handle({ path, identity }) {
        const stream = await find(path["call_id"] ?? "", identity, "execute");
        const cancelled = !stream.ended;
        const reason = new ToolyardError("cancelled", "The call was cancelled by its caller");
        stream.cancellation.cancel(reason);
        // At once: who waits for a keyed call and goes away gets a grace to come back in, which is not meant here.
        engine.executor.cancel(stream.callId, reason);
        return succeed({ operation: "call:cancel" }, { call_id: stream.callId, cancelled });
      },
    }),
  ];
}

function locate(stream: CallStream, cursor: string): number {
  if (cursor === "0") return 0;
  const [, callId, digits] = /^([^:]*):([1-9]\d{0,14})$/.exec(cursor) ?? [];
  if (callId !== stream.callId) throw unknownCursor();
  const number = Number(digits);
  const state = stream.locate(number);
  if (state === "unknown") throw unknownCursor();
  if (state === "expired") throw expiredCursor();
  return number;
}
