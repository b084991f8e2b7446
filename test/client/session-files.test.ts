import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { describe, expect, test } from "vitest";
import { ConnectionError } from "../../src/client/errors/connection-error.ts";
import { HttpServiceClient } from "../../src/client/http-client.ts";
import { Sandbox } from "../../src/client/sandbox.ts";
import type { UploadContent } from "../../src/client/transfer.ts";
import { appInSandbox } from "../kit/app-in-sandbox.ts";
import { type BoxServer, boxServer } from "../kit/box-server.ts";
import { keyedServer } from "../kit/keyed-server.ts";
import { MemoryFiles } from "../kit/memory-files.ts";
import { SandboxedBackend } from "../kit/sandboxed-backend.ts";

const clientOf = (server: BoxServer, more = {}) => new HttpServiceClient({ baseUrl: server.url, ...more });
const filesOf = (server: BoxServer, more = {}) => clientOf(server, more).files(server.sessionId);

/** A folder that is gone after the test. */
async function folder() {
  const path = await mkdtemp(join(tmpdir(), "toolyard-files-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) };
}

async function* pieces(...texts: readonly string[]) {
  for (const text of texts) yield new TextEncoder().encode(text);
}

describe.each([
  ["the client's own connections", {}],
  ["another fetch", { fetch: globalThis.fetch }],
])("files over %s", (_, options) => {
  test("are uploaded from whatever holds bytes", async () => {
    await using server = await boxServer();
    const files = filesOf(server, options);
    const contents: UploadContent[] = [
      "ÆØÅ 日本",
      new TextEncoder().encode("ÆØÅ 日本"),
      new Blob(["ÆØÅ 日本"]),
      new Blob(["ÆØÅ 日本"]).stream(),
      pieces("ÆØÅ ", "日本"),
      Readable.from([Buffer.from("ÆØÅ 日本")]),
    ];
    for (const [index, content] of contents.entries()) {
      const path = `sub/né ${index}?&#%.txt`;
      expect(await files.upload(path, content, { mode: 0o600 })).toEqual({ path, size_bytes: 13, created: true });
      expect(server.files.text(path)).toBe("ÆØÅ 日本");
    }
    await expect(files.upload("sub/né 0?&#%.txt", "", { exclusive: true })).rejects.toMatchObject({
      error: "path_exists",
      status: 409,
    });
  });

  test("C06: are not there when what is uploaded fails midway", async () => {
    await using server = await boxServer();
    async function* failing() {
      yield new Uint8Array(100_000);
      throw new Error("no more");
    }
    await expect(filesOf(server, options).upload("half", failing())).rejects.toThrow();
    await expect.poll(() => server.engine.loans.count).toBe(0);
    expect(server.files.text("half")).toBeUndefined();
  });

  test("are downloaded as they come, whole or a stretch", async () => {
    await using server = await boxServer();
    server.files.put("digits", "0123456789");
    const files = filesOf(server, options);
    expect(await (await files.download("digits")).text()).toBe("0123456789");
    expect(await (await files.download("digits", { start: 2, length: 3 })).text()).toBe("234");
    expect(await (await files.download("digits", { start: 8 })).text()).toBe("89");
    await expect(files.download("nothing")).rejects.toMatchObject({ name: "ServerError", error: "path_not_found" });
    server.files.put("empty", "");
    expect(await (await files.download("empty")).text()).toBe("");
  });

  test("are never taken for whole when they were cut off", async () => {
    await using server = await boxServer();
    await using local = await folder();
    server.files.put("big", new Uint8Array(600_000));
    server.files.onRead = (offset) => {
      if (offset > 0) throw new Error("the sandbox is gone");
    };
    const to = join(local.path, "big");
    await expect(filesOf(server, options).downloadFile("big", to)).rejects.toThrow();
    expect(await readdir(local.path)).toEqual([]);
  });
});

test("files go to and from this machine's own", async () => {
  await using server = await boxServer();
  await using local = await folder();
  const files = filesOf(server);
  const from = join(local.path, "from");
  await writeFile(from, "content");
  expect(await files.uploadFile("a", from)).toMatchObject({ size_bytes: 7 });
  expect(await files.downloadFile("a", join(local.path, "to"))).toBe(7);
  expect(await readFile(join(local.path, "to"), "utf8")).toBe("content");
  await expect(files.uploadFile("b", join(local.path, "nothing"))).rejects.toThrow();
  expect(server.files.text("b")).toBeUndefined();
});

test("archives go both ways, and files are deleted", async () => {
  await using server = await boxServer();
  const files = filesOf(server);
  server.files.put("out", "", { kind: "directory" });
  expect(await (await files.downloadArchive("out", { format: "zip" })).text()).toBe("zip of out");
  expect(await files.uploadArchive("in", "12345")).toEqual({ path: "in", entries: 1, total_bytes: 5 });
  expect(server.files.extracted?.format).toBe("tar.gz");
  expect([await files.delete("out", { recursive: true }), await files.delete("out")]).toEqual([true, false]);
});

test("a transfer is aborted by its signal, and a server that is not there is a ConnectionError", async () => {
  await using server = await boxServer();
  const files = filesOf(server);
  const signal = AbortSignal.abort(new Error("enough"));
  await expect(files.download("a", { signal })).rejects.toThrow("enough");
  await expect(
    new HttpServiceClient({ baseUrl: "http://127.0.0.1:1" }).files("x").upload("a", "x"),
  ).rejects.toBeInstanceOf(ConnectionError);
});

describe("a sandbox's own files and ports", () => {
  test("are those of its session, which is made if there is none and ends with the sandbox", async () => {
    const files = new MemoryFiles();
    const backend = new SandboxedBackend({ files });
    await using server = await keyedServer({ user: {} }, { backends: [["code", backend]] });
    const apiKey = server.holders.user.key;
    {
      await using sandbox = await Sandbox.open({ serverUrl: server.url, apiKey, heartbeatIntervalMs: 0 });
      await Promise.all([sandbox.files.upload("a", "1"), sandbox.files.upload("b", "2")]);
      expect(await (await sandbox.files.download("a")).text()).toBe("1");
      expect(await sandbox.sessions.active()).toHaveLength(1);
      expect(backend.cleaned).toHaveLength(0);
    }
    expect(backend.cleaned).toHaveLength(1);
  });

  test("leave a session alone that the worker had before", async () => {
    const backend = new SandboxedBackend({ files: new MemoryFiles() });
    await using server = await boxServer({ backends: [backend] });
    {
      await using sandbox = await Sandbox.open({ serverUrl: server.url, workerId: "w1", heartbeatIntervalMs: 0 });
      await sandbox.filesOf("box").upload("a", "1");
    }
    expect(backend.cleaned).toEqual([]);
  });

  test("are exposed under a URL that works until it is closed", async () => {
    await using app = await appInSandbox((incoming, outgoing) => void outgoing.end(`hello ${incoming.url}`));
    await using server = await boxServer();
    await using sandbox = await Sandbox.open({ serverUrl: server.url, workerId: "w1", heartbeatIntervalMs: 0 });
    const { url, ticket, ...way } = await sandbox.expose(app.port, { resource: "box", ttlMs: 60_000 });
    expect(await (await fetch(url)).text()).toBe("hello /");
    expect(url).toContain(ticket);
    const ports = sandbox.portsOf("box");
    expect(await ports.list()).toEqual([way]);
    expect([await ports.unexpose(app.port), await ports.unexpose(app.port)]).toEqual([1, 0]);
    expect((await fetch(url)).status).toBe(401);
  });

  test("name what a resource has not", async () => {
    await using server = await boxServer();
    await using sandbox = await Sandbox.open({ serverUrl: server.url, heartbeatIntervalMs: 0 });
    await expect(sandbox.files.upload("a", "1")).rejects.toMatchObject({ error: "unknown_name" });
  });
});

test("sessions are got, listed and closed by their ids, and their cleanup stopped and started", async () => {
  await using server = await boxServer();
  const { sessions } = clientOf(server);
  const { sessionId } = server;
  expect(await sessions.get(sessionId)).toMatchObject({ session_id: sessionId, worker_id: "w1", resource_type: "box" });
  expect(await sessions.active({ workerId: "w1", resource: "box" })).toHaveLength(1);
  expect(await sessions.active({ workerId: "w2" })).toEqual([]);
  await sessions.stopCleanup();
  expect(server.engine.cleanup.running).toBe(false);
  await sessions.startCleanup();
  expect(server.engine.cleanup.running).toBe(true);
  expect([await sessions.close(sessionId), await sessions.close(sessionId)]).toEqual([true, false]);
  await expect(sessions.get(sessionId)).rejects.toMatchObject({ error: "session_not_found" });
  const again = await clientOf(server, { workerId: "w3" }).createSession("box");
  expect(await sessions.closeAll({ workerId: "w3" })).toEqual([again.session_id]);
  expect(await sessions.closeAll()).toEqual([]);
});
