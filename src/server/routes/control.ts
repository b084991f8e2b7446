import { z } from "zod";
import type { ControlHolder } from "../../core/control.ts";
import { MAX_NAME_LENGTH } from "../../core/protocol.ts";
import type { Engine } from "../../engine/engine.ts";
import type { SessionRecord } from "../../engine/session-record.ts";
import { demand } from "../auth/identity.ts";
import { checkName } from "../caller.ts";
import { type Reply, succeed } from "../reply.ts";
import { type AnyRoute, route, type RouteRequest } from "../route.ts";

const PATH = "/api/v1/sandbox/:session_id/control";
const Lease = z.string().min(1).max(MAX_NAME_LENGTH);

const TakeRequest = z
  .strictObject({
    /** Shown to who is refused. */
    holder: z.string().min(1).max(MAX_NAME_LENGTH).default("A human"),
    /** Milliseconds without an input until it runs out. */
    ttl_ms: z.number().min(1).nullish(),
    /** The lease that is to be renewed. */
    lease: Lease.nullish(),
    /** Takes it from another human. */
    force: z.boolean().default(false),
  })
  .prefault({});
const ReleaseRequest = z.strictObject({ lease: Lease });

/** Who controls a session's desktop and terminals: everybody who may call its tools, until a human takes control. */
export function controlRoutes(engine: Engine): readonly AnyRoute[] {
  const { leases, router } = engine;
  const within = async (
    operation: string,
    { identity, path }: RouteRequest<unknown>,
    run: (record: SessionRecord) => unknown,
  ): Promise<Reply> => {
    const record = await router.findById(identity.tenant, path["session_id"] ?? "");
    demand(identity, operation === "control:status" ? "read" : "execute", record.resource);
    return succeed({ operation, resourceType: record.resource, sessionId: record.id }, run(record));
  };
  const statuses = { 404: "There is no such session", 409: "Another human has control" };
  return [
    route({
      method: "post",
      path: `${PATH}/take`,
      access: "execute",
      operation: "control:take",
      summary: "Take control of a session's desktop and terminals: an agent's input is refused until it is released",
      description: "Answers a lease, which is the holder's alone: it goes with input, renews, and releases.",
      body: TakeRequest,
      enveloped: true,
      statuses,
      handle: (request) =>
        within("control:take", request, (record) => {
          const { holder, ttl_ms: ttlMs, lease: renewed, force } = request.body;
          const { id, ...held } = leases.take(record, {
            holder: checkName("holder", holder),
            ttlMs: ttlMs ?? undefined,
            lease: renewed ?? undefined,
            force,
          });
          return { lease: id, ...describe(held) };
        }),
    }),
    route({
      method: "post",
      path: `${PATH}/release`,
      access: "execute",
      operation: "control:release",
      summary: "Give control of a session back",
      body: ReleaseRequest,
      enveloped: true,
      statuses,
      handle: (request) =>
        within("control:release", request, (record) => ({ released: leases.release(record, request.body.lease) })),
    }),
    route({
      method: "get",
      path: PATH,
      access: "read",
      operation: "control:status",
      summary: "Tell who has control of a session",
      enveloped: true,
      statuses: { 404: "There is no such session" },
      handle: (request) =>
        within("control:status", request, (record) => {
          const held = leases.holderOf(record);
          return { taken: held !== null, ...(held !== null && describe(held)) };
        }),
    }),
  ];
}

function describe({ holder, since, expiresAt }: ControlHolder) {
  return { holder, since: since.toISOString(), expires_at: expiresAt.toISOString() };
}
