import { fork } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import VmBackend from "../../../../src/backends/vm/backend.ts";
import { Action } from "../../../../src/backends/vm/actions/action.ts";
import type { VmSession } from "../../../../src/backends/vm/session.ts";
import { systemClock } from "../../../../src/core/clock.ts";
import type { Session } from "../../../../src/core/session.ts";
import { createEgress } from "../../../../src/egress/egress.ts";
import { createRuntimeSelector } from "../../../../src/runtimes/selector.ts";
import type { DockerRuntime } from "../../../../src/runtimes/docker/runtime.ts";
import { docker, missingEngine, openDeployment, type TestDeployment } from "../../../kit/docker-engine.ts";
import { recordingLogger } from "../../../kit/recording-logger.ts";

const missing =
  missingEngine ??
  (await docker
    .getImage("toolyard/desktop")
    .inspect()
    .then(
      () => null,
      () => "the engine has no image toolyard/desktop; remedy: toolyard images build desktop",
    ));
if (missing !== null) console.warn(`skipped: desktops in containers; ${missing}`);
const lifecycle = { resource: "vm", logger: recordingLogger(), signal: new AbortController().signal };
const { signal } = lifecycle;

describe.skipIf(missing !== null)("a desktop in a container", () => {
  let deployment: TestDeployment;
  beforeAll(async () => {
    deployment = await openDeployment();
  });
  afterAll(() => deployment[Symbol.asyncDispose]());

  const toBackend = (runtime: DockerRuntime, config: object = {}) =>
    new VmBackend({
      config: { width: 800, height: 600, ready_ms: 110_000, ...config },
      runtimes: createRuntimeSelector({ order: ["docker"], runtimes: [runtime] }),
    });
  const toSession = (data: VmSession, config = {}): Session<VmSession> => ({
    ...{ id: "s", name: "vm_w_001", workerId: "w", tenant: "t", resource: "vm", config, data },
  });
  const run = async ({ desktop }: VmSession, command: string) => {
    const result = await desktop.running.exec({ command: ["sh", "-c", command], timeoutMs: 30_000 }, signal);
    return result.stdout.text.trim();
  };

  it("is a hardened sandbox like any other, with everything of its image at hand", async () => {
    const backend = toBackend(deployment.runtime());
    const request = { workerId: "w", tenant: "t", sessionId: "s", config: {} };
    const data = await backend.initialize(request, lifecycle);
    onTestFinished(() => backend.cleanup(toSession(data)));
    const [container] = await deployment.containers();
    const { HostConfig: host } = await docker.getContainer(container?.Id ?? "").inspect();
    expect(host).toMatchObject({ NetworkMode: "none", ReadonlyRootfs: true, CapDrop: ["ALL"], Privileged: false });
    expect(host.Binds).toEqual([expect.stringMatching(/:\/run\/toolyard:ro$/)]);
    const programs = "chromium mousepad gnumeric xterm xclip wmctrl xdotool scrot import ffmpeg setxkbmap xrandr xprop";
    expect(await run(data, `for each in ${programs}; do command -v $each >/dev/null || echo $each; done`)).toBe("");
    expect(await run(data, "python3 -c 'import pyatspi, Xlib, PIL; print(1)'")).toBe("1");
    expect(await run(data, "fc-list :lang=ja | wc -l; fc-list :lang=und-zsye | wc -l")).toMatch(/^[1-9]\d*\n[1-9]\d*$/);
    const { picture } = await data.desktop.operator.perform(Action.parse({ action: "screenshot" }), signal);
    expect(picture).toMatchObject({ width: 800, height: 600 });
  });

  it("F01: is adopted after its server was killed, with its screen, its files and its size", async () => {
    const child = fork(new URL("../../../kit/desktop-crash-process.ts", import.meta.url), {
      execArgv: ["--import", "tsx"],
      env: { ...process.env, CRASH: JSON.stringify({ stateFolder: deployment.stateFolder }) },
    });
    const ended = once(child, "exit");
    const [stored] = await Promise.race([once(child, "message"), ended.then(() => [null])]);
    child.kill("SIGKILL");
    await ended;
    const backend = toBackend(deployment.runtime());
    const left = { ...toSession({} as VmSession, { dpi: 120 }), data: stored };
    const data = await backend.adopt(left, lifecycle);
    if (data === null) throw new Error("it was not adopted");
    onTestFinished(() => backend.cleanup(toSession(data)));
    expect(data.desktop.size).toMatchObject({ width: 640, height: 480, dpi: 120 });
    expect(await run(data, "cat kept; echo $DISPLAY")).toBe("still here:1");
    await data.desktop.operator.perform(Action.parse({ action: "mouse_move", coordinate: [33, 44] }), signal);
    expect(await run(data, "xdotool getmouselocation")).toContain("x:33 y:44");
    await backend.reset(toSession(data, { dpi: 120 }), lifecycle);
    expect(await run(data, "ls")).toBe("");
    for (const nothing of [null, {}, { desktop: { runtime: "docker", handle: {} }, size: stored.size }]) {
      expect(await backend.adopt({ ...left, data: nothing }, lifecycle)).toBeNull();
    }
  });

  it("has a browser that reaches the hosts on its list, and no other", async () => {
    const asked: string[] = [];
    const server = createServer(({ headers }, response) => {
      asked.push(headers.host ?? "");
      response.setHeader("content-type", "text/html").end(`<title>Shop of ${headers.host}</title><h1>Open</h1>`);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => void server.close());
    // Its address is one of a listening server.
    const { port } = server.address() as AddressInfo;
    const egress = createEgress({
      ...{ clock: systemClock, logger: recordingLogger(), allowedAddresses: ["127.0.0.0/8"] },
      lookup: async () => ["127.0.0.1"],
    });
    const setup = [{ do: "open", url: `http://shop.test:${port}/` }];
    const backend = toBackend(deployment.runtime({ egress }), { network: { allow: [`shop.test:${port}`] }, setup });
    const data = await backend.initialize({ workerId: "w", tenant: "t", sessionId: "s", config: {} }, lifecycle);
    onTestFinished(() => backend.cleanup(toSession(data)));
    const titles = () => run(data, "wmctrl -l");
    await expect.poll(titles, { timeout: 60_000, interval: 250 }).toContain(`Shop of shop.test:${port}`);
    await run(data, `chromium http://other.test:${port}/ >/dev/null 2>&1 &`);
    await expect.poll(titles, { timeout: 60_000, interval: 250 }).toContain("other.test");
    expect(new Set(asked)).toEqual(new Set([`shop.test:${port}`]));
  }, 120_000);
});
