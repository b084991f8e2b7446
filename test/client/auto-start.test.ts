import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ServerStartError } from "../../src/client/errors/server-start-error.ts";
import { HttpServiceClient } from "../../src/client/http-client.ts";
import { Sandbox } from "../../src/client/sandbox.ts";
import type { SandboxOptions } from "../../src/client/sandbox-options.ts";

const configPath = fileURLToPath(new URL("../../configs/fixtures.json", import.meta.url));

test("D17: a sandbox without a url runs the real server, and close ends it", async () => {
  const sandbox = new Sandbox({ configPath });
  try {
    await expect(sandbox.call("echo", { message: "hi" })).resolves.toMatchObject({ ok: true, data: { result: "hi" } });
    await expect(sandbox.createSession({ counter: { start: 41 } })).resolves.toMatchObject({ status: "success" });
    await expect(sandbox.call("counter:incr")).resolves.toMatchObject({ ok: true, data: { value: 42 } });
    await expect(sandbox.createSession({ kv: null, counter: { fail: true } })).resolves.toMatchObject({
      status: "success",
      sessions: { counter: { status: "exists" } },
    });
  } finally {
    await sandbox.close();
  }
  const late = new HttpServiceClient({ baseUrl: sandbox.serverUrl ?? "", maxRetries: 0 });
  await expect(late.health()).rejects.toMatchObject({ failure: "unreachable" });
});

async function startError(options: SandboxOptions): Promise<ServerStartError> {
  return Sandbox.open(options).then(
    () => expect.fail("it started"),
    (error: unknown) => (error instanceof ServerStartError ? error : expect.fail(String(error))),
  );
}

describe("reports what the real server ended with, as soon as it has", () => {
  let dir: string;
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), "toolyard-auto-start-"));
  });
  afterEach(() => rm(dir, { recursive: true, force: true }));

  test("a config that is not there", async () => {
    const error = await startError({ configPath: "/no/such/config.json" });
    expect(error.message).toContain("/no/such/config.json");
    expect(error.exit).toMatchObject({ exitCode: 1, signal: null });
  });

  test("a config with an unknown key", async () => {
    const path = join(dir, "config.json");
    await writeFile(path, '{"resorces": {}}');
    const error = await startError({ configPath: path });
    expect(error.message).toContain("resorces");
    expect(error.exit).toMatchObject({ exitCode: 1, signal: null });
  });

  test("a data folder that another server holds", async () => {
    const dataDir = join(dir, "data");
    await using holder = await Sandbox.open({ configPath, dataDir });
    // Other options, so that the two do not share one server.
    const other = join(dir, "other.json");
    await writeFile(other, "{}");
    const error = await startError({ configPath: other, dataDir });
    expect(holder.serverUrl).toBeDefined();
    expect(error.message).toContain(dataDir);
    expect(error.exit).toMatchObject({ exitCode: 1, signal: null });
  });
});
