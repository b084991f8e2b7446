import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import CodeBackend from "../../../src/backends/code/backend.ts";
import { createRuntimeSelector } from "../../../src/runtimes/selector.ts";
import { testServer } from "../../kit/test-server.ts";
import { TtydClient } from "../../kit/ttyd-client.ts";

const { local } = await createRuntimeSelector().status(AbortSignal.timeout(60_000));
const why = local?.available === true ? "" : ` (skipped: ${local?.reason})`;
/** For what a real shell does on a machine that does much else. */
const POLL = { timeout: 60_000 };

async function codeServer() {
  const runtimes = createRuntimeSelector({ order: ["local"] });
  onTestFinished(() => runtimes.close());
  const server = await testServer({ backends: [new CodeBackend({ config: { runtime: "local" }, runtimes })] });
  onTestFinished(() => server.stop({ force: true }));
  const { body } = await server.post("/api/v1/session/create", {
    worker_id: "w1",
    resource_type: "code",
    project: "p1",
  });
  const sessionId: string = body.data.session_id;
  const at = (rest: string) => `/api/v1/sandbox/${sessionId}${rest}`;
  const screen = async (): Promise<readonly string[]> => (await server.execute("terminal:read")).body.data.screen.lines;
  return { server, sessionId, at, screen };
}

describe.skipIf(local?.available !== true)(`a terminal in a session of local${why}`, () => {
  it("is a real one: a tty of its size, line editing, ctrl+c, colours, an exit code", async () => {
    const { server, at, screen } = await codeServer();
    const started = await server.post(at("/terminal/start"), { columns: 90, rows: 12, env: { PS1: "> " } });
    expect(started.body.data).toMatchObject({ terminal_id: "t1", columns: 90, rows: 12, command: [] });
    await server.execute("terminal:write", { text: "stty size; test -t 0 && echo $TERM; pwd", enter: true });
    await expect.poll(screen, POLL).toEqual(expect.arrayContaining(["12 90", "xterm-256color", "/workspace"]));
    await server.execute("terminal:write", { text: "sleep 1000", enter: true });
    await expect.poll(async () => (await screen()).join("\n"), POLL).toContain("sleep 1000");
    await server.execute("terminal:write", { text: "\u0003echo wrongg\u007f-word", enter: true });
    await expect.poll(screen, POLL).toEqual(expect.arrayContaining(["wrong-word"]));
    await server.execute("terminal:resize", { columns: 40, rows: 20 });
    await server.execute("terminal:write", { text: "clear; stty size", enter: true });
    await expect.poll(screen, POLL).toEqual(expect.arrayContaining(["20 40"]));
    await server.execute("terminal:write", { text: "exit 3", enter: true });
    const status = async () => (await server.get(at("/terminal"))).body.data;
    await expect.poll(status, POLL).toMatchObject({ running: 0, terminals: [{ running: false, exit_code: 3 }] });
    expect((await server.execute("terminal:write", { text: "x" })).body.meta.error).toBe("conflict");
    expect((await server.execute("bash:list")).body.data.commands).toEqual([]);
  });

  it("is read by cursor, each byte once, and waits for what comes", async () => {
    const { server, at } = await codeServer();
    await server.post(at("/terminal/start"), { command: "printf one; read x; printf two; read x" });
    const read = async (cursor: number) =>
      (await server.execute("terminal:read", { cursor, wait_ms: 10_000, screen: false })).body.data;
    const first = await read(0);
    expect(first).toMatchObject({ text: "one", cursor: 3, skipped_bytes: 0, ended: false, screen: null });
    const waiting = read(first.cursor);
    await server.execute("terminal:write", { enter: true, text: "" });
    let text = (await waiting).text;
    for (let { cursor } = await waiting; !text.includes("two"); ) {
      // oxlint-disable-next-line no-await-in-loop -- each read goes on where the last one ended
      const next = await read(cursor);
      text += next.text;
      ({ cursor } = next);
    }
    expect(text).toBe("\r\ntwo");
  });

  it("is recorded, for a download past the model's context", async () => {
    const { server, at, sessionId } = await codeServer();
    await server.post(at("/terminal/start"), { command: ["printf", "recorded"], columns: 33, rows: 7 });
    await expect.poll(async () => (await server.get(at("/terminal"))).body.data.running, POLL).toBe(0);
    const answer = await server.execute("terminal:recording", { path: "session.cast" });
    expect(answer.body.data).toMatchObject({
      format: "asciicast-v2",
      complete: true,
      path: "session.cast",
      cast: null,
    });
    const file = await fetch(`${server.url}/api/v1/session/${sessionId}/files?path=session.cast`);
    const [head, ...events] = (await file.text())
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(head).toMatchObject({ version: 2, width: 33, height: 7 });
    expect(events.map(([, code, text]) => [code, text])).toEqual([["o", "recorded"]]);
  });

  it("keeps what a flood leaves in bounds, and shows its end", async () => {
    const { server, at, sessionId } = await codeServer();
    await server.post(at("/terminal/start"), { command: "seq 1 400000; echo the end; read x" });
    const client = await TtydClient.open(`${server.url}/ws/term/${sessionId}`);
    await expect.poll(() => client.output.includes("the end")).toBe(true);
    const { body } = await server.execute("terminal:read", { cursor: 0 });
    expect(body.data.skipped_bytes).toBeGreaterThan(1_000_000);
    expect(body.data.screen.lines).toEqual(expect.arrayContaining(["the end"]));
    client.socket.close();
  });

  it("is refused while the sandbox is paused, and goes on afterwards", async () => {
    const { server, at } = await codeServer();
    await server.post(at("/terminal/start"), { command: "cat" });
    await server.execute("sandbox:pause");
    const refused = await server.execute("terminal:write", { text: "x" });
    expect(refused.body.meta.error).toBe("conflict");
    await server.execute("sandbox:resume");
    await server.execute("terminal:write", { text: "again", enter: true });
    const shown = async () => (await server.execute("terminal:read")).body.data.screen.lines;
    await expect.poll(shown, POLL).toEqual(expect.arrayContaining(["again", "again"]));
  });

  it("is one of as many as may run, and all end with their session", async () => {
    const { server, at } = await codeServer();
    const starts = await Promise.all(Array.from({ length: 9 }, () => server.post(at("/terminal/start"), {})));
    expect(starts.map(({ status }) => status).toSorted()).toEqual([200, 200, 200, 200, 200, 200, 200, 200, 500]);
    expect(starts.find(({ status }) => status === 500)?.body).toMatchObject({
      data: { limit: "terminals_per_session", maximum: 8 },
      meta: { error: "limit_exceeded" },
    });
    const stopped = await server.post(at("/terminal/stop"), { terminal_id: "t3" });
    expect(stopped.body.data).toMatchObject({ terminal_id: "t3", running: false, signal: "SIGHUP" });
    expect((await server.post(at("/terminal/start"), {})).status).toBe(200);
    await server.post("/api/v1/session/destroy", { worker_id: "w1", resource_type: "code" });
    const reasons = async (): Promise<readonly string[]> => {
      const { body } = await server.get("/api/v1/events?format=json&after=0&type=terminal_stopped");
      return body.data.events.map(({ data }: { data: { reason: string } }) => data.reason).toSorted();
    };
    // Events are shown once they are written.
    await expect.poll(reasons, POLL).toEqual([...Array.from({ length: 8 }, () => "session_ended"), "stopped"]);
  });
});

describe.skipIf(local?.available !== true)(`the sandbox from outside, in local${why}`, () => {
  it("is reached by the session's own tools, whose events are of its project", async () => {
    const { server, at } = await codeServer();
    const run = await server.post(at("/execute"), { command: "echo from outside; exit 4", trace_id: "mine" });
    expect(run.body).toMatchObject({
      data: { stdout: "from outside\n", exit_code: 4 },
      meta: { tool: "bash:run", outcome: "tool_error", trace_id: "mine" },
    });
    expect((await server.post(at("/execute"), { comand: "x" })).status).toBe(400);
    const desktop = await Promise.all([
      server.post(at("/desktop/start"), {}),
      server.post(at("/desktop/stop"), {}),
      server.get(at("/desktop")),
    ]);
    for (const { status, body } of desktop) {
      expect([status, body.meta.error]).toEqual([400, "tool_not_found"]);
      expect(body.message).toContain("desktop");
    }
    expect((await server.post("/api/v1/sandbox/code_none_1/execute", { command: "true" })).status).toBe(404);
    await server.post(at("/terminal/start"), {});
    await server.post(at("/terminal/stop"), {});
    await server.post("/api/v1/session/create", { worker_id: "w2", resource_type: "code" });
    await server.post("/api/v1/session/destroy", { worker_id: "w1", resource_type: "code" });
    const read = async (path: string): Promise<readonly Record<string, unknown>[]> =>
      (await server.get(`${path}format=json&after=0`)).body.data.events;
    // Events are shown once they are written.
    const newest = async () => (await read("/api/v1/sandbox/events/p1?")).at(-1)?.["type"];
    await expect.poll(newest, POLL).toBe("session.ended");
    const events = await read("/api/v1/sandbox/events/p1?");
    expect(new Set(events.map(({ project }) => project))).toEqual(new Set(["p1"]));
    expect(new Set(events.map(({ worker_id: worker }) => worker))).toEqual(new Set(["w1"]));
    const told = events.filter(({ type }) => String(type).includes("_"));
    const sandbox = { sandbox_id: expect.stringMatching(/^local_/) };
    expect(told.map(({ type, data }) => [type, data])).toEqual([
      ["sandbox_created", { ...sandbox, runtime: "local", isolation: "namespace", image: null }],
      [
        "command_executed",
        {
          ...sandbox,
          command: "echo from outside; exit 4",
          background: false,
          exit_code: 4,
          duration_ms: expect.any(Number),
        },
      ],
      ["terminal_started", expect.objectContaining({ ...sandbox, terminal_id: "t1", columns: 80, rows: 24 })],
      ["terminal_stopped", { ...sandbox, terminal_id: "t1", reason: "stopped", exit_code: null, signal: "SIGHUP" }],
      ["sandbox_terminated", { ...sandbox, reason: "destroyed" }],
    ]);
    expect(told.map(({ call_id: call }) => call !== null)).toEqual([false, true, true, false, false]);
    expect(await read("/api/v1/events?project=p1&")).toEqual(events);
    expect(await read("/api/v1/sandbox/events/none?")).toEqual([]);
    expect((await server.get("/api/v1/sandbox/events/p1?project=p2")).status).toBe(400);
  });
});

describe.skipIf(local?.available !== true)(`a project${why}`, () => {
  it("stays with a session's events in the data folder", async () => {
    const folder = await mkdtemp(join(tmpdir(), "toolyard-project-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const { openStore } = await import("../../../src/store/open-store.ts");
    const store = await openStore({ driver: "sqlite", dataDir: folder });
    const runtimes = createRuntimeSelector({ order: ["quickjs"] });
    onTestFinished(() => runtimes.close());
    const backend = new CodeBackend({ config: { runtime: "quickjs" }, runtimes });
    const server = await testServer({ backends: [backend], store });
    await server.post("/api/v1/session/create", { worker_id: "w1", resource_type: "code", project: 'p "1"' });
    await server.execute("code:run", { language: "javascript", code: "1" });
    expect((await server.execute("terminal:start")).body.meta.error).toBe("runtime_unavailable");
    await server.stop();
    const filter = { tenant: "default", project: 'p "1"' };
    const { events } = await store.events.read(filter, { afterId: 0, limit: 100 });
    await store.close();
    expect(events.map(({ type }) => type)).toEqual([
      "session.created",
      "sandbox_created",
      "call.started",
      "call.completed",
      "call.started",
      "call.failed",
      "sandbox_terminated",
      "session.ended",
    ]);
  });
});
