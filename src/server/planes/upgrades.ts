import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Logger } from "../../core/context.ts";
import { ToolyardError } from "../../core/errors.ts";
import { checkAccess } from "../auth/access.ts";
import type { CrossingWatch } from "../auth/crossing-watch.ts";
import type { Doorkeeper } from "../auth/doorkeeper.ts";
import type { OpenStreams } from "../auth/open-streams.ts";
import type { HostGuard } from "../guard.ts";
import { createPathMatcher } from "../path-matcher.ts";
import type { Plane } from "./plane.ts";
import { refuseSocket } from "./refuse-socket.ts";

export interface UpgradesOptions {
  readonly planes: readonly Plane[];
  readonly guard: HostGuard;
  readonly door: Doorkeeper;
  readonly streams: OpenStreams;
  readonly crossings: CrossingWatch;
  readonly logger: Logger;
}

/** Takes over connections that ask to become WebSockets, for the plane that their path names. */
export class Upgrades {
  readonly #options: UpgradesOptions;
  readonly #find: (
    path: string,
  ) => { readonly value: Plane; readonly names: Readonly<Record<string, string>> } | undefined;

  constructor(options: UpgradesOptions) {
    this.#options = options;
    this.#find = createPathMatcher(options.planes);
  }

  /** Answers an upgrade; never throws. */
  async take(incoming: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    // A client that goes away is no failure, and an `error` that nobody hears would end the process.
    socket.on("error", () => socket.destroy());
    try {
      await this.#open(incoming, socket, head);
    } catch (error) {
      refuseSocket(socket, this.#toKnown(error, incoming));
    }
  }

  async #open(incoming: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const { guard, door, streams, crossings } = this.#options;
    const refusal = guard.check(incoming);
    if (refusal !== undefined) throw refusal;
    const { url = "/" } = incoming;
    const [place = "/"] = url.split("?", 1);
    const found = this.#find(place);
    const identity = await door.authenticate(incoming, { allowTicket: found && purposesOf(found.value, found.names) });
    if (found === undefined) throw new ToolyardError("route_not_found", `No WebSocket is at ${place.slice(0, 200)}`);
    checkAccess(identity, found.value.access);
    if (socket.destroyed) return;
    streams.track(identity, socket);
    const query = new URLSearchParams(url.slice(place.length));
    try {
      await found.value.open({ incoming, socket, head, path: found.names, query, identity });
    } catch (error) {
      crossings.observe(identity, found.value, found.names);
      throw error;
    }
  }

  #toKnown(error: unknown, incoming: IncomingMessage): ToolyardError {
    if (ToolyardError.is(error)) return error;
    this.#options.logger.error({ err: error, path: incoming.url?.split("?", 1)[0] }, "a WebSocket failed unexpectedly");
    return new ToolyardError("internal_error", "The server failed unexpectedly", { cause: error });
  }
}

/** A ticket may be for all that its purpose opens, or for this plane alone. */
function purposesOf({ ticketPurpose, operation }: Plane, names: Readonly<Record<string, string>>): readonly string[] {
  const purpose = ticketPurpose.startsWith(":") ? (names[ticketPurpose.slice(1)] ?? "") : ticketPurpose;
  return [purpose, toPlanePurpose(operation, purpose)];
}

/** The purpose of a ticket that opens one plane and nothing else. */
export function toPlanePurpose(operation: string, purpose: string): string {
  return `${operation} ${purpose}`;
}
