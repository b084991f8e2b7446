import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { HttpServiceClient } from "../../src/client/http-client.ts";
import { Sandbox } from "../../src/client/sandbox.ts";

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

test("reports the config error of the real server that it could not start", async () => {
  await expect(Sandbox.open({ configPath: "/no/such/config.json", startupTimeoutMs: 8_000 })).rejects.toThrow(
    "/no/such/config.json",
  );
});
