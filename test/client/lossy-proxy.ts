import * as net from "node:net";

/** A way to a server on which answers get lost. */
export interface LossyProxy extends AsyncDisposable {
  readonly url: string;
  /** Cuts the connection at the first byte of the next answer. */
  loseNextAnswer(): void;
}

/** Stands between a client and a real server, byte for byte, until it is told to lose an answer. */
export async function startLossyProxy(target: string): Promise<LossyProxy> {
  const { port, hostname } = new URL(target);
  let losing = false;
  const sockets = new Set<net.Socket>();
  const proxy = net.createServer((client) => {
    const server = net.connect(Number(port), hostname);
    for (const socket of [client, server]) {
      sockets.add(socket);
      socket.on("error", () => socket.destroy());
      socket.on("close", () => [client, server].forEach((end) => end.destroy()));
    }
    client.pipe(server);
    server.on("data", (chunk) => {
      if (!losing) return void client.write(chunk);
      losing = false;
      client.resetAndDestroy();
    });
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  // A server that listens on a port has an address with one.
  const address = proxy.address() as net.AddressInfo;
  return {
    url: `http://127.0.0.1:${address.port}`,
    loseNextAnswer: () => (losing = true),
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => proxy.close(resolve));
    },
  };
}
