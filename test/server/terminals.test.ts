import { once } from "node:events";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ToolyardEvent } from "../../src/core/events.ts";
import { keyedServer } from "../kit/keyed-server.ts";
import { ManualClock } from "../kit/manual-clock.ts";
import { ScriptedTerminals } from "../kit/scripted-terminal.ts";
import { testServer, type TestServerOptions } from "../kit/test-server.ts";
import { TtydClient, type TtydClientOptions } from "../kit/ttyd-client.ts";

/** A server with one session and one terminal in it, whose program the test plays. */
async function terminalServer(options: TestServerOptions = {}) {
  const backend = new ScriptedTerminals();
  const server = await testServer({ backends: [backend], ...options });
  const { body } = await server.post("/api/v1/session/create", {
    worker_id: "w1",
    resource_type: "box",
    project: "p1",
  });
  const sessionId: string = body.data.session_id;
  const started = await server.post(`/api/v1/sandbox/${sessionId}/terminal/start`, { columns: 40, rows: 10 });
  expect(started.body).toMatchObject({ code: 0, data: { terminal_id: "t1", running: true } });
  const connect = (query = "", more: TtydClientOptions = {}) =>
    TtydClient.open(`${server.url}/ws/term/${sessionId}${query}`, more);
  const told: ToolyardEvent[] = [];
  server.engine.bus.subscribe((event) => told.push(event));
  return { ...server, backend, sessionId, connect, told, at: (rest: string) => `/api/v1/sandbox/${sessionId}${rest}` };
}

const eventsOf = (told: readonly ToolyardEvent[], prefix: string) =>
  told.filter(({ type }) => type.startsWith(prefix)).map(({ type, actor, data }) => [type, actor, data]);

describe("a terminal's WebSocket", () => {
  it("speaks ttyd: settings, title, the screen as it is, and then what comes", async () => {
    await using server = await terminalServer();
    const { last } = server.backend;
    last.print("\u001b]0;shell\u0007$ ");
    await expect.poll(async () => (await server.execute("terminal:read")).body.data.screen.lines[0]).toBe("$ ");
    const client = await server.connect("", { hello: { columns: 100, rows: 30 } });
    expect(client.socket.protocol).toBe("tty");
    await expect.poll(() => client.output).toBe("\u001bc$ ");
    expect(client.preferences).toEqual([{ disableStdin: false }]);
    expect(client.titles).toEqual(["shell"]);
    expect(last.sizes).toEqual(["100x30"]);
    client.type("ls\r");
    await expect.poll(() => last.inputs).toEqual(["ls\r"]);
    last.print("file\r\n");
    await expect.poll(() => client.output).toBe("\u001bc$ file\r\n");
    client.resize(50, 20);
    await expect.poll(() => last.sizes).toEqual(["100x30", "50x20"]);
    last.end(0);
    expect(await client.closed).toEqual({ code: 1000, reason: "The terminal has ended" });
    await expect.poll(() => server.engine.loans.count).toBe(0);
    expect(eventsOf(server.told, "terminal")).toEqual([
      ["terminal.attached", "human", { terminal_id: "t1", view_only: false }],
      ["terminal.input", "human", { terminal_id: "t1", bytes: 3 }],
      ["terminal_stopped", "system", expect.objectContaining({ reason: "exited", exit_code: 0 })],
      ["terminal.detached", "human", { terminal_id: "t1", bytes_in: 3, bytes_out: client.output.length + 2 }],
    ]);
  });

  it("is shared: two see the same, and what either types goes in", async () => {
    await using server = await terminalServer();
    const [one, two] = await Promise.all([server.connect(), server.connect()]);
    await expect.poll(() => one.output !== "" && two.output !== "").toBe(true);
    server.backend.last.print("shared");
    await expect.poll(() => one.output.endsWith("shared") && two.output.endsWith("shared")).toBe(true);
    one.type("1");
    two.type("2");
    await expect.poll(() => server.backend.last.inputs.toSorted()).toEqual(["1", "2"]);
    one.socket.close();
    await one.closed;
    server.backend.last.print("!");
    await expect.poll(() => two.output.endsWith("!")).toBe(true);
  });

  it("gives a viewer that comes back the screen, not all that was ever written", async () => {
    await using server = await terminalServer({ limits: { terminalScrollbackLines: 5 } });
    const first = await server.connect();
    for (let line = 0; line < 200; line += 1) server.backend.last.print(`line ${line}\r\n`);
    await expect.poll(() => first.output).toContain("line 199");
    first.socket.terminate();
    const second = await server.connect();
    await expect.poll(() => second.output).toContain("line 199");
    expect(second.output).toContain("line 190");
    expect(second.output).not.toContain("line 150");
  });

  it("drops what a viewer types who only watches, and its sizes", async () => {
    await using server = await terminalServer();
    const watcher = await server.connect("?view=true", { hello: { columns: 7, rows: 7 } });
    const other = await server.connect();
    watcher.type("evil\r");
    watcher.resize(9, 9);
    await expect.poll(() => watcher.output).not.toBe("");
    other.type("good");
    await expect.poll(() => server.backend.last.inputs).toEqual(["good"]);
    expect(server.backend.last.sizes).toEqual([]);
    expect(watcher.preferences).toEqual([{ disableStdin: true }]);
    // What it sent came before what another sent later and what has arrived.
    server.backend.last.print("x");
    await expect.poll(() => watcher.output.endsWith("x")).toBe(true);
    expect(server.backend.last.inputs).toEqual(["good"]);
  });

  it("wants ttyd's JSON first, and passes over what has no meaning later", async () => {
    await using server = await terminalServer();
    const rude = await server.connect("", { hello: null });
    rude.type("ls");
    expect((await rude.closed).code).toBe(1008);
    const odd = await server.connect();
    odd.socket.send("1{nonsense");
    odd.socket.send("9");
    odd.socket.send(Buffer.alloc(0));
    odd.type("fine");
    await expect.poll(() => server.backend.last.inputs).toEqual(["fine"]);
    odd.socket.send(Buffer.alloc(70_000, 0x30));
    expect((await odd.closed).code).toBe(1009);
    expect(server.backend.last.inputs).toEqual(["fine"]);
  });

  it("F06: survives whatever viewers send, and goes on with the others", async () => {
    await using server = await terminalServer();
    const good = await server.connect();
    await expect.poll(() => good.output).not.toBe("");
    const messages = fc.sample(
      fc
        .tuple(fc.constantFrom("", "1", "2", "3", "4", "{", "\u0000"), fc.uint8Array({ maxLength: 300 }))
        .map(([kind, rest]) => Buffer.concat([Buffer.from(kind), rest]))
        // What is typed is the program's to bear.
        .filter((message) => message[0] !== 0x30),
      300,
    );
    const clients = await Promise.all([0, 1, 2].map((index) => server.connect("", index === 0 ? { hello: null } : {})));
    for (const [index, message] of messages.entries()) clients[index % 3]?.socket.send(message);
    // Frames that are none: the codec's to refuse.
    Reflect.get(clients[1]?.socket ?? {}, "_socket").write(Buffer.alloc(64, 0xff));
    await clients[0]?.closed;
    expect((await clients[1]?.closed)?.code).not.toBe(1000);
    good.type("still here");
    await expect.poll(() => server.backend.last.inputs).toEqual(["still here"]);
    expect((await server.get("/health")).status).toBe(200);
  });

  it("says to a plain request what it is, and refuses a terminal or a session that there is not", async () => {
    await using server = await terminalServer();
    expect((await server.get(`/ws/term/${server.sessionId}`)).status).toBe(426);
    await expect(server.connect("?terminal=t9")).rejects.toThrow("refused with 404");
    await expect(TtydClient.open(`${server.url}/ws/term/box_w1_001_0`)).rejects.toThrow("refused with 404");
    await expect.poll(() => server.engine.loans.count).toBe(0);
  });

  it("D01: is for no foreign page", async () => {
    await using server = await terminalServer();
    await expect(server.connect("", { origin: "http://evil.example" })).rejects.toThrow("refused with 403");
    await expect(server.connect("", { headers: { host: "evil.example" } })).rejects.toThrow("refused with 403");
  });

  it("is cut when its session ends, and the terminal's end is told before the session's", async () => {
    await using server = await terminalServer();
    const client = await server.connect();
    await expect.poll(() => client.output).not.toBe("");
    await server.post("/api/v1/session/destroy", { worker_id: "w1", resource_type: "box" });
    expect((await client.closed).code).toBe(1001);
    const types = server.told.map(({ type }) => type);
    expect(types.indexOf("terminal_stopped")).toBeGreaterThan(0);
    expect(types.indexOf("terminal_stopped")).toBeLessThan(types.indexOf("sandbox_terminated"));
    expect(types.at(-1)).toBe("session.ended");
  });

  it("F11: is cut when the server stops, which does not wait for it", async () => {
    const server = await terminalServer();
    const client = await server.connect();
    await expect.poll(() => client.output).not.toBe("");
    await server.stop();
    expect([1001, 1006]).toContain((await client.closed).code);
  });
});

describe("a viewer that is slow", () => {
  it("is given the screen anew when it paused for too much, and holds nobody up", async () => {
    await using server = await terminalServer({ limits: { terminalBufferBytes: 2_000, terminalScrollbackLines: 10 } });
    const [slow, quick] = [await server.connect(), await server.connect()];
    await expect.poll(() => slow.output !== "" && quick.output !== "").toBe(true);
    slow.pause();
    // Its pause has been heard once what it types next is.
    slow.type("now");
    await expect.poll(() => server.backend.last.inputs).toEqual(["now"]);
    const before = slow.output;
    for (let line = 0; line < 300; line += 1) server.backend.last.print(`number ${line}\r\n`);
    await expect.poll(() => quick.output).toContain("number 299");
    expect(slow.output).toBe(before);
    slow.resume();
    await expect.poll(() => slow.output).toContain("number 299");
    const missed = slow.output.slice(before.length);
    expect(missed.startsWith("\u001bc")).toBe(true);
    expect(missed).not.toContain("number 200\r");
    server.backend.last.print("live");
    await expect.poll(() => slow.output.endsWith("live")).toBe(true);
  });

  it("misses nothing when it paused for little", async () => {
    await using server = await terminalServer();
    const client = await server.connect();
    await expect.poll(() => client.output).toBe("\u001bc");
    client.pause();
    client.type("now");
    await expect.poll(() => server.backend.last.inputs).toEqual(["now"]);
    server.backend.last.print("one ");
    server.backend.last.print("two");
    await expect.poll(async () => (await server.execute("terminal:read")).body.data.screen.lines[0]).toBe("one two");
    expect(client.output).toBe("\u001bc");
    client.resume();
    await expect.poll(() => client.output).toBe("\u001bcone two");
  });

  it("is cut off when it gives no sign of life", async () => {
    const clock = new ManualClock();
    await using server = await terminalServer({ clock, limits: { streamHeartbeatMs: 50 } });
    const silent = await server.connect("", { autoPong: false });
    const alive = await server.connect();
    await expect.poll(() => [silent, alive].map(({ output }) => output !== "")).toEqual([true, true]);
    for (let beat = 0; beat < 4; beat += 1) {
      const asked = once(alive.socket, "ping");
      // oxlint-disable-next-line no-await-in-loop
      await clock.advance(50);
      // oxlint-disable-next-line no-await-in-loop
      await asked;
      // The server reads in order: once it answers this, it has heard the sign of life.
      alive.socket.ping();
      // oxlint-disable-next-line no-await-in-loop
      await once(alive.socket, "pong");
    }
    expect((await silent.closed).code).toBe(1006);
    expect(alive.socket.readyState).toBe(alive.socket.OPEN);
  });
});

describe("control of a terminal", () => {
  it("is a human's who takes it: agents are refused, other viewers dropped, the holder types", async () => {
    await using server = await terminalServer();
    const other = await server.connect();
    const { body } = await server.post(server.at("/control/take"), { holder: "Ada" });
    const { lease } = body.data;
    const holder = await server.connect(`?lease=${lease}`);
    const refused = await server.execute("terminal:write", { text: "agent" });
    expect(refused).toMatchObject({ status: 409, body: { meta: { error: "control_taken", retryable: true } } });
    expect(refused.body.data).toMatchObject({ holder: "Ada" });
    expect((await server.execute("terminal:resize", { columns: 9, rows: 9 })).status).toBe(409);
    expect((await server.post(server.at("/terminal/stop"), {})).status).toBe(409);
    expect((await server.execute("terminal:read")).status).toBe(200);
    other.type("other");
    holder.type("holder");
    await expect.poll(() => server.backend.last.inputs).toContain("holder");
    expect((await server.execute("terminal:write", { text: "mine" }, { control_lease: lease })).status).toBe(200);
    expect(server.backend.last.inputs).toEqual(["holder", "mine"]);
    expect((await server.get(server.at("/control"))).body.data).toMatchObject({ taken: true, holder: "Ada" });
    expect(JSON.stringify((await server.get(server.at("/control"))).body)).not.toContain(lease);
    expect((await server.post(server.at("/control/take"), { holder: "Bob" })).status).toBe(409);
    expect((await server.post(server.at("/control/release"), { lease: "no" })).status).toBe(409);
    expect((await server.post(server.at("/control/release"), { lease })).body.data).toEqual({ released: true });
    expect((await server.execute("terminal:write", { text: "agent" })).status).toBe(200);
    other.type("other");
    await expect.poll(() => server.backend.last.inputs).toEqual(["holder", "mine", "agent", "other"]);
  });

  it("says of every input who made it", async () => {
    await using server = await terminalServer();
    const { lease } = (await server.post(server.at("/control/take"), {})).body.data;
    await server.execute("terminal:write", { text: "1234" }, { control_lease: lease });
    await server.post(server.at("/control/release"), { lease });
    await server.execute("terminal:write", { text: "12" });
    server.backend.last.end();
    await expect
      .poll(() => eventsOf(server.told, "terminal.input"))
      .toEqual([
        ["terminal.input", "human", { terminal_id: "t1", bytes: 4 }],
        ["terminal.input", "agent", { terminal_id: "t1", bytes: 2 }],
      ]);
    const calls = server.told.filter(
      ({ type, data }) => type === "call.completed" && data["action"] === "terminal:write",
    );
    expect(calls.map(({ actor }) => actor)).toEqual(["human", undefined]);
  });
});

describe("keys and tickets", () => {
  it("let those watch who may read, those type who may execute, and a ticket once, for looking if it says so", async () => {
    const backend = new ScriptedTerminals();
    const wanted = { full: {}, reader: { scopes: ["box:read"] }, other: { tenant: "other" } };
    await using server = await keyedServer(wanted, { backends: [backend] });
    const { full, reader, other } = server.holders;
    const made = await full.post("/api/v1/session/create", { worker_id: "w1", resource_type: "box" });
    const sessionId: string = made.body.data.session_id;
    await full.post(`/api/v1/sandbox/${sessionId}/terminal/start`, {});
    const url = `${server.url}/ws/term/${sessionId}`;
    const bearer = ({ key }: { readonly key: string }) => ({ headers: { authorization: `Bearer ${key}` } });
    await expect(TtydClient.open(url)).rejects.toThrow("refused with 401");
    await expect(TtydClient.open(url, bearer(other))).rejects.toThrow("refused with 404");
    await expect(TtydClient.open(`${url}0`, bearer(other))).rejects.toThrow("refused with 404");
    const { entries } = (await full.get("/api/v1/audit")).body.data;
    const crossings = entries.filter((entry: { action: string }) => entry.action === "tenant.crossing");
    expect(crossings).toMatchObject([
      { tenant: "other", outcome: "refused", data: { id: sessionId, owner: "default" } },
    ]);
    const readers = await TtydClient.open(url, bearer(reader));
    const ticketOf = async (more: object) =>
      (await full.post("/api/v1/tickets", { purpose: sessionId, ...more })).body.data.ticket;
    const ticket = await ticketOf({});
    const byTicket = await TtydClient.open(`${url}?ticket=${ticket}`);
    await expect(TtydClient.open(`${url}?ticket=${ticket}`)).rejects.toThrow("refused with 401");
    const looker = await TtydClient.open(`${url}?ticket=${await ticketOf({ view_only: true })}&view=false`);
    readers.type("reader");
    looker.type("looker");
    await expect.poll(() => readers.output !== "" && looker.output !== "").toBe(true);
    byTicket.type("ticket");
    await expect.poll(() => backend.last.inputs).toEqual(["ticket"]);
    expect([readers, looker, byTicket].map(({ preferences }) => preferences[0]?.["disableStdin"])).toEqual([
      true,
      true,
      false,
    ]);
    expect((await reader.post(`/api/v1/sandbox/${sessionId}/control/take`, {})).status).toBe(403);
    expect((await other.post(`/api/v1/sandbox/${sessionId}/terminal/start`, {})).status).toBe(404);
    const used = await ticketOf({ view_only: true });
    const stolen = await fetch(`${server.url}/api/v1/session/${sessionId}/files?path=x&ticket=${used}`);
    expect(stolen.status).toBe(403);
    await full.post(`/api/v1/keys/${reader.id}/revoke`, {});
    expect((await readers.closed).code).toBe(1006);
  });
});
