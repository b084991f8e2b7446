import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { ServerStartError } from "../../src/client/errors/server-start-error.ts";
import { acquireServer } from "../../src/client/shared-server.ts";
import { spawnServer, type SpawnOptions } from "../../src/client/spawn.ts";

const fake = (mode?: string): SpawnOptions => ({
  entry: new URL("fake-entry.ts", import.meta.url),
  startupTimeoutMs: 100_000,
  configPath: mode,
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function startError(options: SpawnOptions): Promise<ServerStartError> {
  return spawnServer(options).then(
    () => expect.fail("it started"),
    (error: unknown) => (error instanceof ServerStartError ? error : expect.fail(String(error))),
  );
}

test("starts a server on a free port and ends it", async () => {
  const server = await spawnServer(fake());
  await expect(fetch(`${server.url}/health`).then((response) => response.json())).resolves.toMatchObject({
    pid: server.pid,
  });
  await server.stop();
  await server.stop();
  expect(server.exit).toMatchObject({ signal: "SIGTERM" });
  expect(isAlive(server.pid)).toBe(false);
});

test("reports a server that ends before it listens, with the last of its stderr", async () => {
  const error = await startError(fake("crash"));
  expect(error.exit.exitCode).toBe(3);
  expect(error.message).toContain("config: backends.vm: no such backend");
});

test("reports a server that is not ready in time, and leaves no process behind", async () => {
  const error = await startError({ ...fake("hang"), startupTimeoutMs: 1_000 });
  expect(error.message).toContain("not ready within 1000 ms");
});

test("reports a program that is not there", async () => {
  const error = await startError({ ...fake(), entry: new URL("no-such-entry.js", import.meta.url) });
  expect(error.message).toContain("no-such-entry");
});

test("kills a server that does not heed SIGTERM", async () => {
  const server = await spawnServer(fake("stubborn"));
  await server.stop(100);
  expect(server.exit).toMatchObject({ signal: "SIGKILL" });
});

test("D17: holders with the same options share one server, and the last to go ends it", async () => {
  const [one, two, other] = await Promise.all([
    acquireServer(fake()),
    acquireServer(fake()),
    acquireServer(fake("another")),
  ]);
  expect(two.server.pid).toBe(one.server.pid);
  expect(other.server.pid).not.toBe(one.server.pid);
  await one.release();
  await one.release();
  expect(isAlive(two.server.pid)).toBe(true);
  await Promise.all([two.release(), other.release()]);
  expect(isAlive(one.server.pid)).toBe(false);
  expect(isAlive(other.server.pid)).toBe(false);
});

test("a server that died is not handed to the next holder", async () => {
  const one = await acquireServer(fake());
  process.kill(one.server.pid, "SIGKILL");
  await one.server.ended;
  const two = await acquireServer(fake());
  expect(two.server.pid).not.toBe(one.server.pid);
  await Promise.all([one.release(), two.release()]);
});

test("a start that failed is tried again by the next to ask", async () => {
  await expect(acquireServer(fake("crash"))).rejects.toThrow(ServerStartError);
  await expect(acquireServer(fake("crash"))).rejects.toThrow(ServerStartError);
});

test("D17: a server dies with the process that started it, even one that was killed", async () => {
  const parent = fork(fileURLToPath(new URL("fake-parent.ts", import.meta.url)), {
    execArgv: ["--import", "tsx"],
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const pid = await new Promise<number>((resolve) => parent.once("message", (message) => resolve(Number(message))));
  expect(isAlive(pid)).toBe(true);
  parent.kill("SIGKILL");
  await expect.poll(() => isAlive(pid)).toBe(false);
});

test("a process that forgets to close its server ends all the same", async () => {
  const parent = fork(fileURLToPath(new URL("fake-parent.ts", import.meta.url)), ["forget"], {
    execArgv: ["--import", "tsx"],
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const pid = new Promise<number>((resolve) => parent.once("message", (message) => resolve(Number(message))));
  await expect(new Promise((resolve) => parent.once("exit", resolve))).resolves.toBe(0);
  const child = await pid;
  await expect.poll(() => isAlive(child)).toBe(false);
});
