import { describe, expect, test } from "vitest";
import { HttpServiceClient } from "../../src/client/http-client.ts";
import { Sandbox } from "../../src/client/sandbox.ts";
import type { ActionsOf } from "../../src/index.ts";
import { CounterBackend } from "../kit/counter-backend.ts";
import { ManualClock } from "../kit/manual-clock.ts";
import { ScriptedBackend } from "../kit/scripted-backend.ts";
import { testServer } from "../kit/test-server.ts";
import { startScriptedServer } from "./scripted-server.ts";
import { ShellBackend } from "./shell-backend.ts";

declare module "../../src/index.ts" {
  interface ActionMap extends ActionsOf<ShellBackend, "box", { run: "shell:run" }> {}
}

const fakeEntry = new URL("fake-entry.ts", import.meta.url);

async function open(options: ConstructorParameters<typeof Sandbox>[0]) {
  return Sandbox.open({ heartbeatIntervalMs: 0, ...options });
}

describe("calls", () => {
  test("execute returns the data and throws the tool's failure; call returns both as values", async () => {
    await using server = await testServer({ backends: [new ShellBackend({ config: {} })] });
    await using sandbox = await open({ serverUrl: server.url });
    await expect(sandbox.execute("shell:run")).resolves.toMatchObject({ command: "true", ran: 1 });
    await expect(sandbox.call("shell:run", { command: 7 })).resolves.toMatchObject({
      ok: false,
      error: { outcome: "rejected" },
    });
    await expect(sandbox.call("no:tool")).resolves.toMatchObject({ ok: false, error: { error: "tool_not_found" } });
    // @ts-expect-error the command is text
    await expect(sandbox.execute("shell:run", { command: 7 })).rejects.toMatchObject({ name: "ServerError" });
  });

  test("every call on a resource runs in the session that was created for it, whatever the tool's prefix", async () => {
    await using server = await testServer({ backends: [new ShellBackend({ config: {} })] });
    await using sandbox = await open({ serverUrl: server.url });
    const { sessions } = await sandbox.createSession("box");
    const first = await sandbox.execute("shell:run", { command: "ls" });
    expect(first.session_id).toBe(sessions["box"]?.session_id);
    await sandbox.call("shell_run");
    await sandbox.batch([{ action: "shell.run" }, { action: "run" }]);
    await expect(sandbox.execute("box:count_runs")).resolves.toEqual({ ran: 4 });
  });

  test("a call in a session that is gone is a typed error, never a fresh session", async () => {
    const counter = new CounterBackend();
    await using server = await testServer({ backends: [counter] });
    await using sandbox = await open({ serverUrl: server.url, workerId: "w1" });
    await sandbox.createSession("counter", { start: 5 });
    await new HttpServiceClient({ baseUrl: server.url, workerId: "w1" }).destroySession("counter");
    const results = [
      await sandbox.call("counter:incr"),
      await sandbox.call("incr"),
      ...(await sandbox.batch([{ action: "counter:incr" }])).results,
    ];
    for (const result of results) expect(result).toMatchObject({ ok: false, error: { error: "session_not_found" } });
    expect(counter.initialized).toHaveLength(1);
    await sandbox.createSession("counter");
    await expect(sandbox.call("counter:incr")).resolves.toMatchObject({ ok: true, data: { value: 1 } });
  });

  test("a call in a session that expired says session_expired", async () => {
    const clock = new ManualClock();
    await using server = await testServer({ backends: [new CounterBackend()], clock });
    await using sandbox = await open({ serverUrl: server.url });
    await sandbox.createSession("counter", {}, { ttlMs: 1_000 });
    await clock.advance(2_000);
    await expect(sandbox.call("counter:incr")).resolves.toMatchObject({
      ok: false,
      error: { error: "session_expired" },
    });
  });

  test("a plain client sends a session id only when told to", async () => {
    await using server = await testServer({ backends: [new CounterBackend()] });
    await using client = new HttpServiceClient({ baseUrl: server.url, workerId: "w1" });
    const { session_id: sessionId } = await client.createSession("counter");
    await client.destroySession("counter");
    await expect(client.call("counter:get")).resolves.toMatchObject({ ok: true, meta: { temporary_session: true } });
    await expect(client.call("counter:get", {}, { sessionId })).resolves.toMatchObject({
      ok: false,
      error: { error: "session_not_found" },
    });
  });

  test("a call's timeout is the server's to report", async () => {
    const counter = new CounterBackend();
    await using server = await testServer({ backends: [counter] });
    await using sandbox = await open({ serverUrl: server.url });
    const result = await sandbox.call("counter:hold", { gate: "never" }, { timeoutMs: 50 });
    expect(result).toMatchObject({ ok: false, error: { error: "timeout", outcome: "limit" } });
  });
});

describe("sessions", () => {
  test("creates one, several, or several with a config and a name each", async () => {
    const counter = new CounterBackend();
    const tally = new CounterBackend({ resource: "tally" });
    await using server = await testServer({ backends: [counter, tally] });
    await using sandbox = await open({ serverUrl: server.url, workerId: "w1" });
    await expect(sandbox.createSession(["counter", "tally"])).resolves.toMatchObject({
      status: "success",
      total: 2,
      success: 2,
      sessions: { counter: { status: "success", config_applied: true }, tally: { status: "success" } },
    });
    await sandbox.destroySession();
    const created = await sandbox.createSession({ counter: { start: 7, custom_name: "mine", ttl: 60 }, tally: null });
    expect(created.sessions["counter"]?.session_name).toMatch(/^counter_w1_\d+_mine$/);
    expect(counter.initialized.at(-1)?.config).toEqual({ start: 7 });
    await expect(sandbox.call("counter:get")).resolves.toMatchObject({ data: { value: 7 } });
  });

  test("D26: a session that exists is a success that says so, with its id and without the new config", async () => {
    await using server = await testServer({ backends: [new CounterBackend()] });
    await using sandbox = await open({ serverUrl: server.url });
    const first = await sandbox.createSession("counter");
    const second = await sandbox.createSession("counter", { start: 9 });
    expect(second).toMatchObject({
      status: "success",
      success: 1,
      sessions: {
        counter: { status: "exists", config_applied: false, session_id: first.sessions["counter"]?.session_id },
      },
    });
  });

  test("says which of several sessions failed, and why", async () => {
    const broken = new CounterBackend({ resource: "broken" });
    broken.onInitialize = () => Promise.reject(new Error("no disk"));
    await using server = await testServer({ backends: [new CounterBackend(), broken] });
    await using sandbox = await open({ serverUrl: server.url });
    await expect(sandbox.createSession(["counter", "broken"])).resolves.toMatchObject({
      status: "partial",
      success: 1,
      sessions: { broken: { status: "error", session_id: null, error: { error: "session_init_failed" } } },
    });
    await expect(sandbox.createSession("broken")).resolves.toMatchObject({ status: "error", success: 0 });
  });

  test("a resource that is not mounted is an error with near names, and leaves no session behind", async () => {
    await using server = await testServer({ backends: [new CounterBackend()] });
    await using sandbox = await open({ serverUrl: server.url });
    const refused = {
      status: "error",
      session_id: null,
      config_applied: false,
      message: expect.stringContaining("did you mean counter"),
      error: { error: "unknown_name", status: 404 },
    };
    await expect(sandbox.createSession("countre")).resolves.toMatchObject({
      status: "error",
      success: 0,
      sessions: { countre: refused },
    });
    await expect(sandbox.createSession(["counter", "countre"])).resolves.toMatchObject({
      status: "partial",
      success: 1,
      sessions: { counter: { status: "success" }, countre: refused },
    });
    await expect(sandbox.reinitialize("countre")).rejects.toMatchObject({ name: "ServerError", error: "unknown_name" });
    expect((await sandbox.listSessions()).map((session) => session.resource_type)).toEqual(["counter"]);
  });

  test("a resource that keeps no sessions is a success that says so", async () => {
    await using server = await testServer({ backends: [new ScriptedBackend()] });
    await using sandbox = await open({ serverUrl: server.url });
    await expect(sandbox.createSession("probe")).resolves.toMatchObject({
      status: "success",
      sessions: { probe: { status: "success", message: expect.stringContaining("keeps no sessions") } },
    });
  });

  test("D26: reinitialize and destroySession answer the real session ids", async () => {
    const counter = new CounterBackend();
    await using server = await testServer({ backends: [counter] });
    await using sandbox = await open({ serverUrl: server.url });
    const created = await sandbox.createSession("counter", { start: 1 });
    const again = await sandbox.reinitialize("counter", { start: 2, custom_name: "second" });
    expect(again.old_session_id).toBe(created.sessions["counter"]?.session_id);
    expect(again.session_id).not.toBe(again.old_session_id);
    expect(again.session_name).toContain("_second");
    await expect(sandbox.call("counter:get")).resolves.toMatchObject({
      data: { value: 2, session_id: again.session_id },
    });
    await expect(sandbox.destroySession("counter")).resolves.toMatchObject({
      status: "success",
      details: { counter: { status: "success", session_id: again.session_id } },
    });
    await expect(sandbox.destroySession("counter")).resolves.toMatchObject({ status: "error", success: 0 });
    await expect(sandbox.reinitialize("counter")).resolves.toMatchObject({ old_session_id: null });
  });

  test("lists, refreshes and reports what the worker has", async () => {
    await using server = await testServer({ backends: [new CounterBackend()] });
    await using sandbox = await open({ serverUrl: server.url });
    await sandbox.createSession("counter");
    await expect(sandbox.listSessions("counter")).resolves.toMatchObject([{ resource_type: "counter" }]);
    await expect(sandbox.refresh()).resolves.toMatchObject({ refreshed_count: 1 });
    await expect(sandbox.refresh("counter", { ttlMs: 5_000 })).resolves.toMatchObject({ resource_type: "counter" });
    await expect(sandbox.status()).resolves.toMatchObject({ active_resources: ["counter"] });
    await expect(sandbox.heartbeat()).resolves.toMatchObject({ active_sessions: ["counter"] });
    const tools = await sandbox.tools();
    expect(tools.map((tool) => tool.full_name)).toContain("counter:incr");
  });

  test("heartbeats keep an idle session alive while the sandbox is open", async () => {
    const serverClock = new ManualClock();
    const clock = new ManualClock();
    await using server = await testServer({ backends: [new CounterBackend()], clock: serverClock });
    await using sandbox = await Sandbox.open({ serverUrl: server.url, heartbeatIntervalMs: 1_000, clock });
    await sandbox.createSession("counter", {}, { ttlMs: 1_500 });
    const expiry = async () => (await sandbox.listSessions())[0]?.expires_at;
    const before = await expiry();
    await serverClock.advance(1_000);
    await clock.advance(1_000);
    await expect.poll(expiry).not.toBe(before);
  });
});

describe("opening and closing", () => {
  test("D17: close ends the sessions that the sandbox made, and no others", async () => {
    const counter = new CounterBackend();
    await using server = await testServer({ backends: [counter, new CounterBackend({ resource: "tally" })] });
    const other = new HttpServiceClient({ baseUrl: server.url, workerId: "w1" });
    const { session_id: kept } = await other.createSession("tally");
    const sandbox = await open({ serverUrl: server.url, workerId: "w1" });
    await sandbox.createSession(["counter", "tally"]);
    await sandbox.close();
    await sandbox.close();
    expect((await other.listSessions()).map(({ session_id }) => session_id)).toEqual([kept]);
    await expect(sandbox.call("counter:get")).rejects.toThrow("the sandbox is closed");
  });

  test("D17: keepSessions leaves them for the next sandbox of the worker", async () => {
    await using server = await testServer({ backends: [new CounterBackend()] });
    const options = { serverUrl: server.url, workerId: "w1", keepSessions: true };
    {
      await using first = await open(options);
      await first.createSession("counter", { start: 4 });
    }
    await using second = await open({ ...options, keepSessions: false });
    await expect(second.createSession("counter")).resolves.toMatchObject({
      sessions: { counter: { status: "exists" } },
    });
    await expect(second.call("counter:get")).resolves.toMatchObject({ data: { value: 4 } });
  });

  test("close does not fail when the server is gone", async () => {
    const server = await testServer({ backends: [new CounterBackend()] });
    const sandbox = await open({ serverUrl: server.url, maxRetries: 0 });
    await sandbox.createSession("counter");
    await server.stop({ force: true });
    await sandbox.close();
  });

  test("says that no server answers at the url", async () => {
    const free = await startScriptedServer(() => {});
    await free[Symbol.asyncDispose]();
    await expect(Sandbox.open({ serverUrl: free.url })).rejects.toMatchObject({
      name: "ConnectionError",
      failure: "unreachable",
      suggestion: expect.stringContaining("toolyard serve"),
    });
    await expect(
      Sandbox.open({ serverUrl: "http://192.0.2.1:9", autoStart: true, fetch: refuse }),
    ).rejects.toMatchObject({ error: "invalid_url" });
  });

  test("starts a server at the url when none answers there and it may", async () => {
    const free = await startScriptedServer(() => {});
    await free[Symbol.asyncDispose]();
    await using sandbox = await open({ serverUrl: free.url, autoStart: true, serverEntry: fakeEntry });
    expect(sandbox.serverUrl).toBe(free.url);
  });

  test("D17: without a url it starts a server, shares it with its like and ends it with the last of them", async () => {
    const one = new Sandbox({ serverEntry: fakeEntry, heartbeatIntervalMs: 0 });
    const two = new Sandbox({ serverEntry: fakeEntry, heartbeatIntervalMs: 0 });
    const pids = await Promise.all([one.call("pid"), two.call("pid"), one.call("pid")]);
    const [pid] = pids.map((result) => result.ok && result.data);
    expect(pids.map((result) => result.ok && result.data)).toEqual([pid, pid, pid]);
    expect(one.workerId).not.toBe(two.workerId);
    await one.close();
    await expect(two.call("pid")).resolves.toMatchObject({ ok: true, data: pid });
    const url = two.serverUrl;
    await two.close();
    await expect(new HttpServiceClient({ baseUrl: url ?? "", maxRetries: 0 }).health()).rejects.toMatchObject({
      failure: "unreachable",
    });
  });

  test("a server that does not start is reported, and the next method tries again", async () => {
    const sandbox = new Sandbox({ serverEntry: fakeEntry, configPath: "crash" });
    await expect(sandbox.start()).rejects.toThrow("no such backend");
    await expect(sandbox.call("pid")).rejects.toThrow("no such backend");
    await sandbox.close();
  });

  test("a server of its own that died is reported as such, with how it ended", async () => {
    await using sandbox = await open({ serverEntry: fakeEntry, configPath: "mortal" });
    const { pid } = (await sandbox.client?.executeUntyped<{ pid: number }>("pid")) ?? expect.fail("it is not open");
    process.kill(pid, "SIGKILL");
    await expect
      .poll(() => sandbox.call("pid").catch((error: unknown) => error))
      .toMatchObject({ name: "ServerEndedError", exit: { signal: "SIGKILL" } });
  });

  test("sandboxes of many workers share one server and one pool of connections", async () => {
    await using server = await testServer({ backends: [new CounterBackend()] });
    await using first = await open({ serverUrl: server.url });
    const workers = Array.from({ length: 20 }, (_, index) => first.forWorker(`w${index}`));
    await Promise.all(workers.map((worker, start) => worker.createSession("counter", { start })));
    const results = await Promise.all(workers.map((worker) => worker.call("counter:get")));
    expect(results.map((result) => result.ok && result.data)).toMatchObject(
      workers.map(({ workerId }, value) => ({ value, worker_id: workerId })),
    );
    await Promise.all(workers.map((worker) => worker.close()));
    await expect(first.client?.ready()).resolves.toMatchObject({ total_sessions: 0 });
  });

  test("warms up what it is told to at the start, and fails when that fails", async () => {
    const counter = new CounterBackend();
    await using server = await testServer({ backends: [counter] });
    await using sandbox = await open({ serverUrl: server.url, warmup: ["counter"] });
    expect(counter.warmups).toBe(1);
    await expect(sandbox.warmupStatus()).resolves.toMatchObject({ backends: { counter: { warmed_up: true } } });

    const broken = new CounterBackend({ resource: "broken" });
    broken.onWarmup = () => Promise.reject(new Error("no model"));
    await using second = await testServer({ backends: [broken] });
    await expect(open({ serverUrl: second.url, warmup: true })).rejects.toMatchObject({ error: "backend_unavailable" });
  });

  test("shutdownServer stops the server for everyone", async () => {
    await using server = await testServer({ backends: [new CounterBackend()] });
    const sandbox = await open({ serverUrl: server.url });
    await sandbox.createSession("counter");
    await sandbox.shutdownServer();
    await server.stopped;
  });
});

function refuse(): Promise<Response> {
  return Promise.reject(
    new TypeError("fetch failed", { cause: Object.assign(new Error("no"), { code: "ECONNREFUSED" }) }),
  );
}
