import type { Engine } from "../../../engine/engine.ts";
import { mayDo } from "../../auth/identity.ts";
import { borrowNamed } from "../../borrow-named.ts";
import type { StreamClients } from "../../stream-clients.ts";
import type { Plane, PlaneRequest } from "../plane.ts";
import { isTrue } from "../query-flag.ts";
import { viewerHandshake } from "../viewer-handshake.ts";
import { DesktopConnection } from "./desktop-connection.ts";
import { greetDisplay } from "./display-handshake.ts";
import { DESKTOP_OPERATION } from "./stream-urls.ts";
import { MAX_CUT_TEXT_BYTES } from "./viewer-messages.ts";

/** The subprotocol that older viewers ask for; newer ones ask for none. */
const BINARY_PROTOCOL = "binary";
/** The largest message of a viewer's; larger ones end the connection. */
const MAX_MESSAGE_BYTES = MAX_CUT_TEXT_BYTES + 65_536;
/** How long the display may take to answer. */
const DISPLAY_MS = 10_000;

/**
 * `/ws/vnc/{session_id}`: the desktops of sessions, for viewers that speak RFB over a WebSocket, such as noVNC.
 *
 * Who may only `read` the resource, or asks with `view=true`, watches; whatever their viewer sends, the display never sees it.
 */
export function desktopsPlane(engine: Engine, clients: StreamClients): readonly Plane[] {
  const server = viewerHandshake(BINARY_PROTOCOL, MAX_MESSAGE_BYTES);
  const open = async ({ incoming, socket, head, path, query, identity }: PlaneRequest): Promise<void> => {
    const leave = clients.enter();
    socket.once("close", leave);
    const how = { verb: "read", client: socket, kind: "connection", needs: "desktop" } as const;
    const loan = await borrowNamed(engine, { identity, path }, how);
    const { record, signal } = loan;
    const viewOnly = isTrue(query.get("view")) || !mayDo(identity, "execute", record.resource);
    let onClose: ReturnType<typeof engine.desktops.enter> | undefined;
    try {
      onClose = engine.desktops.enter(record, viewOnly);
      const until = AbortSignal.any([signal, AbortSignal.timeout(DISPLAY_MS)]);
      const display = await loan.desktop.connectDisplay(until);
      const drop = () => display.destroy();
      socket.once("close", drop);
      const greeted = await greetDisplay(display, until);
      const facts = { viewOnly, mayResize: isTrue(query.get("resize")), lease: query.get("lease") ?? undefined };
      const over = once(onClose, () => loan.end());
      server.handleUpgrade(incoming, socket, head, (viewer) => {
        // From here on the connection ends it, after a last word.
        socket.off("close", drop);
        new DesktopConnection({ engine, loan, display, greeted, ...facts, socket: viewer, onClose: over }).run();
      });
      // A handshake that `ws` itself refuses ends the socket without a word to us.
      socket.once("close", () => over({ in: 0, out: 0 }));
    } catch (error) {
      onClose?.({ in: 0, out: 0 });
      loan.end();
      throw error;
    }
  };
  return [
    {
      path: "/ws/vnc/:session_id",
      operation: DESKTOP_OPERATION,
      summary: "Watch a session's desktop and work at it, in RFB (VNC)",
      access: "read",
      ticketPurpose: ":session_id",
      open,
    },
  ];
}

/** Whichever of two ends comes first. */
function once<T>(tell: (facts: T) => void, then: () => void): (facts: T) => void {
  let done = false;
  return (facts) => {
    if (done) return;
    done = true;
    tell(facts);
    then();
  };
}
