import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { root, runCli, serveFixtures } from "./cli-process.ts";

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "toolyard-doctor-"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const env = { TOOLYARD_PORT: "0" };
const fixtures = join(root, "configs/fixtures.json");

describe("toolyard doctor", () => {
  it("finds everything in order, and leaves nothing behind", async () => {
    const data = join(dir, "state");
    const { code, stdout } = await runCli(["doctor", "--config", fixtures, "--data", data, "--json"], { env });
    const report = JSON.parse(stdout);
    expect(report.ok).toBe(true);
    expect(code).toBe(0);
    expect(report.findings).toContainEqual({ check: "node", ok: true, detail: process.versions.node });
    expect(report.findings).toContainEqual({ check: "backend counter", ok: true, detail: "3 tools" });
    expect(report.findings).toContainEqual({ check: "data", ok: true, detail: `${data} can be written` });
  });

  it("names a runtime that cannot be used as missing, with the remedy, which is no failure", async () => {
    const elsewhere = { ...env, DOCKER_HOST: `unix://${dir}/none.sock` };
    const { code, stdout } = await runCli(["doctor", "--config", fixtures, "--data", dir], { env: elsewhere });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^missing +runtime docker +no Docker Engine is there\. Start the Docker Engine/m);
  });

  it("is content with a port and a data folder that a running Toolyard holds", async () => {
    const server = await serveFixtures(["--data", dir]);
    const held = { TOOLYARD_PORT: new URL(server.url).port };
    const { code, stdout } = await runCli(["doctor", "--config", fixtures, "--data", dir], { env: held });
    server.child.kill("SIGTERM");
    await server.ended;
    expect(stdout).toMatch(/^ok +port +.*a Toolyard answers there/m);
    expect(stdout).not.toContain("FAILED");
    expect(code).toBe(0);
  });

  it("says that its port is held by something else", async () => {
    const holder = createServer((_, response) => response.end('{"status":"fine"}')).listen(0, "127.0.0.1");
    await once(holder, "listening");
    const address = holder.address();
    const held = { TOOLYARD_PORT: String(typeof address === "object" && address !== null ? address.port : 0) };
    const { code, stdout } = await runCli(["doctor", "--config", fixtures, "--data", dir], { env: held });
    holder.close();
    expect(code).toBe(1);
    expect(stdout).toMatch(/^FAILED +port +.*EADDRINUSE.*Stop what holds it/m);
  });

  it("names what keeps a server from starting, and ends with 1", async () => {
    const path = join(dir, "c.json");
    await writeFile(path, '{"resources": {"a": {"backend": "./none.ts"}}}');
    const { code, stdout } = await runCli(["doctor", "--config", path, "--data", path], { env });
    expect(code).toBe(1);
    expect(stdout).toMatch(/^FAILED +backends .*resources\.a\.backend: there is no file/m);
    expect(stdout).toMatch(/^FAILED +data .*is not a folder\. Name a folder/m);
  });
});
