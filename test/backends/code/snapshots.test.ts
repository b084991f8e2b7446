import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import CodeBackend from "../../../src/backends/code/backend.ts";
import { createRuntimeSelector } from "../../../src/runtimes/selector.ts";
import type { SandboxRuntime } from "../../../src/core/runtime.ts";
import { describeDocker, openDeployment } from "../../kit/docker-engine.ts";
import { keyedServer } from "../../kit/keyed-server.ts";
import { testServer } from "../../kit/test-server.ts";
import { describeLocal } from "./local-sandboxes.ts";

/** A code backend on a real runtime, the local one unless another is given, whose snapshots go with the test. */
async function openBackend(config: Record<string, unknown> = {}, runtime?: SandboxRuntime) {
  const dataDir = await mkdtemp(join(tmpdir(), "toolyard-test-"));
  const runtimes = createRuntimeSelector(
    runtime === undefined ? { order: ["local"] } : { order: [runtime.name], runtimes: [runtime] },
  );
  onTestFinished(async () => {
    await runtimes.close();
    await rm(dataDir, { recursive: true, force: true });
  });
  return { dataDir, runtimes, backend: new CodeBackend({ config, runtimes, dataDir }) };
}

type Server = Awaited<ReturnType<typeof testServer>>;

/** Calls as a worker; the answer's data, or the failure's name. */
const as =
  (server: Server, worker: string) =>
  async (action: string, params: object = {}) => {
    const { body } = await server.execute(action, params, { worker_id: worker });
    return body.meta?.error === undefined ? body.data : { failed: body.meta.error, ...body.data };
  };
const create = (server: Server, worker: string, config: object = {}) =>
  server.post("/api/v1/session/create", { worker_id: worker, resource_type: "code", session_config: config });

const PREPARE = `
import math, random
numbers = [1, 2, 3]; alias = numbers
def double(x): return 2 * x
class Point:
    def __init__(self, x): self.x = x
point = Point(4)
handle = open('/dev/null')
`;

describeLocal("a snapshot", () => {
  it("holds files, variables and the shell, says what it could not hold, and outlives the server", async () => {
    const { dataDir, runtimes, backend } = await openBackend();
    let id: string;
    {
      await using server = await testServer({ backends: [backend] });
      await create(server, "w1");
      const call = as(server, "w1");
      await call("code:run", { language: "python", code: PREPARE });
      await call("bash:run", {
        command: "mkdir d; cd d; echo kept > f; ln -s /usr/bin/env tool; chmod 700 f; say() { echo said $1; }; v='a b'",
      });
      await call("code:run", { language: "javascript", code: "let lost = 1" });
      const taken = await call("sandbox:snapshot", { name: "first" });
      expect(taken).toMatchObject({
        id: expect.stringMatching(/^snap_/),
        name: "first",
        runtime: "local",
        worker_id: "w1",
      });
      const kernels = new Map(taken.kernels.map((kernel: { name: string }) => [kernel.name, kernel]));
      expect(kernels.get("python")).toMatchObject({
        saved: expect.arrayContaining(["numbers", "alias", "double", "Point", "point", "math"]),
        skipped: [{ name: "handle", reason: expect.any(String) }],
      });
      expect(kernels.get("javascript")).toMatchObject({ saved: [], skipped: [{ name: "*" }] });
      expect(await call("sandbox:snapshots")).toMatchObject({ snapshots: [{ id: taken.id }] });
      id = taken.id;
    }
    const next = new CodeBackend({ config: {}, runtimes, dataDir });
    await using server = await testServer({ backends: [next] });
    expect((await create(server, "w2", { snapshot: id })).body).toMatchObject({ code: 0 });
    const call = as(server, "w2");
    expect(
      await call("code:run", { language: "python", code: "alias.append(double(point.x)); (numbers, math.floor(2.5))" }),
    ).toMatchObject({ error: null, result: [[1, 2, 3, 8], 2] });
    expect(
      await call("bash:run", { command: "say yes; echo $v; pwd; cat f; readlink tool; stat -c %a f" }),
    ).toMatchObject({
      stdout: "said yes\na b\n/workspace/d\nkept\n/usr/bin/env\n700\n",
    });
    expect(await call("bash:run", { command: "ls -A /tmp /workspace" })).toMatchObject({
      stdout: expect.not.stringContaining("toolyard"),
    });
    expect(await call("sandbox:delete_snapshot", { id })).toMatchObject({ deleted: true });
  });

  it("is restored over what a session has, which a wrong id leaves as it is", async () => {
    const { backend } = await openBackend();
    await using server = await testServer({ backends: [backend] });
    await create(server, "w1");
    const call = as(server, "w1");
    await call("code:run", { language: "python", code: "x = 1" });
    await call("file:write", { path: "f", content: "old" });
    const { id } = await call("sandbox:snapshot");
    await call("code:run", { language: "python", code: "x = 2; y = 3" });
    await call("file:write", { path: "f", content: "new" });
    await call("file:write", { path: "g", content: "new" });
    expect(await call("sandbox:restore", { id: "snap_none" })).toMatchObject({ failed: "unknown_name" });
    expect(await call("file:read", { path: "f" })).toMatchObject({ content: "new" });
    expect(await call("sandbox:restore", { id })).toMatchObject({ id, kernels: [{ name: "python", saved: ["x"] }] });
    expect(await call("file:read", { path: "f" })).toMatchObject({ content: "old" });
    expect(await call("file:stat", { path: "g" })).toEqual({ entry: null });
    expect(await call("code:run", { language: "python", code: "(x, 'y' in globals())" })).toMatchObject({
      result: [1, false],
    });
  });

  it("D03 is nobody's of another tenant", async () => {
    const { backend } = await openBackend();
    await using server = await keyedServer(
      { blue: { tenant: "blue" }, red: { tenant: "red" } },
      { backends: [backend] },
    );
    const { blue, red } = server.holders;
    const session = { worker_id: "w", resource_type: "code" };
    expect((await blue.post("/api/v1/session/create", session)).status).toBe(200);
    const taken = await blue.post("/execute", { worker_id: "w", action: "sandbox:snapshot" });
    const { id } = taken.body.data;
    const refused = await red.post("/api/v1/session/create", { ...session, session_config: { snapshot: id } });
    expect(refused.body).toMatchObject({
      data: { error: expect.stringContaining("there is no snapshot") },
      meta: { error: "session_init_failed", outcome: "rejected" },
    });
    expect((await red.post("/api/v1/session/create", session)).status).toBe(200);
    for (const [action, expected] of [
      ["sandbox:restore", { meta: { error: "unknown_name" } }],
      ["sandbox:delete_snapshot", { data: { deleted: false } }],
      ["sandbox:snapshots", { data: { snapshots: [] } }],
    ] as const) {
      const params = action === "sandbox:snapshots" ? {} : { id };
      expect((await red.post("/execute", { worker_id: "w", action, params })).body, action).toMatchObject(expected);
    }
  });
});

/** Forks a session twice, and looks that nothing of one is another's. */
const goesOnByItself = (open: () => Promise<SandboxRuntime | undefined>) =>
  it("B12 goes on by itself, with other random numbers", async () => {
    const { backend } = await openBackend({}, await open());
    await using server = await testServer({ backends: [backend] });
    await create(server, "trunk");
    const trunk = as(server, "trunk");
    await trunk("code:run", { language: "python", code: "import random, os; random.seed(7); data = [1]" });
    await trunk("file:write", { path: "f", content: "before" });
    const forked = await trunk("sandbox:fork", { worker_id: ["left", "right"] });
    expect(forked.sessions.map((one: { worker_id: string }) => one.worker_id)).toEqual(["left", "right"]);
    expect(forked.kernels).toMatchObject([{ name: "python", saved: expect.arrayContaining(["data"]) }]);
    const draw = { language: "python", code: "(random.random(), os.urandom(8).hex())" };
    const drawn = await Promise.all(
      ["trunk", "left", "right"].map(async (worker) => (await as(server, worker)("code:run", draw)).result),
    );
    expect(new Set(drawn.map(([number]) => number)).size).toBe(3);
    expect(new Set(drawn.map(([, bytes]) => bytes)).size).toBe(3);
    const [left, right] = [as(server, "left"), as(server, "right")];
    await left("file:write", { path: "f", content: "left" });
    await right("code:run", { language: "python", code: "data.append('right')" });
    expect(await right("file:read", { path: "f" })).toMatchObject({ content: "before" });
    expect(await left("code:run", { language: "python", code: "data" })).toMatchObject({ result: [1] });
    expect(await trunk("code:run", { language: "python", code: "data" })).toMatchObject({ result: [1] });
    expect(await trunk("sandbox:snapshots")).toEqual({ snapshots: [] });
  });

describeDocker("a fork in docker", () => {
  goesOnByItself(async () => {
    const deployment = await openDeployment();
    onTestFinished(() => deployment[Symbol.asyncDispose]());
    return deployment.runtime();
  });
});

describeLocal("a fork", () => {
  goesOnByItself(async () => undefined);

  it("is refused for a worker who has a session, and for the one that forks", async () => {
    const { backend } = await openBackend();
    await using server = await testServer({ backends: [backend] });
    await create(server, "trunk");
    await create(server, "other");
    const trunk = as(server, "trunk");
    expect(await trunk("sandbox:fork", { worker_id: "other" })).toMatchObject({ failed: "conflict" });
    expect(await trunk("sandbox:fork", { worker_id: "trunk" })).toMatchObject({ failed: "invalid_input" });
    expect(await trunk("sandbox:fork", { worker_id: ["other", "new"] })).toMatchObject({
      failed: "partial_failure",
      sessions: [{ worker_id: "new" }],
    });
  });
});
