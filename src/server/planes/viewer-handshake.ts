import { WebSocketServer } from "ws";

/** Makes WebSockets of viewers' upgrades: with the one subprotocol if they offer it, uncompressed, in messages of a bounded size. */
export function viewerHandshake(subprotocol: string, maxMessageBytes: number): WebSocketServer {
  return new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: maxMessageBytes,
    handleProtocols: (offered) => (offered.has(subprotocol) ? subprotocol : false),
  });
}
