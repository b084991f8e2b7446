import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { runCli, serveFixtures, startCli } from "./cli-process.ts";

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "toolyard-serve-"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const execute = (url: string, action: string, params: object): Promise<unknown> =>
  fetch(`${url}/execute`, { method: "POST", body: JSON.stringify({ worker_id: "w1", action, params }) }).then(
    (answer) => answer.json(),
  );

describe("toolyard serve", () => {
  it.each(["SIGTERM", "SIGINT"] as const)("ends with 0 on %s, once the running call has ended", async (signal) => {
    const server = await serveFixtures();
    expect(server.stdout()).toMatch(/ - try: curl -s http:\S+\/execute -d '\{.*\}'\n$/);
    const running = execute(server.url, "sleep", { seconds: 0.5, key: "k" });
    await expect.poll(() => execute(server.url, "runs", { key: "k" })).toMatchObject({ data: { result: 1 } });
    server.child.kill(signal);
    expect(await running).toMatchObject({ code: 0, data: { slept: 0.5 } });
    expect(await server.ended).toBe(0);
    expect(server.stderr()).toContain(`"reason":"${signal}"`);
  });

  it("ends at once on a second signal", async () => {
    const server = await serveFixtures();
    const running = execute(server.url, "sleep", { seconds: 600, key: "k" }).catch(() => "cut off");
    await expect.poll(() => execute(server.url, "runs", { key: "k" })).toMatchObject({ data: { result: 1 } });
    server.child.kill("SIGTERM");
    await expect
      .poll(() =>
        fetch(`${server.url}/ready`).then(
          (answer) => answer.status,
          () => 0,
        ),
      )
      .not.toBe(200);
    server.child.kill("SIGTERM");
    expect(await server.ended).toBe(1);
    expect(await running).toBe("cut off");
  });

  it("ends with 0 when it is shut down over HTTP", async () => {
    const server = await serveFixtures();
    await fetch(`${server.url}/api/v1/server/shutdown`, { method: "POST", body: "{}" });
    expect(await server.ended).toBe(0);
  });

  it("tells a parent over IPC where it listens, and ends when the parent goes", async () => {
    const server = startCli(["serve", "--config", "configs/fixtures.json", "--port", "0"], {
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
    const early = server.ended.then((code): never => {
      throw new Error(`it ended with ${code}: ${server.stderr()}`);
    });
    const [message] = await Promise.race([once(server.child, "message"), early]);
    expect(message).toEqual({ type: "listening", url: expect.stringMatching(/^http:/), pid: server.child.pid });
    server.child.disconnect();
    expect(await server.ended).toBe(0);
  });

  it("says in one line that its port is in use", async () => {
    const holder = createServer().listen(0, "127.0.0.1");
    await once(holder, "listening");
    const address = holder.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const { code, stdout, stderr } = await runCli(["serve", "--config", "configs/fixtures.json", "--port", `${port}`]);
    holder.close();
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toBe(
      `toolyard: port ${port} of 127.0.0.1 is in use: stop what holds it, or choose another with --port\n`,
    );
  });

  it("names file, line and column of a broken config, in one line", async () => {
    const path = join(dir, "bad.json");
    await writeFile(path, '{\n  "server": }');
    const { code, stderr } = await runCli(["serve", "--config", path]);
    expect(code).toBe(1);
    expect(stderr).toBe(`toolyard: ${path}:2:13: expected a value, found "}"\n`);
  });

  it("lets a flag win over the config", async () => {
    const server = await serveFixtures(["--log-level", "silent"], { env: { TOOLYARD_PORT: "1" } });
    expect(await execute(server.url, "echo", { message: "m" })).toMatchObject({ data: { result: "m" } });
    server.child.kill("SIGTERM");
    await server.ended;
    expect(server.stderr()).toBe("");
  });

  it("logs one line of JSON per call", async () => {
    const server = await serveFixtures();
    await execute(server.url, "echo", { message: "m" });
    server.child.kill("SIGTERM");
    await server.ended;
    const lines = server
      .stderr()
      .trim()
      .split("\n")
      .map((line): { tool?: string } => JSON.parse(line));
    expect(lines.filter((line) => line.tool === "echo")).toHaveLength(1);
  });
});
