import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { engineSocket } from "./docker-engine.ts";

/** `hang` takes requests and never answers; `refuse` breaks every connection; `keep` answers removals with an error. */
export type EngineFault = "none" | "hang" | "refuse" | "keep";

/** A way to the engine on which things go wrong as a test says. */
export interface EngineProxy {
  readonly socket: string;
  fault: EngineFault;
}

const REFUSAL = '{"message":"driver failed to remove root filesystem: device busy"}';

/** Stands between a runtime and the engine until the test is over. */
export async function startEngineProxy(folder: string): Promise<EngineProxy> {
  const sockets = new Set<Socket>();
  let fault: EngineFault = "none";
  const proxy = createServer((client) => {
    if (fault === "refuse") return void client.destroy();
    const engine = connect(engineSocket);
    for (const socket of [client, engine]) {
      sockets.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => {
        sockets.delete(socket);
        client.destroy();
        engine.destroy();
      });
    }
    // A client sends a request once the one before is answered, so each chunk that starts with a method is one.
    client.on("data", (chunk: Buffer) => {
      if (fault === "hang") return;
      if (fault === "keep" && chunk.toString("latin1", 0, 20).startsWith("DELETE /")) {
        const head = `HTTP/1.1 500 Internal Server Error\r\nContent-Type: application/json\r\n`;
        return void client.write(`${head}Content-Length: ${REFUSAL.length}\r\n\r\n${REFUSAL}`);
      }
      engine.write(chunk);
    });
    engine.on("data", (chunk: Buffer) => {
      if (fault !== "hang") client.write(chunk);
    });
  });
  const socket = join(folder, "engine.sock");
  await new Promise<void>((resolve) => proxy.listen(socket, resolve));
  onTestFinished(() => {
    for (const open of sockets) open.destroy();
    proxy.close();
  });
  return {
    socket,
    get fault() {
      return fault;
    },
    set fault(next) {
      // Whoever waits for a hung engine learns of its restart by a broken connection.
      if (fault === "hang" || next === "refuse") for (const open of sockets) open.destroy();
      fault = next;
    },
  };
}
