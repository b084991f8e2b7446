import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { describeDocker, docker, folderOf, openDeployment, type TestDeployment } from "../kit/docker-engine.ts";
import { crashedServer } from "../kit/docker-crash.ts";
import { run } from "../kit/runtime-conformance.ts";

const never = new AbortController().signal;

describeDocker("docker sandboxes after a crash of their server", () => {
  let deployment: TestDeployment;
  beforeAll(async () => {
    deployment = await openDeployment();
  });
  afterAll(() => deployment[Symbol.asyncDispose]());

  it("F01 are adopted with the state of their kernels, or reaped with all that the host kept of them", async () => {
    const [kept, left] = await crashedServer(deployment.stateFolder, 2);
    expect(await deployment.containers()).toHaveLength(2);
    const runtime = deployment.runtime();
    const adopted = await runtime.adopt(kept?.handle, never);
    expect(adopted).toMatchObject({ id: kept?.id, runtime: "docker" });
    if (adopted === null) return;
    const kernel = await adopted.openKernel("python", never, { name: "main" });
    expect(await run(kernel, "x + 1")).toMatchObject({ status: "ok", value: 42, stateLost: false });
    expect(await runtime.adopt(kept?.handle, never)).toBeNull();
    expect(await runtime.reap(never)).toBe(1);
    expect((await deployment.containers()).map(({ Labels: labels }) => `docker_${folderOf(labels)}`)).toEqual([
      kept?.id,
    ]);
    expect(await runtime.adopt(left?.handle, never)).toBeNull();
    expect(await run(kernel, "x")).toMatchObject({ value: 41 });
    await adopted.stop();
    expect(await deployment.containers()).toEqual([]);
    expect(readdirSync(join(deployment.stateFolder, "s"))).toEqual([]);
  });

  it("F01 are not adopted when they ended meanwhile, nor by a handle that is none", async () => {
    const [gone] = await crashedServer(deployment.stateFolder, 1);
    const [container] = await deployment.containers();
    await docker.getContainer(container?.Id ?? "").kill();
    const runtime = deployment.runtime();
    expect(await runtime.adopt(gone?.handle, never)).toBeNull();
    for (const handle of [null, "x", {}, { deployment: deployment.id, container: "../../x" }]) {
      expect(await runtime.adopt(handle, never)).toBeNull();
    }
    expect(await runtime.reap(never)).toBe(1);
  });

  it("F02 of another deployment are never touched: not adopted, not reaped, not listed", async () => {
    await using other = await openDeployment();
    const [theirs] = await crashedServer(other.stateFolder, 1);
    const runtime = deployment.runtime();
    expect(await runtime.adopt(theirs?.handle, never)).toBeNull();
    expect(await runtime.reap(never)).toBe(0);
    expect(await other.containers()).toHaveLength(1);
    expect(await deployment.containers()).toEqual([]);
  });

  it("F02 of a server of the same deployment that lives are left to it", async () => {
    const first = deployment.runtime();
    const sandbox = await first.create({}, never);
    const second = deployment.runtime();
    expect(await second.reap(never)).toBe(0);
    expect(await second.adopt(sandbox.handle, never)).toBeNull();
    const kernel = await sandbox.openKernel("python", never);
    expect(await run(kernel, "1")).toMatchObject({ value: 1 });
    await sandbox.stop();
  });

  it("are shared by two servers that reap and adopt at once, each container by one of them", async () => {
    const left = await crashedServer(deployment.stateFolder, 3);
    const servers = [deployment.runtime(), deployment.runtime()];
    const adopted = await Promise.all(servers.map((server) => server.adopt(left[0]?.handle, never)));
    expect(adopted.filter((sandbox) => sandbox !== null)).toHaveLength(1);
    const reaped = await Promise.all(servers.map((server) => server.reap(never)));
    expect(reaped[0] ?? 0).toBe(2 - (reaped[1] ?? 0));
    expect(await deployment.containers()).toHaveLength(1);
    await adopted.find((sandbox) => sandbox !== null)?.stop();
  });

  it("end by themselves when no server comes for so long", async () => {
    const [orphan] = await crashedServer(deployment.stateFolder, 1, { orphanSeconds: 1 });
    await expect
      .poll(async () => (await deployment.containers()).map(({ State: state }) => state), {
        timeout: 30_000,
        interval: 200,
      })
      .toEqual(["exited"]);
    const runtime = deployment.runtime();
    expect(await runtime.adopt(orphan?.handle, never)).toBeNull();
    expect(await runtime.reap(never)).toBe(1);
    expect(existsSync(join(deployment.stateFolder, "s", String(orphan?.id).slice("docker_".length)))).toBe(false);
  });
});
