import { describe, expect, it } from "vitest";
import type { ToolyardEvent } from "../../src/core/events.ts";
import { keyedServer } from "../kit/keyed-server.ts";
import { ManualClock } from "../kit/manual-clock.ts";
import { key, pointer, RfbViewer, type RfbViewerOptions, updateRequest } from "../kit/rfb-viewer.ts";
import { ScriptedDesktops } from "../kit/scripted-desktop.ts";
import { testServer, type TestServerOptions } from "../kit/test-server.ts";

/** A server with one session that has a desktop, whose display the test plays. */
async function desktopServer(options: TestServerOptions = {}) {
  const backend = new ScriptedDesktops();
  const server = await testServer({ backends: [backend], ...options });
  const { body } = await server.post("/api/v1/session/create", { worker_id: "w1", resource_type: "desk" });
  const sessionId: string = body.data.session_id;
  const told: ToolyardEvent[] = [];
  server.engine.bus.subscribe((event) => told.push(event));
  const connect = (query = "", more: RfbViewerOptions = {}) =>
    RfbViewer.open(`${server.url}/ws/vnc/${sessionId}${query}`, more);
  return { ...server, backend, sessionId, told, connect, at: (rest: string) => `/api/v1/sandbox/${sessionId}${rest}` };
}

const eventsOf = (told: readonly ToolyardEvent[], prefix: string) =>
  told.filter(({ type }) => type.startsWith(prefix)).map(({ type, actor, data }) => [type, actor, data]);

/** What a viewer is said in the handshake: version, kinds of security, that it is in, and the display's own word. */
const GREETING_BYTES = 12 + 2 + 4 + 24 + 4;

/** More than all that the sockets between two processes hold. */
const FLOOD_BYTES = 48 * 1024 * 1024;

describe("a desktop's WebSocket", () => {
  it("speaks RFB: greets without a password, passes pictures on and input in", async () => {
    await using server = await desktopServer();
    const viewer = await server.connect("", { protocols: ["binary"] });
    expect(viewer.socket.protocol).toBe("binary");
    await expect.poll(() => viewer.received.length).toBe(GREETING_BYTES);
    expect(viewer.received.subarray(0, 12).toString()).toBe("RFB 003.008\n");
    expect(viewer.received.subarray(-4).toString()).toBe("test");
    // The agent's own connection stays, whatever the viewer said.
    expect(server.backend.last.shared).toBe(1);
    viewer.send(updateRequest(), key(97, true), key(97, false), pointer(3, 4, 1), pointer(3, 4, 0));
    const sent = Buffer.concat([updateRequest(), key(97, true), key(97, false), pointer(3, 4, 1), pointer(3, 4, 0)]);
    await expect.poll(() => server.backend.last.received.equals(sent)).toBe(true);
    server.backend.last.channel.write(Buffer.from("picture"));
    await expect.poll(() => viewer.received.subarray(GREETING_BYTES).toString()).toBe("picture");
    viewer.socket.close();
    await expect.poll(() => server.backend.last.ended).toBe(true);
    await expect.poll(() => server.engine.loans.count).toBe(0);
    const bytesIn = 14 + sent.length;
    expect(eventsOf(server.told, "desktop")).toEqual([
      ["desktop.attached", "human", { view_only: false }],
      ["desktop.input", "human", { keys: 1, clicks: 1, scrolls: 0, moves: 1, clipboard: 0, resizes: 0 }],
      ["desktop.detached", "human", { bytes_in: bytesIn, bytes_out: GREETING_BYTES + 7 }],
    ]);
  });

  it("passes nothing of a watcher's input, though it is split into single bytes, and shows them the same", async () => {
    await using server = await desktopServer();
    const watcher = await server.connect("?view=true", { hello: null });
    const words = Buffer.concat([
      Buffer.from("RFB 003.008\n\u0001\u0001"),
      ...[key(97, true), pointer(1, 1, 1), updateRequest(), key(98, true), updateRequest(true)],
    ]);
    for (const byte of words) watcher.socket.send(Buffer.of(byte));
    const passed = Buffer.concat([updateRequest(), updateRequest(true)]);
    await expect.poll(() => server.backend.last.received.toString("hex")).toBe(passed.toString("hex"));
    server.backend.last.channel.write(Buffer.from("seen"));
    await expect.poll(() => watcher.received.subarray(GREETING_BYTES).toString()).toBe("seen");
    expect(eventsOf(server.told, "desktop.input")).toEqual([]);
  });

  it("lets a viewer go that breaks the protocol, speaks text, or says nothing at all", async () => {
    const clock = new ManualClock();
    await using server = await desktopServer({ clock });
    const rude = await server.connect("", { hello: [Buffer.from("GET / HTTP/1.1\r\n\r\n")] });
    expect(await rude.closed).toEqual({ code: 1008, reason: "this is no RFB" });
    const odd = await server.connect();
    odd.send(key(97, true), Buffer.of(77, 1, 2, 3));
    expect(await odd.closed).toEqual({ code: 1008, reason: "messages of the kind 77 do not pass" });
    // What it pressed before is let go.
    const held = Buffer.concat([key(97, true), key(97, false)]);
    await expect.poll(() => server.backend.last.received.toString("hex")).toBe(held.toString("hex"));
    const chatty = await server.connect();
    chatty.socket.send("hello");
    expect((await chatty.closed).code).toBe(1003);
    const silent = await server.connect("", { hello: null });
    await clock.advance(10_000);
    expect((await silent.closed).code).toBe(1008);
    await expect.poll(() => server.engine.loans.count).toBe(0);
  });

  it("says so when the desktop or the session ends, and refuses where there is none", async () => {
    await using server = await desktopServer({ limits: { desktopViewers: 2 } });
    expect((await server.get(`/ws/vnc/${server.sessionId}`)).status).toBe(426);
    const first = await server.connect();
    await expect.poll(() => first.received.length).toBe(GREETING_BYTES);
    const second = await server.connect();
    await expect(server.connect()).rejects.toThrow("refused with 429");
    server.backend.displays[0]?.channel.end();
    expect(await first.closed).toEqual({ code: 1001, reason: "The desktop has stopped" });
    server.backend.stopped = true;
    await expect(server.connect()).rejects.toThrow("refused with 409");
    server.backend.stopped = false;
    server.backend.securities = [2];
    await expect(server.connect()).rejects.toThrow("refused with 500");
    await server.post("/api/v1/session/destroy", { worker_id: "w1", resource_type: "desk" });
    expect(await second.closed).toEqual({ code: 1001, reason: "The session has ended" });
    await expect(server.connect()).rejects.toThrow("refused with 404");
    await expect.poll(() => server.engine.loans.count).toBe(0);
  });

  it("holds a display up that a slow viewer does not take, in place of holding its pictures", async () => {
    const maximum = 262_144;
    await using server = await desktopServer({ limits: { desktopBufferBytes: maximum } });
    const viewer = await server.connect();
    await expect.poll(() => viewer.received.length).toBe(GREETING_BYTES);
    viewer.socket.pause();
    const { channel } = server.backend.last;
    const chunk = Buffer.alloc(65_536);
    const pumped = { bytes: 0, stuck: false };
    const pump = () => {
      while (pumped.bytes < FLOOD_BYTES) {
        pumped.bytes += chunk.length;
        if (!channel.write(chunk)) {
          channel.once("drain", pump);
          return;
        }
      }
    };
    pump();
    // It stands still: what was taken is what the sockets between hold, and no more.
    let before = -1;
    await expect
      .poll(
        () => {
          const still = pumped.bytes === before;
          before = pumped.bytes;
          return still;
        },
        { interval: 200 },
      )
      .toBe(true);
    expect(pumped.bytes).toBeLessThan(FLOOD_BYTES / 2);
    viewer.socket.resume();
    await expect.poll(() => viewer.receivedBytes).toBe(GREETING_BYTES + FLOOD_BYTES);
  });
});

describe("control of a desktop", () => {
  it("is the lease's: what others type goes nowhere, and what they hold is let go", async () => {
    await using server = await desktopServer();
    const other = await server.connect();
    await expect.poll(() => other.received.length).toBe(GREETING_BYTES);
    const [first] = server.backend.displays;
    other.send(key(97, true));
    await expect.poll(() => first?.received.toString("hex")).toBe(key(97, true).toString("hex"));
    const { body } = await server.post(server.at("/control/take"), { holder: "Ada" });
    // The agent's own keys and buttons are let go, too.
    expect(server.backend.releases).toBe(1);
    const ada = await server.connect(`?lease=${body.data.lease}`);
    await expect.poll(() => ada.received.length).toBe(GREETING_BYTES);
    ada.send(key(98, true), key(98, false));
    const typed = Buffer.concat([key(98, true), key(98, false)]);
    await expect.poll(() => server.backend.displays[1]?.received.toString("hex")).toBe(typed.toString("hex"));
    other.send(pointer(5, 5, 1), updateRequest());
    const told = Buffer.concat([key(97, true), key(97, false), updateRequest()]);
    await expect.poll(() => first?.received.toString("hex")).toBe(told.toString("hex"));
    // Renewed, nobody's hands are touched.
    await server.post(server.at("/control/take"), { lease: body.data.lease });
    expect(server.backend.releases).toBe(1);
    await server.post(server.at("/control/release"), { lease: body.data.lease });
    other.send(key(99, true));
    const all = Buffer.concat([told, key(99, true)]);
    await expect.poll(() => first?.received.toString("hex")).toBe(all.toString("hex"));
  });
});

describe("who may watch a desktop", () => {
  it("C03: only the tenant's own keys do; another tenant's session is none", async () => {
    const keys = {
      owner: { tenant: "a", scopes: ["*"] },
      watcher: { tenant: "a", scopes: ["desk:read"] },
      stranger: { tenant: "b", scopes: ["*"] },
    };
    const backend = new ScriptedDesktops();
    await using server = await keyedServer(keys, { backends: [backend] });
    const { owner, watcher, stranger } = server.holders;
    const made = await owner.post("/api/v1/session/create", { worker_id: "w1", resource_type: "desk" });
    const url = `${server.url}/ws/vnc/${made.body.data.session_id}`;
    const as = ({ key: secret }: { readonly key: string }) => ({ headers: { authorization: `Bearer ${secret}` } });
    await expect(RfbViewer.open(url)).rejects.toThrow("refused with 401");
    await expect(RfbViewer.open(url, as(stranger))).rejects.toThrow("refused with 404");
    const viewer = await RfbViewer.open(url, as(watcher));
    viewer.send(key(97, true), updateRequest());
    await expect.poll(() => backend.last.received.toString("hex")).toBe(updateRequest().toString("hex"));
    const worker = await RfbViewer.open(url, as(owner));
    worker.send(key(97, true));
    await expect.poll(() => backend.last.received.toString("hex")).toBe(key(97, true).toString("hex"));
  });

  it("whoever has a tool's URL may, once and until its time: by its ticket it opens nothing else", async () => {
    const clock = new ManualClock();
    const backend = new ScriptedDesktops();
    await using server = await keyedServer({ owner: { tenant: "a", scopes: ["*"] } }, { backends: [backend], clock });
    const { owner } = server.holders;
    const made = await owner.post("/api/v1/session/create", { worker_id: "w1", resource_type: "desk" });
    const sessionId: string = made.body.data.session_id;
    const open = async (wanted: object) => {
      backend.onUse = ({ streams }) => streams?.open(wanted);
      return (await owner.execute("desk:use")).body.data;
    };
    const view = await open({});
    expect(view).toMatchObject({ viewOnly: true, url: server.url.replace("http", "ws") + view.path });
    // Taking the flag away does not help: the ticket itself only reads.
    const watcher = await RfbViewer.open(view.url.replace("&view=true", ""));
    watcher.send(key(97, true), updateRequest());
    await expect.poll(() => backend.last.received.toString("hex")).toBe(updateRequest().toString("hex"));
    await expect(RfbViewer.open(view.url)).rejects.toThrow("refused with 401");
    const control = await open({ viewOnly: false, ttlMs: 5_000 });
    const worker = await RfbViewer.open(control.url);
    worker.send(key(98, true));
    await expect.poll(() => backend.last.received.toString("hex")).toBe(key(98, true).toString("hex"));
    const late = await open({ viewOnly: false, ttlMs: 5_000 });
    await clock.advance(5_000);
    await expect(RfbViewer.open(late.url)).rejects.toThrow("refused with 401");
    const { ticket } = await open({ viewOnly: false });
    expect((await fetch(`${server.url}/api/v1/session/${sessionId}/files?path=x&ticket=${ticket}`)).status).toBe(401);
  });
});
