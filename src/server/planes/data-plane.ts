import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { ToolyardError } from "../../core/errors.ts";
import { type AnyRoute, route } from "../route.ts";
import type { Plane } from "./plane.ts";
import { PortsPlane, type PortsPlaneOptions } from "./ports/ports-plane.ts";
import { refuseSocket } from "./refuse-socket.ts";
import { Upgrades } from "./upgrades.ts";

/** What passes through the server without being a call of its API: exposed ports and WebSockets. */
export interface DataPlane {
  /** Whether a request is none of the API's; it is then answered here. */
  takesRequest(incoming: IncomingMessage, outgoing: ServerResponse): boolean;
  upgrade(incoming: IncomingMessage, socket: Duplex, head: Buffer): void;
}

/** Ties the planes to the server's doors. */
export function createDataPlane(options: PortsPlaneOptions & { readonly planes: readonly Plane[] }): DataPlane {
  const ports = new PortsPlane(options);
  const upgrades = new Upgrades(options);
  return {
    takesRequest(incoming, outgoing) {
      if (!ports.takes(incoming)) return false;
      void ports.request(incoming, outgoing);
      return true;
    },
    upgrade(incoming, socket, head) {
      if (!isWebSocket(incoming)) {
        refuseSocket(socket, new ToolyardError("invalid_request", "A connection here becomes a WebSocket or nothing"));
      } else if (ports.takes(incoming)) void ports.upgrade(incoming, socket, head);
      else void upgrades.take(incoming, socket, head);
    },
  };
}

/** Whether a request asks to become a WebSocket. */
export function isWebSocket({ headers, method }: IncomingMessage): boolean {
  return method === "GET" && headers.upgrade?.toLowerCase() === "websocket";
}

/** What the planes' paths answer to who asks for no WebSocket, and what /openapi.json says of them. */
export function planeRoutes(planes: readonly Plane[]): readonly AnyRoute[] {
  return [
    ...planes.map(({ path, operation, summary, access, ticketPurpose }) =>
      route({
        method: "get",
        path,
        operation,
        summary,
        access,
        ticketPurpose,
        enveloped: false,
        statuses: { 101: "The WebSocket", 426: "The request asks for no WebSocket" },
        handle: () => {
          throw new ToolyardError("invalid_request", "This path is a WebSocket", { status: 426 });
        },
      }),
    ),
    route({
      method: "get",
      path: "/ports/:session_id/:port/*",
      operation: "ports:visit",
      summary: "Reach a port of a session's sandbox: any method, HTTP or WebSocket",
      description:
        "With the `?ticket=` of `POST /api/v1/session/{session_id}/ports`, the cookie that it becomes, or a key. What is answered is the sandbox's.",
      access: "execute",
      enveloped: false,
      statuses: { 502: "Nothing listens on the port, or it speaks no HTTP" },
      handle: () => {
        throw new ToolyardError("route_not_found", "An exposed port is at /ports/{session_id}/{port}/");
      },
    }),
  ];
}
