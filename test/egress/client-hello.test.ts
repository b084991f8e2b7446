import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { connect } from "node:tls";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { readOpening } from "../../src/egress/client-hello.ts";

/** What Node's own TLS sends first. */
async function clientHello(servername?: string): Promise<Buffer> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const socket = connect({ port, host: "127.0.0.1", ...(servername !== undefined && { servername }) });
  socket.on("error", () => {});
  const [accepted] = (await once(server, "connection")) as [Socket];
  const [bytes] = (await once(accepted, "data")) as [Buffer];
  socket.destroy();
  accepted.destroy();
  server.close();
  return bytes;
}

describe("client hello", () => {
  let named: Buffer;
  beforeAll(async () => {
    named = await clientHello("example.org");
  });

  it("says which server a client means", async () => {
    expect(readOpening(named)).toEqual({ kind: "tls", serverName: "example.org" });
    expect(readOpening(await clientHello())).toEqual({ kind: "tls", serverName: null });
  });

  it("waits for the rest, wherever it was cut", () => {
    for (let length = 0; length < named.length; length += 1)
      expect(readOpening(named.subarray(0, length))).toEqual({ kind: "incomplete" });
    expect(readOpening(Buffer.concat([named, Buffer.from([23, 3, 3, 0, 1, 0])])).kind).toBe("tls");
  });

  it("reads one that is spread over several records", () => {
    const body = named.subarray(5);
    const records = [body.subarray(0, 1), body.subarray(1, 40), body.subarray(40)].flatMap((part) => [
      Buffer.from([22, 3, 1, part.length >> 8, part.length & 255]),
      part,
    ]);
    expect(readOpening(Buffer.concat(records))).toEqual({ kind: "tls", serverName: "example.org" });
  });

  it.each(["GET / HTTP/1.1\r\n\r\n", "SSH-2.0-x\r\n", "\u0016\u0000", "\u0016\u0003\u0001\u0000\u0000"])(
    "takes %j for something else",
    (text) => {
      expect(readOpening(Buffer.from(text, "latin1"))).toEqual({ kind: "other" });
    },
  );

  it("never throws, whatever it is given", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 600 }), fc.nat(named.length - 1), fc.nat(255), (bytes, at, value) => {
        const damaged = Buffer.from(named);
        damaged[at] = value;
        for (const each of [Buffer.from(bytes), Buffer.concat([Buffer.from([22, 3, 1]), bytes]), damaged])
          expect(["tls", "other", "incomplete"]).toContain(readOpening(each).kind);
      }),
      { numRuns: 2_000 },
    );
  });
});
