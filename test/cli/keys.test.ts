import { mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { root, runCli, serveFixtures, startCli } from "./cli-process.ts";

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "toolyard-keys-"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const env = { TOOLYARD_API_KEY: undefined };
const keys = (...args: string[]) => runCli(["keys", ...args, "--data", dir], { env });
const create = async (...args: string[]) => {
  const { stdout } = await keys("create", "--json", ...args);
  // The CLI's own JSON; each test checks what it uses.
  return JSON.parse(stdout) as { readonly id: string; readonly key: string };
};

describe("toolyard keys", () => {
  it("makes a key in the data folder, shows it once and keeps its hash alone", async () => {
    const made = await keys("create", "--name", "ops", "--tenant", "acme", "--scope", "code:*", "--scope", "*:read");
    expect(made.code).toBe(0);
    expect(made.stdout).toMatch(/^ty_[0-9a-f]{12}_[0-9a-f]{40}\n$/);
    expect(made.stderr).toContain("only time");
    const [, id = "", secret = ""] = made.stdout.trim().split("_");
    const list = await keys("list");
    expect(list.stdout).toMatch(new RegExp(`^${id} +ops +acme +code:\\*,\\*:read +active +\\S+ +never$`, "m"));
    expect(list.stdout).not.toContain(secret);
    const files = await readdir(dir, { recursive: true, withFileTypes: true });
    for (const file of files.filter((entry) => entry.isFile())) {
      expect(await readFile(join(file.parentPath, file.name), "latin1")).not.toContain(secret);
    }
  });

  it("revokes and rotates, and says what is wrong in one line", async () => {
    const { id } = await create("--name", "n", "--expires", "30d");
    const successor = await keys("rotate", id, "--grace", "0s", "--json");
    expect(JSON.parse(successor.stdout)).toMatchObject({ name: "n", status: "active", expires_at: expect.any(String) });
    expect(await keys("revoke", id)).toMatchObject({ code: 0, stdout: `${id} (n) is revoked\n` });
    const { keys: list } = JSON.parse((await keys("list", "--json")).stdout);
    expect(list.map((key: { status: string }) => key.status).toSorted()).toEqual(["active", "revoked"]);
    for (const [args, code, message] of [
      [["revoke", "nobody"], 1, "There is no key of this id"],
      [["revoke"], 2, "keys revoke needs the id"],
      [["create"], 2, "keys create needs --name"],
      [["create", "--name", "n", "--expires", "soon"], 2, "--expires takes a time such as"],
      [["create", "--name", "n", "--scope", "all"], 1, "is no scope"],
      [["list", "--grace", "1h"], 2, "--grace belongs to keys rotate"],
      [["constructor"], 2, "keys takes create, list, revoke, rotate"],
    ] as const) {
      const result = await keys(...args);
      expect([args, result.code, result.stderr.trim().split("\n").length]).toEqual([args, code, 1]);
      expect(result.stderr).toContain(message);
    }
  });

  it("is all that a server beyond loopback needs, and opens every command to who has the key", async () => {
    const flags = [
      "serve",
      "--config",
      `${root}/configs/fixtures.json`,
      "--port",
      "0",
      "--host",
      "0.0.0.0",
      "--data",
      dir,
    ];
    const refused = await runCli(flags, { env });
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toMatch(
      /^toolyard: it does not listen on 0\.0\.0\.0 without an API key: .*keys create.*\n$/,
    );

    const { key } = await create("--name", "ops");
    const server = startCli(flags, { env });
    const [, url = ""] = await server.line(/listens on (http:\/\/[^ ]+)/);
    expect(server.stdout()).toContain('-H "X-API-Key: $TOOLYARD_API_KEY"');
    const ask = (args: readonly string[], more: Record<string, string> = {}) =>
      runCli([...args, "--url", url], { env: { ...env, ...more } });
    expect((await ask(["exec", "echo", "-p", "message=hi"])).stderr).toContain("asks for an API key");
    expect(await ask(["exec", "echo", "-p", "message=hi", "--api-key", key])).toMatchObject({
      code: 0,
      stdout: "hi\n",
    });
    expect(await ask(["tools"], { TOOLYARD_API_KEY: key })).toMatchObject({ code: 0 });
    expect(await ask(["sessions", "--api-key", key])).toMatchObject({ code: 0 });

    // The folder is the server's now: the same command works on the server.
    const held = { url, key };
    const made = await runCli(["keys", "create", "--name", "n", "--json", "--url", held.url], {
      env: { TOOLYARD_API_KEY: held.key },
    });
    const second = JSON.parse(made.stdout);
    expect(second.closes_server).toBe(false);
    expect(await ask(["keys", "revoke", second.id, "--api-key", key])).toMatchObject({ code: 0 });
    expect((await ask(["tools", "--api-key", second.key])).stderr).toContain("was revoked");
    server.child.kill("SIGTERM");
    await server.ended;
    expect(server.stderr()).not.toContain(key.split("_")[2] ?? "");
  });

  it("finds the server that holds the folder, and closes one that was open", async () => {
    const server = await serveFixtures(["--data", dir], { env });
    const held = { TOOLYARD_URL: server.url };
    const unnamed = await runCli(["keys", "list", "--data", dir], { env });
    expect(unnamed).toMatchObject({ code: 1, stdout: "" });
    expect(unnamed.stderr).toContain("name the server with --url");
    const made = await runCli(["keys", "create", "--name", "first", "--data", dir], {
      env: { ...env, ...held },
    });
    expect(made.stderr).toContain("asks every caller for a key from now on");
    expect((await runCli(["tools"], { env: { ...env, ...held } })).code).toBe(1);
    const key = made.stdout.trim();
    expect((await runCli(["tools", "--api-key", key], { env: { ...env, ...held } })).code).toBe(0);
    server.child.kill("SIGTERM");
    await server.ended;
    // It was written: the next server asks, too.
    const next = await serveFixtures(["--data", dir], { env });
    expect((await fetch(`${next.url}/ready`)).status).toBe(401);
    expect((await fetch(`${next.url}/ready`, { headers: { "x-api-key": key } })).status).toBe(200);
    next.child.kill("SIGTERM");
    await next.ended;
  });

  it("are not needed where the config holds one", async () => {
    const path = join(dir, "config.json");
    const config = { security: { auth: { api_key: "${MY_KEY}" } } };
    await writeFile(path, JSON.stringify(config));
    const more = { env: { ...env, MY_KEY: "a-key-of-the-operator" } };
    const server = startCli(["serve", "--config", path, "--port", "0", "--host", "0.0.0.0", "--ephemeral"], more);
    const [, url = ""] = await server.line(/listens on (http:\/\/[^ ]+)/);
    expect((await fetch(`${url}/ready`)).status).toBe(401);
    expect((await fetch(`${url}/ready`, { headers: { "x-api-key": "a-key-of-the-operator" } })).status).toBe(200);
    server.child.kill("SIGTERM");
    await server.ended;
    expect(server.stderr()).not.toContain("a-key-of-the-operator");
  });
});
