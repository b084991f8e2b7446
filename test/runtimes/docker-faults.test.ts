import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { EngineClient } from "../../src/runtimes/docker/engine-client.ts";
import { crashedServer } from "../kit/docker-crash.ts";
import { describeDocker, docker, engineSocket, openDeployment, type TestDeployment } from "../kit/docker-engine.ts";
import { type FaultyEngine, startFaultyEngine } from "../kit/faulty-engine.ts";
import { ManualClock } from "../kit/manual-clock.ts";
import { recordingLogger } from "../kit/recording-logger.ts";
import { run } from "../kit/runtime-conformance.ts";

const never = new AbortController().signal;

describeDocker("an engine on which things go wrong", () => {
  let deployment: TestDeployment;
  let engine: FaultyEngine;
  beforeAll(async () => {
    deployment = await openDeployment();
    engine = await startFaultyEngine(engineSocket);
  });
  beforeEach(() => {
    engine.plan = () => "none";
  });
  afterAll(async () => {
    engine.plan = () => "none";
    await deployment[Symbol.asyncDispose]();
    await engine[Symbol.asyncDispose]();
  });

  it("F07 that hangs costs bounded time, then nothing, and is used again by itself when it answers", async () => {
    const clock = new ManualClock();
    const client = new EngineClient({ socket: engine.socketPath, clock });
    engine.plan = () => "hang";
    const ask = (deadlineMs: number) =>
      client.call({ what: "a test", deadlineMs }, (docker) => docker.listContainers({ limit: 1 }));
    for (let call = 0; call < 3; call += 1) await expect(ask(50)).rejects.toMatchObject({ kind: "timeout" });
    const { requests } = engine;
    await expect(ask(50)).rejects.toMatchObject({ message: expect.stringContaining("not asked") });
    expect(engine.requests).toBe(requests);
    engine.plan = () => "none";
    await expect(ask(5_000)).rejects.toMatchObject({ kind: "timeout" });
    await clock.advance(1_000);
    await expect(ask(5_000)).resolves.toBeInstanceOf(Array);
    await expect(ask(5_000)).resolves.toBeInstanceOf(Array);
    client.close();
  });

  it("F07 that answered while our own loop was held has answered in time", async () => {
    const client = new EngineClient({ socket: engine.socketPath });
    const listening = createServer().listen(0, "127.0.0.1");
    await once(listening, "listening");
    const asking = connect(Number(Object(listening.address()).port), "127.0.0.1");
    const [answering] = (await once(listening, "connection")) as [Socket];
    const answer = client.call({ what: "a test", deadlineMs: 50 }, async () => {
      const answered = once(asking, "data");
      // It is written at once, and lies there while nobody reads.
      answering.write("an answer");
      const until = performance.now() + 200;
      while (performance.now() < until);
      return String((await answered)[0]);
    });
    expect(await answer).toBe("an answer");
    asking.destroy();
    listening.close();
    client.close();
  });

  it("F01 F07 that comes back only after the server that was killed with a session costs nobody the session", async () => {
    const [left] = await crashedServer(deployment.stateFolder, 1);
    const runtime = deployment.runtime({ socket: engine.socketPath });
    let broken = 0;
    engine.plan = (method, path) => {
      if (method !== "GET" || !path.endsWith("/json") || broken >= 3) return "none";
      broken += 1;
      return "break";
    };
    const adopted = await runtime.adopt(left?.handle, never);
    expect(broken).toBe(3);
    if (adopted === null) throw new Error("it was lost");
    expect(await run(await adopted.openKernel("python", never, { name: "main" }), "x")).toMatchObject({ value: 41 });
    await adopted.stop();
    expect(await deployment.containers()).toEqual([]);
  });

  it("F07 that is away: sessions live on, new ones are refused with the reason, and no restart is needed when it is back", async () => {
    const clock = new ManualClock();
    const runtime = deployment.runtime({ socket: engine.socketPath, clock });
    const sandbox = await runtime.create({}, never);
    const kernel = await sandbox.openKernel("python", never);
    await engine.stop();
    expect(await run(kernel, "40 + 2")).toMatchObject({ value: 42 });
    await expect(runtime.create({}, never)).rejects.toMatchObject({
      error: "runtime_unavailable",
      message: expect.stringContaining("no Docker Engine is there"),
      suggestion: expect.stringContaining("Start the Docker Engine"),
      retryable: true,
    });
    await clock.advance(60_000);
    expect(await runtime.check(never)).toMatchObject({ available: false, reason: "no Docker Engine is there" });
    await engine.start();
    await clock.advance(60_000);
    expect(await runtime.check(never)).toMatchObject({ available: true });
    const next = await runtime.create({}, never);
    expect(await run(kernel, "41 + 2")).toMatchObject({ value: 43 });
    await Promise.all([sandbox.stop(), next.stop()]);
    expect(await deployment.containers()).toEqual([]);
  });

  it("F09 that cannot remove: it is tried again, logged, listed as leaked, and gone in the end", async () => {
    const clock = new ManualClock();
    const logger = recordingLogger();
    const runtime = deployment.runtime({ socket: engine.socketPath, clock, logger });
    const sandbox = await runtime.create({}, never);
    const [container] = await deployment.containers();
    engine.plan = (method) => (method === "DELETE" ? "fail" : "none");
    const stopping = sandbox.stop();
    // The attempts that it waits for are apart in time.
    const pump = setInterval(() => void clock.advance(1_000), 20);
    await stopping;
    clearInterval(pump);
    expect(await runtime.check(never)).toMatchObject({ available: true, leaked: [container?.Id] });
    expect(logger.lines.map(({ message }) => message)).toContain("a container could not be removed; it is tried again");
    engine.plan = () => "none";
    await clock.advance(5_000);
    await expect.poll(() => runtime.leaks).toEqual([]);
    expect(await deployment.containers()).toEqual([]);
    expect(await runtime.check(never)).not.toHaveProperty("leaked");
  });

  it("F07 that breaks in the middle of a creation leaves nothing once it is back", async () => {
    const runtime = deployment.runtime({ socket: engine.socketPath });
    await runtime.check(never);
    for (const step of ["/containers/create", "/start"]) {
      let broken = false;
      engine.plan = (_method, path) => {
        if (broken || !path.endsWith(step)) return "none";
        broken = true;
        return step === "/start" ? "fail" : "break";
      };
      await expect(runtime.create({}, never)).rejects.toMatchObject({ error: "runtime_unavailable" });
      expect(await deployment.containers()).toEqual([]);
    }
  });

  it("F06 tells a death also while the engine hangs", async () => {
    const runtime = deployment.runtime({ socket: engine.socketPath });
    const sandbox = await runtime.create({}, never);
    const python = await sandbox.openKernel("python", never);
    engine.plan = () => "hang";
    const [container] = await deployment.containers();
    const killedAt = performance.now();
    await docker.getContainer(container?.Id ?? "").kill();
    await expect(run(python, "1")).rejects.toMatchObject({ error: "sandbox_dead" });
    expect(await sandbox.closed).toMatchObject({ expected: false });
    // The promise is two seconds; the machine that runs the tests may be busy.
    expect(performance.now() - killedAt).toBeLessThan(15_000);
    engine.plan = () => "none";
  });
});
