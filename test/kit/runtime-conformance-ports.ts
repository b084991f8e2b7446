import { once } from "node:events";
import { get } from "node:http";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { SandboxInstance, SandboxRuntime } from "../../src/core/runtime.ts";
import { ability, readLog, spawn } from "./runtime-conformance-commands.ts";

const never = new AbortController().signal;

/** Sends back what it reads, then the end; prints `on` when it listens. */
const ECHO = `import socket, threading
listener = socket.create_server(("127.0.0.1", 4000))
print("on", flush=True)
def serve(connection):
    while data := connection.recv(65536): connection.sendall(data)
    connection.close()
while True:
    threading.Thread(target=serve, args=listener.accept()[:1]).start()`;

/** What a runtime must do whose sandboxes' ports can be connected to. */
export function describePorts(name: string, create: () => SandboxRuntime): void {
  describe(`${name} connects to ports as agreed`, () => {
    let runtime: SandboxRuntime;
    let sandbox: SandboxInstance;
    beforeAll(async () => {
      runtime = create();
      sandbox = await runtime.create({}, never);
      const listening = async (line: string, port: number) => {
        await spawn(sandbox, line);
        await vi.waitFor(async () => (await connect(port)).destroy(), { timeout: 40_000, interval: 50 });
      };
      await ability(sandbox.files, "files").write("echo.py", Buffer.from(ECHO), {}, never);
      await listening("python3 echo.py", 4000);
      await listening("python3 -m http.server 4001 --bind 127.0.0.1", 4001);
    });
    afterAll(async () => {
      await sandbox.stop();
      await runtime.close?.();
    });
    const connect = (port: number, signal = never) => ability(sandbox.connect?.(port, signal), "connect");

    it("carries many bytes both ways, and each end by itself", async () => {
      const sent = Buffer.alloc(5_000_000, "0123456789");
      const duplex = await connect(4000);
      const coming = text(duplex);
      duplex.end(sent);
      expect(await coming).toBe(sent.toString());
    });

    it("waits for a reader that takes nothing, and others do not wait for it", async () => {
      const idle = await connect(4000);
      let written = 0;
      while (idle.write(Buffer.alloc(64 * 1024)) || idle.writableLength < 1 << 20) written += 1;
      expect(written).toBeLessThan(200);
      const other = await connect(4000);
      other.end("hello");
      expect(await text(other)).toBe("hello");
      idle.destroy();
    });

    it("serves HTTP clients", async () => {
      const duplex = await connect(4001);
      const [response] = (await once(get({ createConnection: () => duplex, path: "/echo.py" }), "response")) as [
        NodeJS.ReadableStream & { statusCode: number },
      ];
      expect([response.statusCode, await text(response)]).toEqual([200, ECHO]);
    });

    it("says when nothing listens, or nobody waits any more", async () => {
      await expect(connect(4999)).rejects.toMatchObject({ error: "execution_error" });
      await expect(connect(0)).rejects.toMatchObject({ error: "invalid_input" });
      await expect(connect(4000, AbortSignal.abort())).rejects.toMatchObject({ error: "cancelled" });
    });

    it("tells of a connection whose sandbox died", async () => {
      const doomed = await runtime.create({}, never);
      await ability(doomed.files, "files").write("echo.py", Buffer.from(ECHO), {}, never);
      const server = await spawn(doomed, "python3 echo.py");
      await readLog(server, "on");
      const duplex = await ability(doomed.connect?.(4000, never), "connect");
      const failed = once(duplex, "error");
      await doomed.stop();
      expect(await failed).toMatchObject([{ error: "sandbox_dead" }]);
    });
  });
}
