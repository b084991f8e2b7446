import { mkdtemp, rm } from "node:fs/promises";
import * as http from "node:http";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * What goes wrong with a request: `hang` takes it and never answers, `fail` answers with status 500 in the engine's way,
 * `break` closes its connection.
 */
export type EngineFault = "none" | "hang" | "fail" | "break";

/** A way to an engine on which things go wrong as a test says. */
export interface FaultyEngine extends AsyncDisposable {
  readonly socketPath: string;
  /** How many requests came, refused ones not counted. */
  readonly requests: number;
  /** Decides for each request that comes from now on; those that hang stay so. */
  plan: (method: string, path: string) => EngineFault;
  /** Stops listening, as an engine that is stopped, and breaks what is open. */
  stop(): Promise<void>;
  /** Listens again. */
  start(): Promise<void>;
}

/** Stands between a runtime and the engine whose socket is given. */
export async function startFaultyEngine(engineSocket: string): Promise<FaultyEngine> {
  const folder = await mkdtemp(join(tmpdir(), "ty-proxy-"));
  const socketPath = join(folder, "engine.sock");
  const open = new Set<Socket>();
  let requests = 0;
  const proxy: FaultyEngine = {
    socketPath,
    get requests() {
      return requests;
    },
    plan: () => "none",
    async stop() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of open) socket.destroy();
      server.closeAllConnections();
      await closed;
      await rm(socketPath, { force: true });
    },
    start: () => new Promise<void>((resolve) => server.listen(socketPath, resolve)),
    async [Symbol.asyncDispose]() {
      if (server.listening) await proxy.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
  const faultOf = (request: http.IncomingMessage) => {
    requests += 1;
    return proxy.plan(request.method ?? "", (request.url ?? "").split("?", 1)[0] ?? "");
  };
  const server = http.createServer((request, response) => {
    const fault = faultOf(request);
    if (fault === "hang") return;
    if (fault === "break") return void request.socket.destroy();
    if (fault === "fail") {
      response.writeHead(500, { "content-type": "application/json" });
      return void response.end('{"message":"a fault of the test"}');
    }
    const { method, url: path, headers } = request;
    const outgoing = http.request({ socketPath: engineSocket, method, path, headers, agent: false }, (incoming) => {
      response.writeHead(incoming.statusCode ?? 502, incoming.headers);
      // A stream that has nothing to say yet has begun all the same.
      response.flushHeaders();
      incoming.pipe(response);
    });
    outgoing.on("error", () => response.destroy());
    // Who gives up on the proxy gives up on the engine.
    response.on("close", () => outgoing.destroy());
    request.pipe(outgoing);
  });
  server.on("connection", (socket) => {
    open.add(socket);
    socket.on("close", () => open.delete(socket));
  });
  // Streams of commands leave HTTP: from there on bytes are passed as they are.
  server.on("upgrade", (request: http.IncomingMessage, socket: Socket, head: Buffer) => {
    if (faultOf(request) !== "none") return void socket.destroy();
    const engine = connect(engineSocket, () => {
      const headers = Object.entries(request.headers).map(([name, value]) => `${name}: ${String(value)}\r\n`);
      engine.write(`${request.method} ${request.url} HTTP/1.1\r\n${headers.join("")}\r\n`);
      engine.write(head);
      socket.pipe(engine).pipe(socket);
    });
    engine.on("error", () => socket.destroy());
    socket.on("error", () => engine.destroy());
  });
  await proxy.start();
  return proxy;
}
