import { once } from "node:events";
import { createServer, request, type IncomingMessage, type Server } from "node:http";
import { type AddressInfo, connect as connectSocket, createServer as createTcpServer, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { afterEach, describe, expect, it } from "vitest";
import type { EgressDoor } from "../../src/core/egress.ts";
import { createEgress, type EgressOptions } from "../../src/egress/egress.ts";
import { ManualClock } from "../kit/manual-clock.ts";
import { recordingLogger } from "../kit/recording-logger.ts";

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

async function listen(server: Server | ReturnType<typeof createTcpServer>): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanups.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

interface Setup extends Partial<EgressOptions> {
  readonly allow: readonly string[];
  /** Where every connection goes in truth. */
  readonly connectPort?: number;
}

/** A proxy port in front of an egress door, as the supervisor's is; names resolve to loopback unless told otherwise. */
async function startProxy({ allow, connectPort, ...options }: Setup) {
  const logger = recordingLogger();
  const clock = new ManualClock();
  const egress = createEgress({
    clock,
    logger,
    allowedAddresses: ["127.0.0.0/8"],
    lookup: async () => ["127.0.0.1"],
    ...(connectPort !== undefined && { dial: () => connectSocket(connectPort, "127.0.0.1") }),
    ...options,
  });
  const door: EgressDoor = egress.open({ allow, sessionId: "s1" });
  cleanups.push(() => door.close());
  const port = await listen(createTcpServer({ allowHalfOpen: true }, (socket) => door.accept(socket)));
  return { door, port, clock };
}

async function ask(port: number, url: string, headers: Record<string, string> = {}, body?: string) {
  const outgoing = request({
    host: "127.0.0.1",
    port,
    path: url,
    method: body === undefined ? "GET" : "POST",
    headers: { host: new URL(url).host, ...headers },
  });
  outgoing.end(body);
  const [response] = (await once(outgoing, "response")) as [IncomingMessage];
  let text = "";
  for await (const chunk of response) text += chunk;
  return { status: response.statusCode, headers: response.headers, text };
}

async function tunnel(
  port: number,
  authority: string,
): Promise<{ status: number; socket: Socket; text: () => string }> {
  const socket = connectSocket(port, "127.0.0.1");
  cleanups.push(() => socket.destroy());
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
  let text = "";
  socket.on("data", (chunk) => (text += chunk));
  await once(socket, "data");
  return { status: Number(text.split(" ")[1]), socket, text: () => text };
}

/** A server that says what reached it. */
async function startRecorder() {
  const received: Buffer[] = [];
  const port = await listen(
    createTcpServer((socket) => {
      socket.on("error", () => {});
      socket.on("data", (chunk) => received.push(chunk));
      socket.write("welcome");
    }),
  );
  return { port, received };
}

describe("egress proxy", () => {
  it("fetches from a host on the list, and passes on both ways what is not for the proxy", async () => {
    const seen: IncomingMessage[] = [];
    const upstream = await listen(
      createServer((incoming, response) => {
        seen.push(incoming);
        let body = "";
        incoming.on("data", (chunk) => (body += chunk));
        incoming.on("end", () =>
          response.writeHead(201, { "x-answer": "yes", "set-cookie": ["a=1", "b=2"] }).end(`got ${body}`),
        );
      }),
    );
    const { port } = await startProxy({ allow: [`shop.example:${upstream}`] });
    const headers = { "proxy-authorization": "secret", connection: "x-hop", "x-hop": "1", "x-kept": "2" };
    const answer = await ask(port, `http://shop.example:${upstream}/a?b=c`, headers, "hello");
    expect(answer).toMatchObject({
      status: 201,
      text: "got hello",
      headers: { "x-answer": "yes", "set-cookie": ["a=1", "b=2"] },
    });
    expect(seen[0]?.url).toBe("/a?b=c");
    expect(seen[0]?.headers).toMatchObject({ host: `shop.example:${upstream}`, "x-kept": "2" });
    expect(Object.keys(seen[0]?.headers ?? {})).not.toContain("proxy-authorization");
    expect(Object.keys(seen[0]?.headers ?? {})).not.toContain("x-hop");
  });

  it.each([
    ["another host", "http://other.example/"],
    ["another port", "http://shop.example:81/"],
    ["the address of the host", "http://127.0.0.1/"],
  ])("B08 refuses %s, by name", async (_what, url) => {
    const { port } = await startProxy({ allow: ["shop.example"] });
    const answer = await ask(port, url);
    expect(answer.status).toBe(403);
    expect(answer.text).toMatch(/is not on this sandbox's list of hosts/);
    expect(answer.headers["proxy-status"]).toBe("toolyard; error=http_request_denied");
  });

  it("passes no site's answer off as its own", async () => {
    const upstream = await listen(
      createServer((_, response) => {
        response.writeHead(200, { "proxy-status": "toolyard; error=http_request_denied" });
        response.end("mine");
      }),
    );
    const { port } = await startProxy({ allow: [`shop.example:${upstream}`] });
    const answer = await ask(port, `http://shop.example:${upstream}/`);
    expect([answer.text, answer.headers["proxy-status"]]).toEqual(["mine", undefined]);
  });

  it.each(["000", "099", "101"])("answers for a host whose own answer has the status %s", async (status) => {
    const upstream = await listen(
      createTcpServer((socket) => {
        socket.on("error", () => {});
        socket.once("data", () => socket.end(`HTTP/1.1 ${status} No\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n`));
      }),
    );
    const { port } = await startProxy({ allow: [`odd.example:${upstream}`] });
    expect(await ask(port, `http://odd.example:${upstream}/`)).toMatchObject({ status: 502 });
  });

  it("B08 refuses everything with an empty list, and resolves nothing", async () => {
    const looked: string[] = [];
    const { port } = await startProxy({ allow: [], lookup: async (name) => (looked.push(name), ["127.0.0.1"]) });
    expect((await ask(port, "http://secret.data.evil.example/")).status).toBe(403);
    expect((await tunnel(port, "evil.example:443")).status).toBe(403);
    expect(looked).toEqual([]);
  });

  it("B08 refuses a Host header that names another host than the URL", async () => {
    const { port } = await startProxy({ allow: ["shop.example"] });
    expect((await ask(port, "http://shop.example/", { host: "evil.example" })).status).toBe(400);
  });

  it("B09 refuses a listed host whose address is not public", async () => {
    const { port } = await startProxy({
      allow: ["intern.example"],
      allowedAddresses: [],
      lookup: async () => ["169.254.169.254"],
    });
    const answer = await ask(port, "http://intern.example/");
    expect(answer.status).toBe(403);
    expect(answer.text).toMatch(/not at a public address/);
    expect((await tunnel(port, "intern.example:443")).status).toBe(403);
  });

  it("B10 connects to the address that was judged, and never asks twice", async () => {
    const answers = [["127.0.0.1"], ["169.254.169.254"]];
    let asked = 0;
    const upstream = await listen(createServer((_incoming, response) => response.end("public")));
    const lookup = async () => answers[asked++] ?? [];
    const { port } = await startProxy({ allow: [`rebind.example:${upstream}`], lookup });
    expect((await ask(port, `http://rebind.example:${upstream}/`)).text).toBe("public");
    expect(asked).toBe(1);
    expect((await ask(port, `http://rebind.example:${upstream}/`)).status).toBe(403);
  });

  it("tunnels TLS for the host that CONNECT named", async () => {
    const recorder = await startRecorder();
    const { port } = await startProxy({ allow: ["shop.example"], connectPort: recorder.port });
    const { status, socket, text } = await tunnel(port, "shop.example:443");
    expect(status).toBe(200);
    socket.removeAllListeners("data");
    const secure = connectTls({ socket, servername: "shop.example" });
    secure.on("error", () => {});
    await expect.poll(() => Buffer.concat(recorder.received).includes("shop.example")).toBe(true);
    expect(text()).toMatch(/200/);
  });

  it("B08 ends a tunnel whose TLS is for another host, before a byte of it has left", async () => {
    const recorder = await startRecorder();
    const { port } = await startProxy({ allow: ["shop.example"], connectPort: recorder.port });
    const { socket } = await tunnel(port, "shop.example:443");
    const secure = connectTls({ socket, servername: "evil.example" });
    secure.on("error", () => {});
    await once(socket, "close");
    expect(recorder.received).toEqual([]);
  });

  it("B08 ends a tunnel that carries no TLS, unless the list names its port", async () => {
    const recorder = await startRecorder();
    const { port } = await startProxy({
      allow: ["shop.example", `db.example:${recorder.port}`],
      connectPort: recorder.port,
    });
    const plain = await tunnel(port, "shop.example:443");
    plain.socket.write("CONNECT inner.example:443 HTTP/1.1\r\n\r\n");
    await once(plain.socket, "close");
    expect(recorder.received).toEqual([]);
    const named = await tunnel(port, `db.example:${recorder.port}`);
    named.socket.write("hello database");
    await expect.poll(() => Buffer.concat(recorder.received).toString()).toBe("hello database");
    await expect.poll(() => named.text()).toMatch(/welcome$/);
  });

  it("ends a tunnel that does not say whom it is for in time", async () => {
    const recorder = await startRecorder();
    const { port, clock } = await startProxy({ allow: ["shop.example"], connectPort: recorder.port });
    const { socket } = await tunnel(port, "shop.example:443");
    const closed = once(socket, "close");
    await clock.advance(10_000);
    await closed;
  });

  it("says that a host cannot be reached or resolved", async () => {
    const { port } = await startProxy({
      allow: ["gone.example", "127.0.0.1:1"],
      lookup: async () => Promise.reject(Object.assign(new Error("no"), { code: "ENOTFOUND" })),
    });
    expect(await ask(port, "http://gone.example/")).toMatchObject({
      status: 502,
      text: expect.stringMatching(/ENOTFOUND/),
    });
    expect((await tunnel(port, "127.0.0.1:1")).status).toBe(502);
  });

  it("bounds the connections of a sandbox, and ends them all when it is gone", async () => {
    const { port, door } = await startProxy({ allow: ["shop.example"], limits: { connections: 2 } });
    const held = [connectSocket(port, "127.0.0.1"), connectSocket(port, "127.0.0.1")];
    await Promise.all(held.map((socket) => once(socket, "connect")));
    for (const socket of held) socket.write("GET ");
    await expect
      .poll(async () => (await ask(port, "http://shop.example/").catch(() => ({ status: 0 }))).status)
      .toBe(503);
    const closed = Promise.all(held.map((socket) => once(socket, "close")));
    for (const socket of held) socket.on("error", () => {});
    door.close();
    await closed;
  });

  it("answers what is no proxy request", async () => {
    const { port } = await startProxy({ allow: ["shop.example"] });
    const socket = connectSocket(port, "127.0.0.1");
    socket.write("GET /relative HTTP/1.1\r\nHost: shop.example\r\n\r\n");
    const [chunk] = await once(socket, "data");
    expect(String(chunk)).toMatch(/^HTTP\/1.1 400/);
    socket.destroy();
  });
});
