import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import CodeBackend from "../../src/backends/code/backend.ts";
import { HttpServiceClient } from "../../src/client/http-client.ts";
import type { SessionFiles } from "../../src/client/session-files.ts";
import { LocalRuntime } from "../../src/runtimes/local/runtime.ts";
import { createRuntimeSelector } from "../../src/runtimes/selector.ts";
import { filesPath } from "../kit/box-server.ts";
import { tarOf } from "../kit/tar-archive.ts";
import { type TestServer, testServer } from "../kit/test-server.ts";

const status = await new LocalRuntime().check(AbortSignal.timeout(60_000));
const why = status.available ? "" : `: skipped, local sandboxes cannot run here (${status.reason})`;

describe.skipIf(!status.available)(`the doors to a real sandbox${why}`, () => {
  const selector = createRuntimeSelector({ order: ["local"], local: { limits: { memoryMiB: 256, diskMiB: 64 } } });
  let server: TestServer;
  let client: HttpServiceClient;
  let files: SessionFiles;
  let sessionId: string;
  let marker: string;

  beforeAll(async () => {
    const backend = new CodeBackend({ config: {}, runtimes: selector });
    server = await testServer({ backends: [backend], http: { archiveEntries: 50, archiveBytes: 1_000_000 } });
    client = new HttpServiceClient({ baseUrl: server.url, workerId: "w1" });
    ({ session_id: sessionId } = await client.createSession("code"));
    files = client.files(sessionId);
    marker = await mkdtemp(join(tmpdir(), "toolyard-door-"));
    await writeFile(join(marker, "host"), "of the host");
  });
  afterAll(async () => {
    await server.stop({ force: true });
    await selector.close();
    await rm(marker, { recursive: true });
  });

  const bash = async (command: string): Promise<string> => {
    const { stdout } = await client.executeUntyped<{ stdout: string }>("bash:run", { command });
    return stdout.trim();
  };

  it("share their files with the session's tools", async () => {
    await files.upload("in/a.txt", "from outside", { mode: 0o640 });
    expect(await bash("cat in/a.txt; stat -c ' %a' in/a.txt")).toBe("from outside 640");
    await bash("printf 'from inside' > b.txt; ln -s b.txt link");
    expect(await (await files.download("link")).text()).toBe("from inside");
    expect(await (await files.download("/workspace/b.txt", { start: 5 })).text()).toBe("inside");
    expect(await files.delete("b.txt")).toBe(true);
    await expect(files.download("b.txt")).rejects.toMatchObject({ error: "path_not_found" });
  });

  it("C01: lead to no file of the host, however it is named", async () => {
    const host = join(marker, "host");
    const ups = "../".repeat(30);
    const paths = [
      host,
      `${ups}${host}`,
      `/proc/1/root${host}`,
      `/proc/self/cwd/${ups}${host}`,
      encodeURIComponent(`${ups}${host}`),
    ];
    for (const path of paths) {
      const answer = await fetch(server.url + filesPath(sessionId, path));
      expect([path, answer.ok, (await answer.text()).includes("of the host")]).toEqual([path, false, false]);
    }
    await bash(`ln -s ${host} out`);
    await expect(files.download("out")).rejects.toMatchObject({ error: "path_not_found" });
    // What may be written under that name is written in the sandbox.
    for (const path of paths) await files.upload(path, "overwritten").catch(() => undefined);
    expect(await readFile(host, "utf8")).toBe("of the host");
  });

  it("C03: unpack nothing that leads out, and then nothing at all", async () => {
    const evil = [
      tarOf([
        { name: "ok", content: Buffer.from("1") },
        { name: "../../escaped", content: Buffer.from("2") },
      ]),
      tarOf([{ name: "ok" }, { name: "/tmp/escaped", content: Buffer.from("2") }]),
      tarOf([{ name: "ok" }, { name: "l", type: "2", link: "/etc" }, { name: "l/escaped", content: Buffer.from("2") }]),
      tarOf([{ name: "ok" }, { name: "device", type: "3" }]),
    ];
    for (const archive of evil) {
      await expect(files.uploadArchive("unpacked", gzipSync(archive))).rejects.toMatchObject({ name: "ServerError" });
    }
    expect(await bash("ls -A unpacked 2>/dev/null; ls /tmp /workspace | grep escaped")).toBe("");
  });

  it("C04: stop a bomb at the config's limits, and leave nothing of it", async () => {
    const many = tarOf(Array.from({ length: 60 }, (_, index) => ({ name: `f${index}` })));
    const large = tarOf([{ name: "zeros", content: Buffer.alloc(2_000_000) }]);
    for (const bomb of [many, large]) {
      await expect(files.uploadArchive("bomb", gzipSync(bomb))).rejects.toMatchObject({ error: "limit_exceeded" });
    }
    expect(await bash("ls -A bomb 2>/dev/null")).toBe("");
  });

  it("C05: refuse what is no file, and hang at none", async () => {
    await bash("mkfifo -m 666 pipe 2>/dev/null; mkdir -p folder");
    for (const path of ["pipe", "folder", "/dev/zero", "/dev/tty"]) {
      await expect(files.download(path)).rejects.toMatchObject({ name: "ServerError", status: 400 });
    }
    await expect(files.upload("folder", "x")).rejects.toMatchObject({ name: "ServerError" });
  });

  it("C06: show nothing of an upload whose client drops in the middle", async () => {
    const { hostname, port } = new URL(server.url);
    const path = filesPath(sessionId, "dropped/half.bin");
    const sent = request({ hostname, port, method: "PUT", path, headers: { "content-length": 8_000_000 } });
    sent.on("error", () => undefined);
    sent.write(Buffer.alloc(4_000_000));
    await expect.poll(() => server.engine.loans.count).toBe(1);
    sent.destroy();
    await expect.poll(() => server.engine.loans.count, { timeout: 30_000 }).toBe(0);
    await expect(files.download("dropped/half.bin")).rejects.toMatchObject({ error: "path_not_found" });
    // What was half written under another name is gone, too, once the sandbox has seen to it.
    await expect.poll(() => bash("find /workspace -name '*half*' -o -size +1000k"), { timeout: 30_000 }).toBe("");
  });

  it("carry a folder out and in again", async () => {
    await bash("mkdir -p tree/sub; echo 1 > tree/a; echo 2 > tree/sub/b; chmod 755 tree/sub/b");
    for (const format of ["tar.gz", "zip"] as const) {
      const archive = new Uint8Array(await (await files.downloadArchive("tree", { format })).arrayBuffer());
      expect(await files.uploadArchive(`copy-${format}`, archive, { format })).toMatchObject({
        path: `copy-${format}`,
      });
      expect(await bash(`diff -r tree copy-${format} && echo same`)).toBe("same");
    }
  });

  it("say that the disk is full, and free what was sent", async () => {
    const chunk = Buffer.alloc(1_000_000);
    async function* more() {
      for (let index = 0; index < 200; index += 1) yield chunk;
    }
    await expect(files.upload("too-big", more())).rejects.toThrow();
    expect(await bash("ls -A | grep too-big; du -sm /workspace | cut -f1")).toMatch(/^\d{1,2}$/);
  });
});
