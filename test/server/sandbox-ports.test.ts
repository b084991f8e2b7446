import { afterAll, beforeAll, describe, expect, it } from "vitest";
import CodeBackend from "../../src/backends/code/backend.ts";
import { HttpServiceClient } from "../../src/client/http-client.ts";
import { LocalRuntime } from "../../src/runtimes/local/runtime.ts";
import { createRuntimeSelector } from "../../src/runtimes/selector.ts";
import { type TestServer, testServer } from "../kit/test-server.ts";

const runtime = new LocalRuntime();
const status = await runtime.check(AbortSignal.timeout(60_000));
const reason = !status.available
  ? status.reason
  : runtime.abilities?.includes("connect") === true
    ? undefined
    : "they take no connections yet";
const why = reason === undefined ? "" : `: skipped, local sandboxes cannot do it here (${reason})`;

/** A server in the sandbox: HTTP that says what it got, WebSockets that greet and echo. */
const APP = `
const http = require("node:http");
const crypto = require("node:crypto");
const server = http.createServer((incoming, outgoing) => {
  outgoing.setHeader("set-cookie", "seen=1");
  outgoing.write(incoming.method + " " + incoming.url + " ");
  incoming.pipe(outgoing);
});
server.on("upgrade", (incoming, socket) => {
  const key = incoming.headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  const accept = crypto.createHash("sha1").update(key).digest("base64");
  socket.write("HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Accept: " + accept + "\\r\\n\\r\\n");
  socket.write(Buffer.from([0x81, 5, ...Buffer.from("hello")]));
  socket.on("error", () => undefined);
});
server.listen(8000, "127.0.0.1");
`;

describe.skipIf(reason !== undefined)(`the ports of a real sandbox${why}`, () => {
  const selector = createRuntimeSelector({ order: ["local"] });
  let server: TestServer;
  let client: HttpServiceClient;
  let url: string;

  beforeAll(async () => {
    server = await testServer({ backends: [new CodeBackend({ config: {}, runtimes: selector })] });
    client = new HttpServiceClient({ baseUrl: server.url, workerId: "w1" });
    const { session_id: id } = await client.createSession("code");
    await client.files(id).upload("app.js", APP);
    await client.executeUntyped("bash:run", { command: "node app.js", background: true });
    // As a model does it, with the tool.
    ({ url } = await client.executeUntyped<{ url: string }>("sandbox:expose", { port: 8000 }));
  });
  afterAll(async () => {
    await server.stop({ force: true });
    await selector.close();
  });

  it("answer over HTTP, both ways as it comes", async () => {
    await expect.poll(async () => (await fetch(url)).status, { timeout: 30_000 }).toBe(200);
    const body = "x".repeat(5_000_000);
    const answer = await fetch(url.replace("/?", "/path?a=1&"), { method: "POST", body });
    expect(answer.headers.get("set-cookie")).toContain("toolyard_port.seen=1; Path=/ports/");
    expect(await answer.text()).toBe(`POST /path?a=1 ${body}`);
  });

  it("carry WebSockets", async () => {
    const socket = new WebSocket(url.replace("http:", "ws:"));
    const message = await new Promise((resolve, rejected) => {
      socket.onmessage = ({ data }) => resolve(data);
      socket.onerror = rejected;
    });
    expect(message).toBe("hello");
    socket.close();
  });

  it("say in so many words that nothing listens", async () => {
    const { url: nothing } = await client.executeUntyped<{ url: string }>("sandbox:expose", { port: 8001 });
    const answer = await fetch(nothing);
    expect([answer.status, JSON.parse(await answer.text()).meta.error]).toEqual([502, "upstream_failed"]);
  });

  it("close with the tool", async () => {
    await client.executeUntyped("sandbox:unexpose", { port: 8000 });
    expect((await fetch(url)).status).toBe(401);
  });
});
