import { describe, expect, it, onTestFinished } from "vitest";
import VmBackend from "../../src/backends/vm/backend.ts";
import type { ToolyardEvent } from "../../src/core/events.ts";
import { lackingForDesktops, localRuntimes } from "../backends/vm/local-desktops.ts";
import { RfbViewer } from "../kit/rfb-viewer.ts";
import { testServer } from "../kit/test-server.ts";
import { TtydClient } from "../kit/ttyd-client.ts";

const lacking = await lackingForDesktops();
if (lacking !== undefined) console.warn(`skipped: the server's doors to a real desktop; ${lacking}`);

/** A server with a session that has a real desktop. */
async function vmServer() {
  const backend = new VmBackend({ config: { quiet_ms: 50, settle_ms: 500 }, runtimes: localRuntimes });
  const server = await testServer({ backends: [backend] });
  onTestFinished(() => server.stop({ force: true }));
  const told: ToolyardEvent[] = [];
  server.engine.bus.subscribe((event) => told.push(event));
  const { body } = await server.post("/api/v1/session/create", {
    worker_id: "w1",
    resource_type: "vm",
    session_config: { width: 640, height: 480 },
  });
  expect(body.code).toBe(0);
  const sessionId: string = body.data.session_id;
  const eventsOf = (prefix: string) =>
    told.filter(({ type }) => type.startsWith(prefix)).map(({ type, actor, data }) => [type, actor, data]);
  return { ...server, sessionId, told, eventsOf, at: (rest: string) => `/api/v1/sandbox/${sessionId}${rest}` };
}

describe.skipIf(lacking !== undefined)("the server's doors to a session with a desktop", () => {
  it("start and stop it over REST as its tools do, and each is told once with the seed's fields", async () => {
    const { get, post, at, sessionId, eventsOf, url, execute, told } = await vmServer();
    const path = `/ws/vnc/${sessionId}`;
    const up = { running: true, display: ":1", resolution: "640x480", url: path, port: null, viewers: 0 };
    const status = await get(at("/desktop"));
    expect(status.body).toMatchObject({ code: 0, data: { ...up, controlled_by: null } });
    const viewer = await RfbViewer.open(url + path);
    await expect.poll(async () => (await get(at("/desktop"))).body.data.viewers).toBe(1);
    const down = { running: false, url: null };
    expect((await post(at("/desktop/stop"), {})).body).toMatchObject({ code: 0, data: down });
    expect((await viewer.closed).code).toBe(1001);
    expect((await post(at("/desktop/stop"), {})).body).toMatchObject({ code: 0, data: down });
    await expect(RfbViewer.open(url + path)).rejects.toThrow("refused with 409");
    expect((await execute("vm:stream_url")).status).toBe(409);
    const again = await post(at("/desktop/start"), { width: 800, height: 600 });
    expect(again.body).toMatchObject({ code: 0, data: { running: true, resolution: "800x600" } });
    expect((await execute("vm:screenshot")).body.data.size).toEqual([800, 600]);
    await post("/api/v1/session/destroy", { worker_id: "w1", resource_type: "vm" });
    const { sandbox_id: sandboxId } = status.body.data;
    const start = { sandbox_id: sandboxId, url: path, display: ":1", resolution: "640x480", port: null };
    expect(eventsOf("desktop_")).toEqual([
      ["desktop_started", undefined, start],
      ["desktop_stopped", undefined, { sandbox_id: sandboxId, reason: "stopped" }],
      ["desktop_started", undefined, { ...start, resolution: "800x600" }],
      ["desktop_stopped", undefined, { sandbox_id: sandboxId, reason: "session_ended" }],
    ]);
    // The sandbox's own life is around the desktop's.
    const lives = told.map(({ type }) => type).filter((type) => /^(session\.|sandbox_|desktop_)/.test(type));
    expect(lives).toEqual([
      "session.created",
      "sandbox_created",
      ...eventsOf("desktop_").map(([type]) => type),
      "sandbox_terminated",
      "session.ended",
    ]);
  });

  it("open terminals beside it, in its display's own environment, which people watch as any other", async () => {
    const { get, post, at, sessionId, url, execute, eventsOf } = await vmServer();
    const started = await post(at("/terminal/start"), { command: ["sh"] });
    expect(started.body).toMatchObject({ code: 0, meta: { tool: "vm:terminal_start" }, data: { terminal_id: "t1" } });
    const client = await TtydClient.open(`${url}/ws/term/${sessionId}`);
    await execute("vm:terminal_write", { text: "echo on $DISPLAY; exit 3", enter: true });
    await expect.poll(() => client.output).toContain("on :1");
    await expect.poll(async () => (await get(at("/terminal"))).body.data.terminals[0]).toMatchObject({ exit_code: 3 });
    expect(eventsOf("terminal_").map(([type]) => type)).toEqual(["terminal_started", "terminal_stopped"]);
    const cast = await execute("vm:terminal_recording");
    expect(cast.body.data.cast).toContain("on :1");
  });

  it("refuse the agent whatever changes the desktop while a human has control, a batch in its middle too", async () => {
    const { post, at, execute, told } = await vmServer();
    const { body } = await post(at("/control/take"), { holder: "Ada" });
    const lease: string = body.data.lease;
    const refused = { status: 409, body: { meta: { error: "control_taken" }, data: { holder: "Ada" } } };
    for (const [action, params] of [
      ["vm:click", { x: 5, y: 5 }],
      ["vm:batch", { actions: [{ action: "wait", duration: 0 }, { action: "click" }] }],
      ["vm:run_command", { command: "true" }],
      ["vm:stop", {}],
      ["vm:model_action", { dialect: "openai_computer", action: { type: "click", x: 1, y: 1, button: "left" } }],
    ] as const) {
      expect([action, await execute(action, params)]).toMatchObject([action, refused]);
    }
    for (const action of ["vm:screenshot", "vm:status", "vm:cursor_position", "vm:history"]) {
      expect([action, (await execute(action)).status]).toEqual([action, 200]);
    }
    expect((await execute("vm:click", { x: 6, y: 7 }, { control_lease: lease })).status).toBe(200);
    await post(at("/control/release"), { lease });
    expect((await execute("vm:click", { x: 8, y: 9 })).status).toBe(200);
    const clicks = told.filter(({ type, data }) => type === "desktop.action" && data["action"] === "click");
    expect(clicks.map(({ actor, data }) => [actor, data["position"]])).toEqual([
      ["human", [6, 7]],
      [undefined, [8, 9]],
    ]);
  });

  it("cut short what the agent is in the middle of when a human takes control, with nothing left held down", async () => {
    const { post, at, execute, told } = await vmServer();
    const held = execute("vm:hold_key", { keys: "shift", duration: 60 });
    const started = () => told.some(({ type, data }) => type === "call.started" && data["action"] === "vm:hold_key");
    await expect.poll(started).toBe(true);
    const { body } = await post(at("/control/take"), { holder: "Ada" });
    expect(await held).toMatchObject({ status: 409, body: { meta: { error: "control_taken" } } });
    await post(at("/control/release"), { lease: body.data.lease });
    expect((await execute("vm:click", { x: 8, y: 9 })).status).toBe(200);
  });
});
