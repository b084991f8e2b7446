import { connect, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import type { Plane, PlaneRequest } from "../../src/server/planes/plane.ts";
import { ToolyardError } from "../../src/core/errors.ts";
import { appInSandbox } from "../kit/app-in-sandbox.ts";
import { type BoxServer, boxServer } from "../kit/box-server.ts";
import { keyedServer } from "../kit/keyed-server.ts";
import { ManualClock } from "../kit/manual-clock.ts";
import { rawExchange, statusOf } from "../kit/raw-http.ts";
import { testServer } from "../kit/test-server.ts";

const handshake = (path: string, more: Record<string, string> = {}) => {
  const headers = { Host: "localhost", ...more };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return (
    `GET ${path} HTTP/1.1\r\n${lines.join("")}Connection: Upgrade\r\nUpgrade: websocket\r\n` +
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
  );
};

/** Opens a connection and collects what comes on it. */
async function open(
  port: number,
  text: string,
): Promise<{ socket: Socket; seen: () => string; closed: Promise<unknown> }> {
  const socket = connect(port, "127.0.0.1");
  let seen = "";
  socket.setEncoding("latin1");
  socket.on("data", (chunk: string) => (seen += chunk));
  socket.on("error", () => socket.destroy());
  const closed = new Promise((resolve) => socket.once("close", resolve));
  socket.write(text);
  await expect.poll(() => seen).toMatch(/\r\n\r\n/);
  return { socket, seen: () => seen, closed };
}

async function exposed(server: BoxServer, port: number) {
  const { body } = await server.post(`/api/v1/session/${server.sessionId}/ports`, { port });
  const url: string = body.data.url;
  return { url, path: url.replace(server.url, "") };
}

describe("a WebSocket through an exposed port", () => {
  it("is one for the client that browsers have", async () => {
    await using app = await appInSandbox(() => undefined);
    await using server = await boxServer();
    const socket = new WebSocket((await exposed(server, app.port)).url.replace("http:", "ws:"));
    const message = await new Promise((resolve, reject) => {
      socket.onmessage = ({ data }) => resolve(data);
      socket.onerror = reject;
    });
    expect(message).toBe("hello");
    socket.close();
    expect(app.requests[0]?.url).toBe("/");
  });

  it("carries bytes both ways as they are, and tells its end", async () => {
    await using app = await appInSandbox(() => undefined);
    await using server = await boxServer();
    const { path } = await exposed(server, app.port);
    const told: unknown[] = [];
    server.engine.bus.subscribe(({ type, data }) => type.startsWith("port.") && told.push([type, data]));
    const { socket, seen, closed } = await open(server.port, `${handshake(path)}early`);
    expect(seen()).toMatch(/^HTTP\/1\.1 101 Switching Protocols\r\n/);
    expect(seen()).toContain("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    socket.write("late");
    await expect.poll(() => seen().endsWith("helloearlylate")).toBe(true);
    expect(server.engine.loans.count).toBe(1);
    socket.destroy();
    await closed;
    await expect.poll(() => server.engine.loans.count).toBe(0);
    expect(told).toEqual([
      ["port.connected", { port: app.port, protocol: "websocket" }],
      ["port.disconnected", { port: app.port, bytes_in: 9, bytes_out: 16 }],
    ]);
  });

  it("ends when the app ends it, and is answered as the app answers", async () => {
    await using app = await appInSandbox(() => undefined);
    await using server = await boxServer();
    const { path } = await exposed(server, app.port);
    const { closed } = await open(server.port, handshake(path));
    app.sockets[0]?.destroy();
    await closed;
    const refused = await rawExchange(server.port, handshake(path.replace("/?", "/refuse?")));
    expect([statusOf(refused), refused.slice(-2)]).toEqual([403, "no"]);
  });

  it("is cut when its session ends, which need not be forced", async () => {
    await using app = await appInSandbox(() => undefined);
    await using server = await boxServer();
    const { closed } = await open(server.port, handshake((await exposed(server, app.port)).path));
    await server.post("/api/v1/session/destroy", { worker_id: "w1", resource_type: "box" });
    await closed;
    expect(server.backend.cleaned).toEqual([server.sessionId]);
  });

  it("F11: is cut when the server stops, which does not wait for it", async () => {
    await using app = await appInSandbox(() => undefined);
    const server = await boxServer();
    const { closed } = await open(server.port, handshake((await exposed(server, app.port)).path));
    await server.stop();
    await closed;
    expect(server.backend.cleaned).toEqual([server.sessionId]);
  });

  it("keeps its session alive while it lasts", async () => {
    await using app = await appInSandbox(() => undefined);
    const clock = new ManualClock();
    await using server = await boxServer({ clock, limits: { sessionTtlMs: 30, sweepIntervalMs: 5 } });
    const { socket } = await open(server.port, handshake((await exposed(server, app.port)).path));
    // Several times its time to live: it would be gone.
    await clock.advance(200);
    expect(server.backend.cleaned).toEqual([]);
    socket.destroy();
    await expect.poll(() => clock.advance(200).then(() => server.backend.cleaned)).toEqual([server.sessionId]);
  });

  it("needs its ticket, and D01: is for no foreign page", async () => {
    await using app = await appInSandbox(() => undefined);
    await using server = await boxServer();
    const { path } = await exposed(server, app.port);
    const status = async (text: string) => statusOf(await rawExchange(server.port, text));
    expect(await status(handshake(path.replace(/\?.*/, "")))).toBe(401);
    expect(await status(handshake(path, { Origin: "http://evil.example" }))).toBe(403);
    expect(await status(handshake(path, { Host: "evil.example" }))).toBe(403);
    expect(app.requests).toHaveLength(0);
  });
});

describe("a WebSocket plane", () => {
  const seen: PlaneRequest[] = [];
  const plane: Plane = {
    path: "/ws/test/:session_id",
    operation: "test:socket",
    summary: "A plane for the test",
    access: "execute",
    ticketPurpose: ":session_id",
    open(request) {
      seen.push(request);
      if (request.query.has("fail")) throw new Error("secret of the plane");
      if (request.query.has("refuse")) throw new ToolyardError("session_not_found", "There is no such session");
      request.socket.write("HTTP/1.1 101 Switching Protocols\r\n\r\nhere");
    },
  };
  const options = { planes: () => [plane] };

  it("is given who is let in: by key, or by a ticket for what its path names, once", async () => {
    await using server = await keyedServer({ full: {}, reader: { scopes: ["box:read"] } }, options);
    const { full, reader } = server.holders;
    const status = async (path: string, more = {}) => {
      const { socket, seen: text } = await open(server.port, handshake(path, more));
      socket.destroy();
      return statusOf(text());
    };
    expect(await status("/ws/test/a%20b?x=1", { Authorization: `Bearer ${full.key}` })).toBe(101);
    expect(seen.at(-1)).toMatchObject({ path: { session_id: "a b" }, identity: { tenant: "default" } });
    expect(seen.at(-1)?.query.get("x")).toBe("1");
    expect(await status("/ws/test/a", { Authorization: `Bearer ${reader.key}` })).toBe(403);
    expect(await status("/ws/test/a")).toBe(401);
    const ticket = async (purpose: string) => (await full.post("/api/v1/tickets", { purpose })).body.data.ticket;
    const good = await ticket("s1");
    expect(await status(`/ws/test/s1?ticket=${good}`)).toBe(101);
    expect(await status(`/ws/test/s1?ticket=${good}`)).toBe(401);
    expect(await status(`/ws/test/s1?ticket=${await ticket("s2")}`)).toBe(401);
  });

  it("D01: checks host and origin before all else", async () => {
    await using server = await testServer(options);
    const before = seen.length;
    for (const more of [{ Host: "evil.example" }, { Origin: "http://evil.example" }, { Origin: "null" }]) {
      expect(statusOf(await rawExchange(server.port, handshake("/ws/test/a", more)))).toBe(403);
    }
    expect(seen).toHaveLength(before);
  });

  it("D09: is answered for where it fails, without a word of why", async () => {
    await using server = await testServer(options);
    const failed = await rawExchange(server.port, handshake("/ws/test/a?fail"));
    expect(statusOf(failed)).toBe(500);
    expect(failed).not.toContain("secret");
    expect(statusOf(await rawExchange(server.port, handshake("/ws/test/a?refuse")))).toBe(404);
    expect(statusOf(await rawExchange(server.port, handshake("/ws/nothing")))).toBe(404);
    expect(server.logger.lines.filter(({ level }) => level === "error")).toHaveLength(1);
  });

  it("ends with the key that opened it, and with the server", async () => {
    const server = await keyedServer({ admin: {}, user: {} }, options);
    const { admin, user } = server.holders;
    const bearer = (key: string) => ({ Authorization: `Bearer ${key}` });
    const first = await open(server.port, handshake("/ws/test/a", bearer(user.key)));
    await admin.post(`/api/v1/keys/${user.id}/revoke`, {});
    await first.closed;
    const second = await open(server.port, handshake("/ws/test/a", bearer(admin.key)));
    await server.stop();
    await second.closed;
  });

  it("says to a plain request what it is, and passes other upgrades over", async () => {
    await using server = await testServer(options);
    expect((await server.get("/ws/test/a")).status).toBe(426);
    const h2c = "Connection: close, Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n";
    const answer = await rawExchange(server.port, `GET /health HTTP/1.1\r\nHost: localhost\r\n${h2c}\r\n`);
    expect([200, 400]).toContain(statusOf(answer));
  });
});
