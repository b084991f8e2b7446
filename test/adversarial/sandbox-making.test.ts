import { describe, expect, it, onTestFinished } from "vitest";
import CodeBackend from "../../src/backends/code/backend.ts";
import type { SandboxInstance, SandboxSpec } from "../../src/core/runtime.ts";
import { FakeRuntime } from "../../src/runtimes/fake/runtime.ts";
import { createRuntimeSelector } from "../../src/runtimes/selector.ts";
import { Gate } from "../kit/gate.ts";
import { testServer, type TestServer } from "../kit/test-server.ts";

const script = () => ({ value: 2 });
const run = { action: "code:run", params: { language: "python", code: "1 + 1" } };
const living = ({ instances }: FakeRuntime) => instances.filter(({ isDead }) => !isDead).length;

/** A server of a code backend whose sandboxes one runtime makes, with room for so many sessions. */
async function serve(runtime: FakeRuntime, maxSessions = 100): Promise<TestServer> {
  const runtimes = createRuntimeSelector({ order: [runtime.name], runtimes: [runtime] });
  const server = await testServer({ backends: [new CodeBackend({ config: {}, runtimes })], limits: { maxSessions } });
  onTestFinished(async () => {
    await server[Symbol.asyncDispose]();
    await runtimes.close();
  });
  return server;
}

/** Makes each sandbox wait at a gate; `deaf` makes it go on whatever its signal says, as an engine may. */
class SlowRuntime extends FakeRuntime {
  readonly begun = new Gate();
  readonly made = new Gate();
  aborts = 0;
  readonly #deaf: boolean;

  constructor(deaf: boolean) {
    super({ script });
    this.#deaf = deaf;
  }

  override async create(spec: SandboxSpec, signal: AbortSignal): Promise<SandboxInstance> {
    signal.addEventListener("abort", () => (this.aborts += 1));
    this.begun.arrive();
    if (!this.#deaf) {
      await this.made.passedOr(signal);
      return super.create(spec, signal);
    }
    await this.made.passed;
    return super.create(spec, new AbortController().signal);
  }
}

describe("E05: a hundred first calls of a worker", () => {
  it.each([
    ["which has no session", false],
    ["half of which create it", true],
  ])("E05: make one sandbox, %s", async (_, creates) => {
    const runtime = new SlowRuntime(false);
    const server = await serve(runtime);
    const create = { worker_id: "w1", resource_type: "code" };
    const answering = Array.from({ length: 100 }, (_, index) =>
      creates && index % 2 === 0
        ? server.post("/api/v1/session/create", create)
        : server.post("/execute", { worker_id: "w1", ...run }),
    );
    await runtime.begun.arrived();
    // All of them have come while it is being made, and wait for it.
    const { router } = server.engine;
    const holders = () => router.find({ tenant: "default", workerId: "w1" }, "code")?.holders.size;
    await expect.poll(holders).toBe(100);
    runtime.made.open();
    const answers = await Promise.all(answering);
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    const ids = answers.map(({ body }) => body.meta.session_id ?? body.data.session_id);
    expect([new Set(ids).size, runtime.instances.length]).toEqual([1, 1]);
    // What no create asked for lives as long as the calls.
    if (!creates) await expect.poll(() => living(runtime)).toBe(0);
    else expect(living(runtime)).toBe(1);
  });
});

describe("E07: a client that goes away while its sandbox is made", () => {
  it.each([
    ["/execute", "stops at once", false, run],
    ["/execute", "makes it all the same", true, run],
    ["/api/v1/session/create", "stops at once", false, { resource_type: "code" }],
    ["/api/v1/session/create", "makes it all the same", true, { resource_type: "code" }],
  ])("E07: %s leaves no sandbox, and its place is free, where the engine %s", async (path, _, deaf, what) => {
    const runtime = new SlowRuntime(deaf);
    const server = await serve(runtime, 1);
    const body = JSON.stringify({ worker_id: "w1", ...what });
    const gone = new AbortController();
    const lost = fetch(server.url + path, { method: "POST", body, signal: gone.signal }).catch(() => "gone");
    await runtime.begun.arrived();
    // There is room for one session, and this one has it.
    const other = { worker_id: "w2", resource_type: "code" };
    expect((await server.post("/api/v1/session/create", other)).status).toBe(429);
    gone.abort();
    expect(await lost).toBe("gone");
    await expect.poll(() => runtime.aborts).toBe(1);
    if (deaf) runtime.made.open();
    await expect
      .poll(async () => (await server.get("/ready")).body)
      .toMatchObject({
        total_sessions: 0,
        ending_sessions: 0,
        active_calls: 0,
      });
    expect([runtime.instances.length, living(runtime)]).toEqual([deaf ? 1 : 0, 0]);
    runtime.made.open();
    expect((await server.post("/api/v1/session/create", other)).status).toBe(200);
    expect((await server.post("/execute", { worker_id: "w2", ...run })).body.data).toMatchObject({ result: 2 });
    expect(living(runtime)).toBe(1);
  });
});
