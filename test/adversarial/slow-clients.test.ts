import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { rawExchange, statusOf } from "../kit/raw-http.ts";
import { ScriptedBackend } from "../kit/scripted-backend.ts";
import { testServer } from "../kit/test-server.ts";

const EXECUTE = JSON.stringify({ worker_id: "w1", action: "probe:echo", params: { said: "ok" } });
const head = (more: string) => `POST /execute HTTP/1.1\r\nHost: localhost\r\n${more}\r\n`;

describe("D08: slow clients", () => {
  it("cuts off a client that never ends its headers, with 408, and serves the others meanwhile", async () => {
    await using server = await testServer({ http: { headersTimeoutMs: 100, requestTimeoutMs: 200 } });
    const slow = rawExchange(server.port, "GET /health HTTP/1.1\r\nHost: localhost\r\nX-Slow: ");
    expect((await server.get("/health")).status).toBe(200);
    expect(statusOf(await slow)).toBe(408);
  });

  it("cuts off a client that never ends its body, with 408", async () => {
    await using server = await testServer({ http: { headersTimeoutMs: 100, requestTimeoutMs: 200 } });
    expect(statusOf(await rawExchange(server.port, `${head("Content-Length: 100\r\n")}{"worker`))).toBe(408);
  });

  it.each([
    ["headers", "GET /health HTTP/1.1\r\nHost: localhost\r\nX-Slow: "],
    ["its body", `${head("Content-Length: 100000\r\n")}{"worker_id":"`],
  ])(
    "cuts off a client whose %s come a byte at a time without end: each byte wins it no time",
    async (_name, start) => {
      await using server = await testServer({ http: { headersTimeoutMs: 100, requestTimeoutMs: 200 } });
      const socket = connect(server.port, "127.0.0.1");
      socket.on("error", () => undefined);
      socket.write(start);
      const dripping = setInterval(() => socket.write("x"), 20);
      let answer = "";
      socket.setEncoding("latin1").on("data", (text: string) => (answer += text));
      await new Promise<void>((resolve) => socket.on("close", () => resolve()));
      clearInterval(dripping);
      expect(statusOf(answer)).toBe(408);
    },
  );

  it("takes a body that comes byte by byte", async () => {
    await using server = await testServer({ backends: [new ScriptedBackend()] });
    const socket = connect(server.port, "127.0.0.1");
    socket.setNoDelay(true);
    socket.write(head(`Content-Length: ${EXECUTE.length}\r\nConnection: close\r\n`));
    for (const byte of EXECUTE) await new Promise<void>((resolve) => socket.write(byte, () => resolve()));
    let answer = "";
    for await (const chunk of socket) answer += String(chunk);
    expect(statusOf(answer)).toBe(200);
    expect(answer).toContain('"said":"ok"');
  });

  it("answers requests that come together on one connection, each in its turn", async () => {
    await using server = await testServer({ backends: [new ScriptedBackend()] });
    const one = head(`Content-Length: ${EXECUTE.length}\r\n`) + EXECUTE;
    const last = head(`Content-Length: ${EXECUTE.length}\r\nConnection: close\r\n`) + EXECUTE;
    const answer = await rawExchange(server.port, one + one + last);
    expect(answer.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(3);
  });

  it("forgets a client that goes away in the middle of its body", async () => {
    await using server = await testServer({ backends: [new ScriptedBackend()] });
    const socket = connect(server.port, "127.0.0.1");
    await new Promise<void>((resolve) =>
      socket.write(`${head("Content-Length: 1000\r\n")}{"worker_id"`, () => resolve()),
    );
    const gone = new Promise<void>((resolve) => socket.on("close", () => resolve()));
    socket.destroy();
    await gone;
    expect((await server.get("/ready")).body["active_calls"]).toBe(0);
    expect((await server.execute("probe:echo")).status).toBe(200);
    expect(server.logger.lines.filter(({ level }) => level === "error")).toEqual([]);
  });
});
