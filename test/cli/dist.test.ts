import { spawnSync } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { tmpdir } from "node:os";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { root, runCli, serveFixtures } from "./cli-process.ts";
import { startFakeEngine } from "./images/fake-engine.ts";

describe("the built CLI", () => {
  it("serves TypeScript backends, one of them in a worker thread", async () => {
    const server = await serveFixtures();
    const execute = async (action: string, params: object): Promise<unknown> => {
      const body = JSON.stringify({ worker_id: "w1", action, params });
      return (await fetch(`${server.url}/execute`, { method: "POST", body })).json();
    };
    expect(await execute("echo", { message: "m" })).toMatchObject({ code: 0, data: { result: "m" } });
    expect(await execute("counter:incr", { by: 2 })).toMatchObject({ code: 0, data: { value: 2 } });
    const answered: string[] = [];
    const blocked = execute("block", { seconds: 3 }).finally(() => answered.push("blocked"));
    expect((await fetch(`${server.url}/health`).finally(() => answered.push("health"))).status).toBe(200);
    expect(await blocked).toMatchObject({ code: 0 });
    expect(answered).toEqual(["health", "blocked"]);
    server.child.kill("SIGTERM");
    expect(await server.ended).toBe(0);
  });

  it("finds the recipes of its images, which are in the package", async () => {
    const engine = await startFakeEngine();
    const { stdout } = await runCli(["images", "list"], { env: engine.environment });
    await engine.close();
    expect(stdout).toMatch(/^toolyard\/code:latest +missing$/m);
    const manifest: { readonly files: readonly string[] } = JSON.parse(
      await readFile(join(root, "package.json"), "utf8"),
    );
    expect(manifest.files).toContain("images");
  });

  it("keeps its compiled code with the package, and starts where that cannot be", async () => {
    const copy = join(dir, "copy");
    const modules = join(copy, "node_modules");
    await cp(join(root, "dist"), join(copy, "dist"), { recursive: true });
    await writeFile(join(copy, "package.json"), '{ "type": "module" }');
    const env = { ...process.env, NODE_COMPILE_CACHE: undefined, NODE_DISABLE_COMPILE_CACHE: undefined };
    const help = () => spawnSync(process.execPath, [join(copy, "dist/cli.js"), "--help"], { env, encoding: "utf8" });
    const { stdout } = help();
    expect(stdout).toMatch(/^Usage: toolyard COMMAND \[flags\]\n/);
    expect(await readdir(join(modules, ".cache/toolyard"))).not.toEqual([]);
    await rm(modules, { recursive: true });
    await writeFile(modules, "a file, under which there can be no folder");
    expect(help()).toMatchObject({ status: 0, stderr: "", stdout });
  });

  it("says in one line what to do about a Node that is too old", async () => {
    const fake = "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.0' } })";
    const execArgv = ["--import", `data:text/javascript,${encodeURIComponent(fake)}`];
    const { code, stdout, stderr } = await runCli(["--version"], { execArgv });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^toolyard: needs Node 22\.12 or newer, and this is 20\.20\.0; get one with .*\n$/);
  });
});

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "toolyard-init-"));
  await mkdir(join(dir, "node_modules"));
  for (const name of ["tsx", "zod", "vitest"])
    await symlink(join(root, "node_modules", name), join(dir, "node_modules", name));
  await symlink(root, join(dir, "node_modules/toolyard"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const FILES = ["backends/my-notes.ts", "backends/my-notes.test.ts", "configs/my-notes.json"];

describe("toolyard init backend", () => {
  it.each([
    ["Node's own runner", { type: "module" }, ["--import", "tsx", "--test", "backends/my-notes.test.ts"]],
    ["a package without a type", {}, ["--import", "tsx", "--test", "backends/my-notes.test.ts"]],
    [
      "vitest",
      { type: "module", devDependencies: { vitest: "*" } },
      ["node_modules/vitest/vitest.mjs", "run", "backends/my-notes.test.ts"],
    ],
  ])("writes a backend whose test passes at once, with %s", async (_, manifest, command) => {
    await writeFile(join(dir, "package.json"), JSON.stringify(manifest));
    const { code, stdout } = await runCli(["init", "backend", "my-notes", "--dir", dir]);
    expect(code).toBe(0);
    expect(stdout).toContain("serve --config");
    // The test is run as a user runs it: without what this run itself has set.
    const env = Object.fromEntries(Object.entries(process.env).filter(([key]) => !/VITEST|NODE_|TSX/.test(key)));
    const run = spawnSync(process.execPath, command, { cwd: dir, env, encoding: "utf8", timeout: 200_000 });
    expect(run.status, run.stdout + run.stderr).toBe(0);
  });

  it("overwrites nothing, and says what is in the way", async () => {
    await mkdir(join(dir, "configs"));
    await writeFile(join(dir, "configs/my-notes.json"), "mine");
    const { code, stderr } = await runCli(["init", "backend", "my-notes", "--dir", dir]);
    expect(code).toBe(1);
    expect(stderr).toContain("configs/my-notes.json exists already; nothing was written");
    expect(await readFile(join(dir, "configs/my-notes.json"), "utf8")).toBe("mine");
    await expect(readFile(join(dir, "backends/my-notes.ts"))).rejects.toThrow();
  });

  it("says with --json what it wrote", async () => {
    const { stdout } = await runCli(["init", "backend", "my-notes", "--json"], { cwd: dir });
    expect(JSON.parse(stdout)).toMatchObject({ written: FILES });
  });
});
