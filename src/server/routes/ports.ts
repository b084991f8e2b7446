import { z } from "zod";
import type { ExposedPort } from "../../core/exposed-port.ts";
import type { Engine } from "../../engine/engine.ts";
import type { SandboxLoan } from "../../engine/sandbox-loans.ts";
import { borrowNamed } from "../borrow-named.ts";
import { type Reply, succeed } from "../reply.ts";
import { type AnyRoute, route, type RouteRequest } from "../route.ts";

const PATH = "/api/v1/session/:session_id/ports";

const ExposeRequest = z.strictObject({
  port: z.int().min(1).max(65_535),
  /** Milliseconds until the way in closes; `limits.port_ticket_ms` by default, `limits.max_port_ticket_ms` at most. */
  ttl_ms: z.number().positive().nullish(),
});

/** The ports of a session's sandbox that are open to the outside. */
export function portRoutes(engine: Engine): readonly AnyRoute[] {
  const { ports } = engine;
  const within = async (
    operation: string,
    request: RouteRequest<unknown>,
    run: (loan: SandboxLoan) => unknown,
  ): Promise<Reply> => {
    const loan = await borrowNamed(engine, request, { verb: "execute", client: request.outgoing, kind: "transfer" });
    try {
      const { id, resource } = loan.record;
      return succeed({ operation, resourceType: resource, sessionId: id }, run(loan));
    } finally {
      loan.end();
    }
  };
  const statuses = { 404: "There is no such session" };
  return [
    route({
      method: "post",
      path: PATH,
      access: "execute",
      operation: "ports:expose",
      summary: "Open a port of a session's sandbox to the outside, under a URL with a ticket",
      body: ExposeRequest,
      enveloped: true,
      statuses: { ...statuses, 503: "The session's runtime cannot connect to ports" },
      handle: (request) =>
        within("ports:expose", request, ({ record }) => {
          const { port, ttl_ms: ttlMs } = request.body;
          const { url, ticket, ...way } = ports.of(record).expose(port, { ttlMs: ttlMs ?? undefined });
          return { ...describe(way), url, ticket };
        }),
    }),
    route({
      method: "get",
      path: PATH,
      access: "execute",
      operation: "ports:list",
      summary: "List the ways in to a session's ports; their tickets are not told again",
      enveloped: true,
      statuses,
      handle: (request) =>
        within("ports:list", request, ({ record }) => ({ ports: ports.of(record).list().map(describe) })),
    }),
    route({
      method: "delete",
      path: `${PATH}/:port`,
      access: "execute",
      operation: "ports:unexpose",
      summary: "Close every way in to a port, and what is connected through them",
      enveloped: true,
      statuses,
      handle: (request) =>
        within("ports:unexpose", request, ({ record }) => {
          const port = Number(request.path["port"]);
          return { port, closed: ports.of(record).unexpose(port) };
        }),
    }),
  ];
}

function describe({ id, port, createdAt, expiresAt }: ExposedPort) {
  return { id, port, created_at: createdAt.toISOString(), expires_at: expiresAt.toISOString() };
}
