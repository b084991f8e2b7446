import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import type { Egress } from "../../src/core/egress.ts";
import type { Kernel, NetworkPolicy, SandboxRuntime } from "../../src/core/runtime.ts";
import { createEgress } from "../../src/egress/egress.ts";
import { recordingLogger } from "./recording-logger.ts";
import { run } from "./runtime-conformance.ts";

const never = new AbortController().signal;

/** Prints what a request came to: the status and the body, or the kind of error. */
const fetchFrom = (url: string) => `
import urllib.request, urllib.error
try:
    with urllib.request.urlopen(${JSON.stringify(url)}, timeout=30) as answer:
        print(answer.status, answer.read().decode())
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode().strip())
except Exception as error:
    print(type(error).__name__, error)
`;

/** Prints whether a name can be resolved and an address be connected to, past every proxy. */
const REACH = (port: number) => `
import socket
def attempt(work):
    try:
        work()
        return "reached"
    except OSError:
        return "nothing"
print(attempt(lambda: socket.getaddrinfo("shop.test", 80)))
print(attempt(lambda: socket.create_connection(("127.0.0.1", ${port}), 2)))
print(attempt(lambda: socket.create_connection(("1.1.1.1", 53), 2)))
`;

/** What a runtime must do whose sandboxes reach the hosts of their policy, and nothing else. */
export function describeEgress(name: string, create: (egress: Egress) => SandboxRuntime): void {
  describe(`${name} lets out what its policy lists`, () => {
    let server: Server;
    let runtime: SandboxRuntime;
    let port = 0;
    const looked: string[] = [];

    beforeAll(async () => {
      server = createServer((incoming, response) =>
        response.end(`you asked ${incoming.headers.host} for ${incoming.url}`),
      );
      server.listen(0, "127.0.0.1");
      await once(server, "listening");
      port = (server.address() as AddressInfo).port;
      const lookup = async (host: string) => (looked.push(host), ["127.0.0.1"]);
      const egress = createEgress({
        clock: systemClock,
        logger: recordingLogger(),
        allowedAddresses: ["127.0.0.0/8"],
        lookup,
      });
      runtime = create(egress);
    });
    afterAll(async () => {
      await runtime.close?.();
      server.close();
    });

    async function inSandbox<T>(network: NetworkPolicy, work: (kernel: Kernel) => Promise<T>): Promise<T> {
      const sandbox = await runtime.create({ network }, never);
      try {
        return await work(await sandbox.openKernel("python", never));
      } finally {
        await sandbox.stop();
      }
    }

    it("B08 reaches a listed host through the host, and no other", async () => {
      await inSandbox({ allow: [`shop.test:${port}`] }, async (kernel) => {
        const own = await run(kernel, fetchFrom(`http://shop.test:${port}/a?b`));
        expect(own.stdout.text).toBe(`200 you asked shop.test:${port} for /a?b\n`);
        const other = await run(kernel, fetchFrom(`http://evil.test:${port}/`));
        expect(other.stdout.text).toMatch(/^403 toolyard: evil\.test:\d+ is not on this sandbox's list of hosts/);
        expect(looked).toEqual(["shop.test"]);
      });
    });

    it("B07 reaches nothing past the proxy: no name, no address, not the host's own ports", async () => {
      await inSandbox({ allow: [`shop.test:${port}`] }, async (kernel) => {
        expect((await run(kernel, REACH(port))).stdout.text).toBe("nothing\nnothing\nnothing\n");
      });
    });

    it("B08 reaches nothing with an empty list, and nothing without one", async () => {
      for (const network of [{ allow: [] }, "none"] as const) {
        // oxlint-disable-next-line no-await-in-loop -- one sandbox at a time
        await inSandbox(network, async (kernel) => {
          const { stdout } = await run(kernel, fetchFrom(`http://shop.test:${port}/`));
          expect(stdout.text).toMatch(/^URLError/);
          expect((await run(kernel, REACH(port))).stdout.text).toBe("nothing\nnothing\nnothing\n");
        });
      }
    });

    it("refuses an entry that is no host", async () => {
      await expect(runtime.create({ network: { allow: ["http://shop.test/"] } }, never)).rejects.toMatchObject({
        error: "invalid_input",
      });
    });
  });
}
