import { type IncomingHttpHeaders, type IncomingMessage, request } from "node:http";
import { type AddressInfo, connect, createServer } from "node:net";
import { describe, expect, it } from "vitest";
import { appInSandbox } from "../kit/app-in-sandbox.ts";
import { type BoxServer, boxServer, connectLoopback } from "../kit/box-server.ts";
import { keyedServer } from "../kit/keyed-server.ts";
import { ManualClock } from "../kit/manual-clock.ts";
import { SandboxedBackend } from "../kit/sandboxed-backend.ts";

interface Seen {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** Sends as it is told, with headers that `fetch` keeps to itself. */
function send(url: string, headers: Record<string, string> = {}, method = "GET", body = ""): Promise<Seen> {
  return new Promise((resolve, reject) => {
    // Node's client sends a body of some methods without a word of its length.
    const sized = body === "" ? headers : { ...headers, "content-length": String(body.length) };
    const outgoing = request(url, { headers: sized, method }, (incoming) => {
      let text = "";
      incoming.setEncoding("utf8");
      incoming.on("data", (chunk: string) => (text += chunk));
      incoming.on("error", reject);
      incoming.on("end", () => resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, text }));
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

async function expose(server: BoxServer, port: number, more = {}) {
  const { body } = await server.post(`/api/v1/session/${server.sessionId}/ports`, { port, ...more });
  const { url, ticket, id, expires_at }: Record<string, string> = body.data;
  if (url === undefined || ticket === undefined || id === undefined) throw new Error(JSON.stringify(body));
  return { url, ticket, id, expiresAt: expires_at, base: url.replace(/\?.*/, "") };
}

const errorOf = ({ text }: Seen): string => JSON.parse(text).meta.error;

describe("an exposed port", () => {
  it("passes requests of every method on, both ways as they come, without the ticket", async () => {
    await using app = await appInSandbox((incoming, outgoing) => {
      outgoing.writeHead(201, { "x-app": "yes", "content-type": "text/plain" });
      outgoing.write(`${incoming.method} ${incoming.url} `);
      incoming.pipe(outgoing);
    });
    await using server = await boxServer();
    const { base, ticket } = await expose(server, app.port);
    for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
      const answer = await send(`${base}a%2fb//c?x=1&ticket=${ticket}&y=%20`, {}, method, "body");
      expect(answer).toMatchObject({
        status: 201,
        text: `${method} /a%2fb//c?x=1&y=%20 body`,
        headers: { "x-app": "yes" },
      });
    }
    expect(await send(`${base}?ticket=${ticket}`, {}, "HEAD")).toMatchObject({ status: 201, text: "" });
    expect((await send(`${base}?ticket=${ticket}`, {}, "OPTIONS")).text).toBe("OPTIONS / ");
    expect((await send(`${base}?ticket=${ticket}`, {}, "TRACE")).status).toBe(405);
  });

  it("turns the ticket into a cookie of this port alone, so that a browser goes on without it", async () => {
    await using app = await appInSandbox((incoming, outgoing) => void outgoing.end(incoming.url));
    await using server = await boxServer();
    const { url, base } = await expose(server, app.port, { ttl_ms: 60_000 });
    const first = await send(url);
    const path = `/ports/${server.sessionId}/${app.port}/`;
    const [cookie = ""] = first.headers["set-cookie"] ?? [];
    expect(cookie).toMatch(/^toolyard_ticket=[\w-]{32}; Path=/);
    expect(cookie.split("; ").slice(1)).toEqual([
      `Path=${path}`,
      expect.stringMatching(/^Max-Age=(59|60)$/),
      "HttpOnly",
      "SameSite=Lax",
    ]);
    const next = await send(`${base}more?ticket=the-apps-own`, { cookie: cookie.split(";", 1)[0] ?? "" });
    expect([next.status, next.text, next.headers["set-cookie"]]).toEqual([200, "/more?ticket=the-apps-own", undefined]);
  });

  it("lets nobody in without it, whatever the server asks for else", async () => {
    await using app = await appInSandbox((_, outgoing) => void outgoing.end("secret"));
    await using server = await boxServer();
    const { base, ticket } = await expose(server, app.port);
    const other = await expose(server, app.port === 65_535 ? 1 : app.port + 1);
    for (const wrong of ["", "?ticket=", `?ticket=${ticket}x`, `?ticket=${other.ticket}`, "?ticket=constructor"]) {
      const answer = await send(base + wrong);
      expect([wrong, answer.status, errorOf(answer)]).toEqual([wrong, 401, "unauthenticated"]);
    }
    expect((await send(`${server.url}/ports/nobody/80/?ticket=${ticket}`)).status).toBe(401);
    for (const path of ["/ports/", "/ports/x", "/ports/x/0/", "/ports/x/65536/", "/ports/%zz/80/", "/ports/x/8a/"]) {
      expect([path, (await send(server.url + path)).status]).toEqual([path, 404]);
    }
    expect(app.requests).toHaveLength(0);
  });

  it("is for keys, too, that may execute there; other tenants' are answered as for no session (D03)", async () => {
    await using app = await appInSandbox((incoming, outgoing) => void outgoing.end(JSON.stringify(incoming.headers)));
    const backend = new SandboxedBackend({ connect: connectLoopback });
    await using server = await keyedServer(
      { ours: {}, reader: { scopes: ["box:read"] }, theirs: { tenant: "other" } },
      { backends: [backend] },
    );
    const { ours, reader, theirs } = server.holders;
    const { body } = await ours.post("/api/v1/session/create", { worker_id: "w1", resource_type: "box" });
    const visit = (key: string, session = body.data.session_id) =>
      send(`${server.url}/ports/${session}/${app.port}/`, { authorization: `Bearer ${key}` });
    const seen = await visit(ours.key);
    expect(seen.status).toBe(200);
    expect(seen.text).not.toContain("ty_");
    expect((await visit(reader.key)).status).toBe(403);
    const unknown = `${String(body.data.session_id).slice(0, -4)}0000`;
    const foreign = await visit(theirs.key);
    expect(foreign.status).toBe(404);
    const blank = (text: string, id: string) => text.replaceAll(id, "ID").replace(/"trace_id":"[^"]*"/, "");
    expect(blank(foreign.text, body.data.session_id)).toBe(blank((await visit(theirs.key, unknown)).text, unknown));
    const { entries } = (await ours.get("/api/v1/audit")).body.data;
    const data = { operation: "ports:visit", id: body.data.session_id, owner: "default" };
    expect(entries).toContainEqual(expect.objectContaining({ action: "tenant.crossing", tenant: "other", data }));
  });

  it("keeps Toolyard's credentials and other services' cookies from the sandbox", async () => {
    await using app = await appInSandbox((incoming, outgoing) => void outgoing.end(JSON.stringify(incoming.headers)));
    await using server = await boxServer({ security: { apiKey: "the-configs-own-key", authRequired: false } });
    const { url, ticket } = await expose(server, app.port);
    const headers = {
      "x-api-key": "ty_secret",
      cookie: `toolyard_ticket=${ticket}; other_service=1; toolyard_port.own=2`,
      referer: url,
      "x-forwarded-for": "6.6.6.6",
      connection: "keep-alive, x-hop",
      "x-hop": "1",
      "x-kept": "yes",
    };
    for (const authorization of ["Bearer ty_0123", "Bearer the-configs-own-key"]) {
      const seen = JSON.parse((await send(url, { ...headers, authorization })).text);
      expect(seen).toMatchObject({ cookie: "own=2", host: `localhost:${app.port}`, "x-kept": "yes" });
      expect(Object.keys(seen)).not.toEqual(expect.arrayContaining(["authorization"]));
      for (const gone of ["x-api-key", "referer", "x-forwarded-for", "x-hop"]) expect(seen).not.toHaveProperty(gone);
      expect(JSON.stringify(seen)).not.toContain(ticket);
    }
    const own = JSON.parse((await send(url, { authorization: "token of-the-app" })).text);
    expect(own).toMatchObject({ authorization: "token of-the-app" });
  });

  it("lets the sandbox speak for no other page of the server's origin", async () => {
    await using app = await appInSandbox((_, outgoing) => {
      outgoing.setHeader("set-cookie", [
        "a=1; Path=/; Domain=localhost; HttpOnly",
        "b=2; path=/sub",
        "c=3",
        "toolyard_ticket=stolen",
        "__proto__ bad=1",
      ]);
      outgoing.setHeader("clear-site-data", '"*"');
      outgoing.setHeader("strict-transport-security", "max-age=1");
      outgoing.setHeader("service-worker-allowed", "/");
      outgoing.setHeader("content-security-policy", "default-src 'self'");
      outgoing.setHeader("content-type", "text/html");
      outgoing.end("<script>fetch('/execute')</script>");
    });
    await using server = await boxServer();
    const { base, ticket } = await expose(server, app.port);
    const { headers } = await send(base, { cookie: `toolyard_ticket=${ticket}` });
    const prefix = `/ports/${server.sessionId}/${app.port}`;
    expect(headers["set-cookie"]).toEqual([
      `toolyard_port.a=1; HttpOnly; Path=${prefix}/`,
      `toolyard_port.b=2; Path=${prefix}/sub`,
      `toolyard_port.c=3; Path=${prefix}/`,
    ]);
    for (const gone of ["clear-site-data", "strict-transport-security", "service-worker-allowed"]) {
      expect(headers).not.toHaveProperty(gone);
    }
    // Both policies hold at once; the sandbox's page has nobody's origin.
    expect(headers["content-security-policy"]).toMatch(
      /default-src 'self', sandbox allow-scripts(?!.*allow-same-origin)/,
    );
    expect(headers["referrer-policy"]).toBe("no-referrer");
  });

  it("leads redirects of the app back to itself", async () => {
    await using app = await appInSandbox((incoming, outgoing) => {
      outgoing.writeHead(302, { location: decodeURIComponent(incoming.url?.slice(1) ?? "") }).end();
    });
    await using server = await boxServer();
    const { base, ticket } = await expose(server, app.port);
    const prefix = `/ports/${server.sessionId}/${app.port}`;
    const to = async (location: string) =>
      (await send(`${base}${encodeURIComponent(location)}?ticket=${ticket}`)).headers.location?.replace(
        /\?ticket=.*/,
        "",
      );
    expect(await to("/login?a=1")).toBe(`${prefix}/login?a=1`);
    expect(await to(`http://localhost:${app.port}/x`)).toBe(`${prefix}/x`);
    expect(await to(`http://localhost:${app.port}`)).toBe(`${prefix}/`);
    for (const kept of ["next", "//elsewhere.example/", "https://elsewhere.example/", "http://localhost:1/"]) {
      expect(await to(kept)).toBe(kept);
    }
  });

  it("answers 502 for what does not listen or speaks no HTTP, and gives the session back", async () => {
    await using app = await appInSandbox((incoming) => void incoming.socket.end("garbage\r\n\r\n"));
    await using server = await boxServer();
    const { url } = await expose(server, app.port);
    const garbled = await send(url);
    expect([garbled.status, errorOf(garbled), JSON.parse(garbled.text).meta.outcome]).toEqual([
      502,
      "upstream_failed",
      "tool_error",
    ]);
    const nothing = await send((await expose(server, 1)).url);
    expect([nothing.status, errorOf(nothing)]).toEqual([502, "upstream_failed"]);
    expect(server.engine.loans.count).toBe(0);
  });

  it("bounds the headers of the sandbox's answer", async () => {
    await using app = await appInSandbox((_, outgoing) => void outgoing.setHeader("x-big", "x".repeat(20_000)).end());
    await using server = await boxServer();
    expect((await send((await expose(server, app.port)).url)).status).toBe(502);
  });

  it("holds the sandbox back when the client is slow", async () => {
    const total = 64 * 1024 * 1024;
    let written = 0;
    await using app = await appInSandbox((_, outgoing) => {
      const piece = Buffer.alloc(65_536);
      const more = () => {
        while (written < total) {
          written += piece.length;
          if (!outgoing.write(piece)) return void outgoing.once("drain", more);
        }
        outgoing.end();
      };
      more();
    });
    await using server = await boxServer();
    const { url } = await expose(server, app.port);
    const incoming = await new Promise<IncomingMessage>((resolve, reject) => {
      request(url, resolve).on("error", reject).end();
    });
    // Nobody reads yet: once the buffers of both ends are full, the app stands still.
    let before = -1;
    await expect
      .poll(() => {
        const same = before === written;
        before = written;
        return same;
      })
      .toBe(true);
    expect(written).toBeLessThan(total);
    let received = 0;
    for await (const chunk of incoming) received += (chunk as Buffer).length;
    expect(received).toBe(total);
  });

  it("is listed without its ticket, and closes by hand with what is connected through it", async () => {
    await using app = await appInSandbox((_, outgoing) => void outgoing.write("begun"));
    await using server = await boxServer();
    const way = await expose(server, app.port);
    const ports = `/api/v1/session/${server.sessionId}/ports`;
    const { body } = await server.get(ports);
    expect(body.data.ports).toEqual([
      { id: way.id, port: app.port, created_at: expect.any(String), expires_at: way.expiresAt },
    ]);
    const reading = send(way.url);
    await expect.poll(() => app.requests.length).toBe(1);
    const closed = await fetch(`${server.url}${ports}/${app.port}`, { method: "DELETE" });
    expect(await closed.json()).toMatchObject({ data: { port: app.port, closed: 1 } });
    await expect(reading).rejects.toThrow();
    expect((await send(way.url)).status).toBe(401);
  });

  it("cuts a WebSocket off that the app never answers, and gives the session back", async () => {
    const silent = createServer(() => {});
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    await using server = await boxServer({ http: { portIdleMs: 50 } });
    const { url } = await expose(server, (silent.address() as AddressInfo).port); // a TCP server that listens has one
    const { host, pathname, search, port } = new URL(url);
    const socket = connect(Number(port), "127.0.0.1");
    socket.write(
      `GET ${pathname}${search} HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
    );
    await new Promise((resolve) => socket.resume().once("close", resolve));
    await expect.poll(() => server.engine.loans.count).toBe(0);
    silent.close();
  });

  it("closes at its time", async () => {
    const clock = new ManualClock();
    await using app = await appInSandbox((_, outgoing) => void outgoing.end("open"));
    await using server = await boxServer({ clock });
    const { url } = await expose(server, app.port, { ttl_ms: 1_000 });
    expect((await send(url)).text).toBe("open");
    await clock.advance(1_000);
    expect((await send(url)).status).toBe(401);
  });

  it("D01: is for no foreign page", async () => {
    await using app = await appInSandbox((_, outgoing) => void outgoing.end("secret"));
    await using server = await boxServer();
    const { url } = await expose(server, app.port);
    for (const headers of [{ host: "evil.example" }, { origin: "http://evil.example" }, { origin: "null" }]) {
      expect((await send(url, headers)).status).toBe(403);
    }
  });
});

describe("an exposed port on an origin of its own", () => {
  it("has the whole of it, and the API has none", async () => {
    await using app = await appInSandbox((incoming, outgoing) => {
      outgoing.setHeader("set-cookie", "own=1; Path=/; Domain=localhost");
      outgoing.end(`${incoming.url} ${incoming.headers.cookie ?? ""} ${incoming.headers.origin ?? ""}`);
    });
    await using server = await boxServer({ portsOrigin: "http://*.localhost" });
    const { url, id, ticket } = await expose(server, app.port);
    expect(url).toBe(`http://${id}.localhost:${server.port}/?ticket=${ticket}`);
    const host = `${id}.localhost:${server.port}`;
    const at = (path: string, headers: Record<string, string> = {}) => send(server.url + path, { host, ...headers });
    const first = await at(`/api/v1/tools?ticket=${ticket}`);
    expect([first.status, first.text]).toEqual([200, "/api/v1/tools  "]);
    expect(first.headers["set-cookie"]?.[0]).toBe("own=1; Path=/");
    expect(first.headers["set-cookie"]?.[1]).toMatch(
      /^toolyard_ticket=.*; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Lax$/,
    );
    expect(first.headers).not.toHaveProperty("content-security-policy");
    const next = await at("/x", { cookie: `toolyard_ticket=${ticket}; own=1`, origin: `http://${host}` });
    expect(next.text).toBe(`/x own=1 http://localhost:${app.port}`);
    expect((await at("/health")).status).toBe(401);
    expect((await at(`/?ticket=${ticket}`, { origin: server.url })).status).toBe(403);
    expect((await send(`${server.url}/?ticket=${ticket}`, { host: "0123.localhost" })).status).toBe(401);
    expect((await send(`${server.url}/`, { host: "a.b.localhost" })).status).toBe(403);
    expect((await server.get("/health")).status).toBe(200);
  });
});
