import { fork } from "node:child_process";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import BrowserBackend from "../../../src/backends/browser/backend.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { createEgress } from "../../../src/egress/egress.ts";
import { createRuntimeSelector } from "../../../src/runtimes/selector.ts";
import { docker, missingEngine, openDeployment } from "../../kit/docker-engine.ts";
import { recordingLogger } from "../../kit/recording-logger.ts";
import { testServer } from "../../kit/test-server.ts";
import { openSite } from "./browser-server.ts";

const missing =
  missingEngine ??
  (await docker
    .getImage("toolyard/desktop")
    .inspect()
    .then(
      () => null,
      () => "the engine has no image toolyard/desktop; remedy: toolyard images build desktop",
    ));
if (missing !== null) console.warn(`skipped: browsers in containers; ${missing}`);

describe.skipIf(missing !== null)("a browser in a container", () => {
  it("opens what its network leads to, in a hardened sandbox that goes with its session", async () => {
    const { port, url } = await openSite((_, response) => {
      response.writeHead(200, { "content-type": "text/html; charset=utf-8" });
      response.end("<title>Shop</title><h1>日本 👍</h1>");
    });
    await using deployment = await openDeployment();
    const egress = createEgress({
      clock: systemClock,
      logger: recordingLogger(),
      allowedAddresses: ["127.0.0.0/8"],
      lookup: async () => ["127.0.0.1"],
    });
    const runtimes = createRuntimeSelector({ order: ["docker"], runtimes: [deployment.runtime({ egress })] });
    const backend = new BrowserBackend({ config: { network: { allow: [`shop.test:${port}`] } }, runtimes });
    await using server = await testServer({ backends: [backend] });
    const created = await server.post("/api/v1/session/create", { worker_id: "w1", resource_type: "browser" });
    expect(created.body).toMatchObject({ code: 0 });
    expect((await server.execute("browser:navigate", { url })).body.data).toMatchObject({ title: "Shop", status: 200 });
    expect((await server.execute("browser:text")).body.data.text).toBe("日本 👍");
    const elsewhere = await server.execute("browser:navigate", { url: "https://other.test/" });
    expect(elsewhere.body.meta?.error).toBe("address_refused");
    const [container] = await deployment.containers();
    const { HostConfig: host } = await docker.getContainer(container?.Id ?? "").inspect();
    expect(host).toMatchObject({ NetworkMode: "none", ReadonlyRootfs: true, CapDrop: ["ALL"], Privileged: false });
    await server.post("/api/v1/session/destroy", { worker_id: "w1", resource_type: "browser" });
    await expect.poll(() => deployment.containers()).toEqual([]);
  });

  it("F01: is taken up, with its tabs, by the server after one that was killed", async () => {
    await using deployment = await openDeployment();
    const child = fork(new URL("../../kit/browser-crash-process.ts", import.meta.url), {
      execArgv: ["--import", "tsx"],
      env: { ...process.env, CRASH: JSON.stringify({ stateFolder: deployment.stateFolder }) },
    });
    const ended = once(child, "exit");
    const early = ended.then(() => Promise.reject(new Error("the process ended before it was killed")));
    early.catch(() => undefined);
    const [handle] = await Promise.race([once(child, "message"), early]);
    child.kill("SIGKILL");
    await ended;
    const runtimes = createRuntimeSelector({ order: ["docker"], runtimes: [deployment.runtime()] });
    const backend = new BrowserBackend({ config: { network: "none" }, runtimes });
    const { signal } = new AbortController();
    const context = { resource: "browser", logger: recordingLogger(), signal };
    const session = { id: "s", name: "browser_w_001", workerId: "w", tenant: "t", resource: "browser", config: {} };
    expect(await backend.adopt({ ...session, data: { runtime: "docker", handle: "no such" } }, context)).toBeNull();
    const data = await backend.adopt({ ...session, data: handle }, context);
    if (data === null)
      throw new Error(
        `the browser is lost: ${JSON.stringify(context.logger.lines.map(({ facts }) => String(facts["err"])))}`,
      );
    const { tabs } = Object(await data.run("tabs", {}, signal));
    expect(tabs.map(({ title }: { title: string }) => title).toSorted()).toEqual(["", "Kept"]);
    await backend.cleanup({ ...session, data });
    await expect.poll(() => deployment.containers()).toEqual([]);
  });
});
