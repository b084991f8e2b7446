import type { Duplex } from "node:stream";
import type { ConnectionTransport } from "puppeteer-core";
import { WebSocket } from "ws";
import { z } from "zod";

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
  // What is at the other end is hostile: whoever breaks the protocol is cut off, and nothing of it reaches the library's own code.
  webSocket.on("message", (data: Buffer) => {
    const message = data.toString("utf8");
    if (!isProtocol(message)) return webSocket.terminate();
    // It is typed as if it answered nothing; a promise that it may give must not fail by itself.
    const handling: unknown = transport.onmessage?.(message);
    void Promise.resolve(handling).catch(() => webSocket.terminate());
  });
  webSocket.on("close", () => transport.onclose?.());
  // Told by its close, which follows.
  webSocket.on("error", () => undefined);
  return transport;
}

const Message = z.union([
  z.looseObject({ id: z.int(), sessionId: z.string().optional() }),
  z.looseObject({ method: z.string(), params: z.record(z.string(), z.unknown()), sessionId: z.string().optional() }),
]);

/** Whether it is an answer or an event of the debugger's protocol. */
function isProtocol(text: string): boolean {
  try {
    return Message.safeParse(JSON.parse(text)).success;
  } catch {
    return false;
  }
}
