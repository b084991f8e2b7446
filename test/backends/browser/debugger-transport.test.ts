import { once } from "node:events";
import { type AddressInfo, connect } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import { openTransport } from "../../../src/backends/browser/chromium/debugger-transport.ts";

/** A debugger that a hostile sandbox has put in the browser's place. */
async function openHostile() {
  const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const accepted = new Promise<WebSocket>((resolve) => void server.once("connection", resolve));
  const { port } = server.address() as AddressInfo; // it listens
  const transport = await openTransport(connect(port, "127.0.0.1"), "/devtools", AbortSignal.timeout(60_000));
  const closed = new Promise<void>((resolve) => (transport.onclose = resolve));
  return { transport, closed, hostile: await accepted };
}

it.each(["", "{", "null", "[]", "7", '{"method":7}', '{"method":"Target.attachedToTarget"}', '{"id":"x"}'])(
  "cuts off who sends %j in place of the protocol, and passes nothing of it on",
  async (message) => {
    const { transport, closed, hostile } = await openHostile();
    const passed: string[] = [];
    transport.onmessage = (text) => void passed.push(text);
    hostile.send('{"id":1,"result":{}}');
    hostile.send(message);
    await closed;
    expect(passed).toEqual(['{"id":1,"result":{}}']);
  },
);

it("cuts off whose message fails in the library, and fails nowhere else", async () => {
  const { transport, closed, hostile } = await openHostile();
  transport.onmessage = (() => Promise.reject(new Error("as the library would"))) as () => void;
  hostile.send('{"method":"Target.attachedToTarget","params":{}}');
  await closed;
});
