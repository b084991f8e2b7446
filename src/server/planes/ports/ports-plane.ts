import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { Logger } from "../../../core/context.ts";
import { ToolyardError } from "../../../core/errors.ts";
import type { CrossingWatch } from "../../auth/crossing-watch.ts";
import type { OpenStreams } from "../../auth/open-streams.ts";
import type { HttpLimits } from "../../http-limits.ts";
import { refusal } from "../../refusal.ts";
import type { StreamClients } from "../../stream-clients.ts";
import { refuseSocket } from "../refuse-socket.ts";
import { PortDoor, type PortDoorOptions } from "./port-door.ts";
import { proxyHttp } from "./port-http.ts";
import { proxyWebSocket } from "./port-websocket.ts";

export interface PortsPlaneOptions extends PortDoorOptions {
  readonly streams: OpenStreams;
  readonly crossings: CrossingWatch;
  readonly clients: StreamClients;
  readonly limits: HttpLimits;
  readonly logger: Logger;
}

/** Serves what the sandboxes' own servers answer, under `/ports/` or on origins of their own. */
export class PortsPlane {
  readonly #options: PortsPlaneOptions;
  readonly #door: PortDoor;

  constructor(options: PortsPlaneOptions) {
    this.#options = options;
    this.#door = new PortDoor(options);
  }

  takes(incoming: IncomingMessage): boolean {
    return this.#door.takes(incoming);
  }

  /** Answers a request; never throws. */
  async request(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    try {
      await this.#within(incoming, outgoing, (visit) => proxyHttp(this.#options, visit, incoming, outgoing));
    } catch (error) {
      const known = this.#toKnown(error);
      // What has begun cannot be answered otherwise: it is broken off, so that it does not look whole.
      if (outgoing.headersSent) outgoing.destroy();
      else {
        const { status, body, headers } = refusal("ports", known);
        const close = incoming.complete ? {} : { connection: "close" };
        outgoing.writeHead(status, { "content-type": "application/json", ...headers, ...close });
        outgoing.end(JSON.stringify(body));
      }
    }
  }

  /** Answers an upgrade; never throws. */
  async upgrade(incoming: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    socket.on("error", () => socket.destroy());
    try {
      await this.#within(incoming, socket, (visit) => proxyWebSocket(this.#options, visit, { incoming, socket, head }));
    } catch (error) {
      refuseSocket(socket, this.#toKnown(error));
    }
  }

  async #within(
    incoming: IncomingMessage,
    outgoing: ServerResponse | Duplex,
    run: (visit: Awaited<ReturnType<PortDoor["admit"]>>) => Promise<void>,
  ): Promise<void> {
    const { streams, clients, crossings } = this.#options;
    const visit = await this.#door.admit(incoming);
    if (visit.identity !== undefined) streams.track(visit.identity, outgoing);
    const leave = clients.enter();
    try {
      await run(visit);
    } catch (error) {
      const named = { session_id: visit.sessionId };
      if (visit.identity !== undefined) crossings.observe(visit.identity, { operation: "ports:visit" }, named);
      throw error;
    } finally {
      leave();
    }
  }

  #toKnown(error: unknown): ToolyardError {
    if (ToolyardError.is(error)) return error;
    this.#options.logger.error({ err: error }, "an exposed port failed unexpectedly");
    return new ToolyardError("internal_error", "The server failed unexpectedly", { cause: error });
  }
}
