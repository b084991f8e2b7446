import { readFile, rm, writeFile } from "node:fs/promises";
import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { type MakeRuntime, shareVictim } from "./sandbox-attacks.ts";

const never = new AbortController().signal;

/** A member of an archive that must not be unpacked, written by Python's tarfile in the box. */
const SLIPS = {
  "a path that goes up": "member('../../escaped')",
  "an absolute path": "member('/tmp/escaped')",
  "a link that leads out": "link('out', tarfile.SYMTYPE, '/tmp'), member('out/escaped')",
  "a hard link that leads out": "link('hard', tarfile.LNKTYPE, '/etc/passwd')",
  "a device": "link('null', tarfile.CHRTYPE, '')",
  "a pipe": "link('pipe', tarfile.FIFOTYPE, '')",
} as const;

const pack = (members: string) => `
import io, tarfile
archive = tarfile.open('slip.tar', 'w')
def member(name):
    info = tarfile.TarInfo(name); info.size = 4; archive.addfile(info, io.BytesIO(b'evil'))
def link(name, kind, target):
    info = tarfile.TarInfo(name); info.type = kind; info.linkname = target; archive.addfile(info)
${members}
archive.close()`;

/** What hostile paths, links and archives do; every runtime with files must bear it. */
export function attackFiles(make: MakeRuntime): void {
  const shared = shareVictim(make);

  it("C01 takes no path out of the box", async () => {
    const { call } = await shared();
    const name = `toolyard-host-${randomUUID()}`;
    const host = `/tmp/${name}`;
    await writeFile(host, "of the host");
    try {
      for (const path of [
        host,
        `../tmp/${name}`,
        `../../../../tmp/${name}`,
        `/proc/1/root/tmp/${name}`,
        `/proc/self/cwd/../tmp/${name}`,
      ])
        await expect(call("file:read", { path }), path).rejects.toMatchObject({
          error: expect.stringMatching(/^path_(not_found|forbidden|refused)$/),
        });
      for (const path of ["%2e%2e/%2e%2e/tmp/x", "..\\..\\tmp\\x", "trailing.", "日本語"]) {
        // Odd, but names like others.
        await call("file:write", { path: `odd/${path}`, content: "x" });
        expect(await call("file:read", { path: `odd/${path}` })).toMatchObject({ content: "x" });
      }
      for (const path of ["a\0b", "x".repeat(5000), `${"x".repeat(300)}/y`])
        await expect(call("file:write", { path, content: "" })).rejects.toMatchObject({
          error: expect.stringMatching(/^path_/),
        });
      expect(await readFile(host, "utf8")).toBe("of the host");
    } finally {
      await rm(host);
    }
  });

  it("C02 is not led out by a link that is swapped under it", async () => {
    const { call } = await shared();
    const host = `/tmp/toolyard-host-${randomUUID()}`;
    await writeFile(host, "of the host");
    try {
      await call("bash:run", {
        command: `cd /workspace; echo inside > real; while :; do ln -sfn real swap; ln -sfn ${host} swap; done`,
        background: true,
      });
      await expect.poll(async () => (await call("file:stat", { path: "swap" })).entry).not.toBeNull();
      for (let round = 0; round < 30; round += 1) {
        const read = await call("file:read", { path: "swap" }).catch((error: unknown) => ({ content: "", error }));
        expect(read.content).not.toContain("of the host");
        await call("file:write", { path: "swap", content: "written" }).catch(() => {});
      }
      expect(await readFile(host, "utf8")).toBe("of the host");
    } finally {
      await rm(host);
    }
  });

  it.each(Object.entries(SLIPS))("C03 unpacks nothing of an archive with %s", async (_, members) => {
    const { call, py } = await shared();
    expect(await py(pack(`member('innocent'), ${members}`))).toMatchObject({ error: null });
    await expect(call("file:extract", { path: "slip.tar", to: "into" })).rejects.toMatchObject({
      error: "path_refused",
    });
    expect(await call("bash:run", { command: "ls into /tmp/escaped /workspace/../escaped 2>/dev/null" })).toMatchObject(
      {
        stdout: expect.not.stringMatching(/innocent|escaped/),
      },
    );
  });

  it("C03 takes the set-id bits from what it unpacks", async () => {
    const { call, py } = await shared();
    await py(pack("info = tarfile.TarInfo('su'); info.mode = 0o6755; archive.addfile(info, io.BytesIO(b''))"));
    await call("file:extract", { path: "slip.tar", to: "into" });
    expect(await call("file:stat", { path: "into/su" })).toMatchObject({ entry: { mode: "0755" } });
  });

  it("C04 stops a bomb at its limits, and nothing of it is left", async () => {
    const { call, py } = await shared();
    await py(`
import zipfile
with zipfile.ZipFile('bomb.zip', 'w', zipfile.ZIP_DEFLATED) as bomb: bomb.writestr('zeros', bytes(50 << 20))
with zipfile.ZipFile('many.zip', 'w') as many:
    for n in range(2000): many.writestr(f'{n}', b'')`);
    for (const [path, more] of [
      ["bomb.zip", { max_bytes: 1 << 20 }],
      ["many.zip", { max_entries: 100 }],
    ] as const) {
      await expect(call("file:extract", { path, to: "into", ...more })).rejects.toMatchObject({
        error: "limit_exceeded",
      });
      const { stdout } = {
        stdout: "",
        ...(await call("bash:run", { command: "find into 2>/dev/null | wc -l; du -sm . | cut -f1" })),
      };
      const [left, mebibytes] = stdout.split("\n").map(Number);
      expect(left).toBeLessThanOrEqual(1);
      expect(mebibytes).toBeLessThan(3);
    }
  });

  it("C05 waits for no pipe, device or socket", async () => {
    const { call, sh } = await shared();
    await sh("mkfifo pipe; python3 -c \"import socket; socket.socket(socket.AF_UNIX).bind('socket')\"");
    for (const path of ["pipe", "socket", "/dev/zero", "/dev/urandom"])
      await expect(call("file:read", { path }), path).rejects.toMatchObject({
        error: expect.stringMatching(/^path_(refused|forbidden)$/),
      });
  });

  it("C06 shows nothing of a file that did not come whole", async () => {
    const { backend, session, call } = await shared();
    const { files } = backend.sandbox(session);
    if (files === undefined) throw new Error("it has no files");
    async function* half() {
      yield Buffer.alloc(100_000, 1);
      throw new Error("the client went away");
    }
    await call("file:write", { path: "kept", content: "old" });
    for (const path of ["kept", "new"]) await expect(files.write(path, half(), {}, never)).rejects.toThrow();
    expect(await call("file:read", { path: "kept" })).toMatchObject({ content: "old" });
    const { entries } = await call("file:list", { path: "." });
    expect(entries.map(({ path }) => path.split("/").at(-1))).toEqual(["kept"]);
  });
}
