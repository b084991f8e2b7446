import type { Duplex } from "node:stream";
import type { ConnectionTransport } from "puppeteer-core";
import { WebSocket } from "ws";

/** The most that one message may hold: a picture of a long page, say. */
const MAX_PAYLOAD_BYTES = 128 * 1024 * 1024;

/** Carries the debugger's messages over a connection into the sandbox. */
export async function openTransport(socket: Duplex, path: string, signal: AbortSignal): Promise<ConnectionTransport> {
  const webSocket = new WebSocket(`ws://127.0.0.1${path}`, {
    // ws asks for a net.Socket and uses what every duplex stream has.
    createConnection: () => socket as never,
    maxPayload: MAX_PAYLOAD_BYTES,
    perMessageDeflate: false,
  });
  await new Promise<void>((resolve, reject) => {
    const abort = () => {
      webSocket.terminate();
      reject(signal.reason);
    };
    signal.addEventListener("abort", abort, { once: true });
    webSocket.once("open", () => {
      signal.removeEventListener("abort", abort);
      resolve();
    });
    webSocket.once("error", reject);
  });
  const transport: ConnectionTransport = {
    send: (message) => webSocket.send(message),
    close: () => webSocket.close(),
  };
  // Text by the protocol.
  webSocket.on("message", (data: Buffer) => transport.onmessage?.(data.toString("utf8")));
  webSocket.on("close", () => transport.onclose?.());
  // Told by its close, which follows.
  webSocket.on("error", () => undefined);
  return transport;
}
