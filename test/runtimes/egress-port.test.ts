import type { Duplex } from "node:stream";
import { describe, expect, it } from "vitest";
import { LocalRuntime } from "../../src/runtimes/local/runtime.ts";
import { exec } from "../kit/runtime-conformance-commands.ts";

const never = new AbortController().signal;
const { available } = await new LocalRuntime().check(never);

/** Says what it was opened for, and answers every connection with what it read. */
class EchoingEgress {
  readonly opened: unknown[] = [];
  closed = 0;

  open(options: unknown) {
    this.opened.push(options);
    return {
      accept: (connection: Duplex) => void connection.pipe(connection),
      close: () => {
        this.closed += 1;
      },
    };
  }
}

describe.runIf(available)("the proxy port of a local sandbox", () => {
  it("B08 carries what user code sends to it to the host, and back", async () => {
    const egress = new EchoingEgress();
    const runtime = new LocalRuntime({ egress });
    const sandbox = await runtime.create({ sessionId: "s1", network: { allow: ["example.org"] } }, never);
    expect(egress.opened).toEqual([{ allow: ["example.org"], sessionId: "s1" }]);
    const code = `import os, socket, urllib.parse
proxy = urllib.parse.urlsplit(os.environ["HTTPS_PROXY"])
sent = b"0123456789" * 200_000
connection = socket.create_connection((proxy.hostname, proxy.port))
import threading
threading.Thread(target=lambda: (connection.sendall(sent), connection.shutdown(socket.SHUT_WR))).start()
came = b""
while data := connection.recv(65536): came += data
print(came == sent)`;
    expect((await exec(sandbox, ["python3", "-c", code])).stdout.text).toBe("True\n");
    await sandbox.stop();
    expect(egress.closed).toBe(1);
    await runtime.close();
  });

  it("is not there, and no list is promised, where nobody serves it", async () => {
    const runtime = new LocalRuntime();
    await expect(runtime.create({ network: { allow: ["example.org"] } }, never)).rejects.toMatchObject({
      error: "runtime_unavailable",
    });
    await expect(runtime.create({ image: "debian" }, never)).rejects.toMatchObject({ error: "runtime_unavailable" });
    const sandbox = await runtime.create({ network: { allow: [] } }, never);
    const code = "import socket; socket.create_connection(('127.0.0.1', 3128))";
    expect((await exec(sandbox, ["python3", "-c", code])).stderr.text).toContain("ConnectionRefusedError");
    await runtime.close();
  });
});
