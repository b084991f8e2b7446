import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";

/** What a sandbox's own server has seen. */
export interface SandboxApp extends AsyncDisposable {
  readonly port: number;
  readonly requests: IncomingMessage[];
  /** Connections that became WebSockets; whatever comes on them is sent back as it is. */
  readonly sockets: Duplex[];
}

/** Starts what a program in a sandbox would: an HTTP server on loopback, whose WebSockets greet and then echo bytes. */
export async function appInSandbox(listener: RequestListener): Promise<SandboxApp> {
  const requests: IncomingMessage[] = [];
  const sockets: Duplex[] = [];
  const server = createServer((incoming, outgoing) => {
    requests.push(incoming);
    listener(incoming, outgoing);
  });
  server.on("upgrade", (incoming: IncomingMessage, socket: Duplex, head: Buffer) => {
    requests.push(incoming);
    if (incoming.url === "/refuse") {
      socket.end("HTTP/1.1 403 Forbidden\r\ncontent-length: 2\r\n\r\nno");
      return;
    }
    sockets.push(socket);
    socket.on("error", () => socket.destroy());
    const accept = createHash("sha1")
      .update(`${incoming.headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
      .digest("base64");
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    );
    socket.write(Buffer.from([0x81, 5, ...Buffer.from("hello")]));
    if (head.length > 0) socket.write(head);
    socket.pipe(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port, // a TCP server that listens has one
    requests,
    sockets,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
