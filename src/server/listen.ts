import { createServer, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { getRequestListener, RequestError } from "@hono/node-server";
import { ToolyardError } from "../core/errors.ts";
import type { FetchHandler } from "./app.ts";
import type { HttpLimits } from "./http-limits.ts";
import { type DataPlane, isWebSocket } from "./planes/data-plane.ts";
import { refusal } from "./refusal.ts";
import { toResponse } from "./reply.ts";
import type { StraightRoutes } from "./straight.ts";

/** A server that accepts requests. */
export interface Listening {
  readonly url: string;
  readonly port: number;
  /** Takes no new connections and ends the idle ones; resolves when the last answer is written, or cut off after `graceMs`. */
  close(graceMs: number): Promise<void>;
}

/**
 * Connections that the kernel keeps for a server that is busy; what overruns it comes back with a SYN a second later, or three.
 * Node's own is 511, and a harness of thousands opens more at once. The kernel's `somaxconn` bounds it.
 */
const ACCEPT_QUEUE = 4_096;

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  readonly limits: HttpLimits;
  /** What is none of the API's. */
  readonly plane: DataPlane;
  readonly straight: StraightRoutes;
}

/** How often Node looks for clients that are too slow. */
const SLOW_CLIENT_CHECK_MS = 1_000;
/** How often a server that closes looks for connections on which nothing runs any more. */
const IDLE_CHECK_MS = 20;

/**
 * Starts to accept requests.
 *
 * @throws Error with Node's own code (EADDRINUSE, EACCES) when the address cannot be had.
 */
export async function listen(
  fetch: FetchHandler,
  { host, port, limits, plane, straight }: ListenOptions,
): Promise<Listening> {
  const answer = getRequestListener(
    (request, env) => ("session" in env ? new Response(null, { status: 505 }) : fetch(request, env as never)),
    { hostname: host, errorHandler },
  );
  const server = createServer(
    {
      maxHeaderSize: limits.headerBytes,
      headersTimeout: limits.headersTimeoutMs,
      // Of uploads; every other body is held to its own by who reads it.
      requestTimeout: Math.max(limits.requestTimeoutMs, limits.uploadTimeoutMs),
      keepAliveTimeout: limits.keepAliveTimeoutMs,
      connectionsCheckingInterval: SLOW_CLIENT_CHECK_MS,
      // Other upgrades that clients offer (h2c) are passed over; before Node 24.9 they are refused.
      shouldUpgradeCallback: isWebSocket,
    },
    (incoming, outgoing) => {
      if (plane.takesRequest(incoming, outgoing) || straight.takes(incoming, outgoing)) return;
      void answer(incoming, outgoing);
    },
  );
  server.on("upgrade", (incoming, socket, head) => plane.upgrade(incoming, socket, head));
  const connections = trackConnections(server);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ port, host, backlog: ACCEPT_QUEUE }, resolve);
  });
  const address = server.address() as AddressInfo; // a TCP server that listens has one
  const name = host.includes(":") ? `[${host}]` : host === "0.0.0.0" ? "127.0.0.1" : host;
  return {
    url: `http://${name}:${address.port}`,
    port: address.port,
    close: (graceMs) => closeServer(server, connections, graceMs),
  };
}

/** Answers what could not even be made a request of, such as one whose Host names a port that is none. */
function errorHandler(cause: unknown): Response {
  const error =
    cause instanceof RequestError
      ? new ToolyardError("invalid_request", "The request's path and Host make no URL", { cause })
      : new ToolyardError("internal_error", "The server failed unexpectedly", { cause });
  return toResponse(refusal("http", error));
}

function trackConnections(server: Server): ReadonlySet<Socket> {
  const connections = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    connections.add(socket);
    socket.once("close", () => connections.delete(socket));
  });
  return connections;
}

async function closeServer(server: Server, connections: ReadonlySet<Socket>, graceMs: number): Promise<void> {
  const cutOff = setTimeout(() => {
    server.closeAllConnections();
    // Those that became WebSockets are none of HTTP's any more.
    for (const socket of connections) socket.destroy();
  }, graceMs);
  // A connection whose last answer ends now, such as a stream's, is idle only then.
  const idle = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS);
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
    server.closeIdleConnections();
    // Those that some clients open ahead and have sent nothing on; to Node they are busy.
    for (const socket of connections) if (socket.bytesRead === 0) socket.destroy();
  });
  clearTimeout(cutOff);
  clearInterval(idle);
}
