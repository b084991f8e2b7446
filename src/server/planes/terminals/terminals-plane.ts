import type { Engine } from "../../../engine/engine.ts";
import { mayDo } from "../../auth/identity.ts";
import { borrowNamed } from "../../borrow-named.ts";
import type { StreamClients } from "../../stream-clients.ts";
import type { Plane, PlaneRequest } from "../plane.ts";
import { isTrue } from "../query-flag.ts";
import { viewerHandshake } from "../viewer-handshake.ts";
import { TerminalConnection } from "./terminal-connection.ts";
import { TTYD_PROTOCOL } from "./ttyd-messages.ts";

/** The largest message of a viewer's; larger ones end the connection. */
const MAX_MESSAGE_BYTES = 65_536;

/**
 * `/ws/term/{session_id}`: the terminals of sessions, for viewers that speak ttyd's protocol.
 *
 * Who may only `read` the resource, or asks with `view=true`, watches and types nothing.
 */
export function terminalsPlane(engine: Engine, clients: StreamClients): readonly Plane[] {
  const server = viewerHandshake(TTYD_PROTOCOL, MAX_MESSAGE_BYTES);
  const open = async ({ incoming, socket, head, path, query, identity }: PlaneRequest): Promise<void> => {
    const leave = clients.enter();
    socket.once("close", leave);
    const loan = await borrowNamed(engine, { identity, path }, { verb: "read", client: socket, kind: "connection" });
    try {
      const terminal = await engine.terminals.of(loan.record).get(query.get("terminal") ?? undefined);
      const viewOnly = isTrue(query.get("view")) || !mayDo(identity, "execute", loan.record.resource);
      const lease = query.get("lease") ?? undefined;
      server.handleUpgrade(incoming, socket, head, (viewer) => {
        new TerminalConnection({ engine, loan, terminal, socket: viewer, viewOnly, lease }).run();
      });
      // A handshake that `ws` itself refuses ends the socket without a word to us.
      socket.once("close", () => loan.end());
    } catch (error) {
      loan.end();
      throw error;
    }
  };
  const facts = {
    summary: "Watch a session's terminal and type in it, in ttyd's protocol",
    access: "read",
    open,
  } as const;
  return [
    { ...facts, path: "/ws/term/:session_id", operation: "terminal:connect", ticketPurpose: ":session_id" },
    // Where ttyd's own page looks for it, under the page's address.
    { ...facts, path: "/ws/term/:session_id/ws", operation: "terminal:connect_page", ticketPurpose: ":session_id" },
  ];
}
