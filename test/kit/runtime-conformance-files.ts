import { randomBytes } from "node:crypto";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SandboxInstance, SandboxRuntime } from "../../src/core/runtime.ts";
import type { ArchiveFormat, FileChange, SandboxFiles } from "../../src/core/sandbox-files.ts";
import { ability, exec } from "./runtime-conformance-commands.ts";
import { tarOf } from "./tar-archive.ts";

const never = new AbortController().signal;
const LIMITS = { entries: 1000, totalBytes: 8 * 1024 * 1024 };

async function* once(...chunks: readonly (Uint8Array | string)[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield typeof chunk === "string" ? Buffer.from(chunk) : chunk;
}

async function collect(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return Buffer.concat(parts);
}

/** What a runtime whose sandboxes have files must do. */
export function describeFiles(name: string, create: () => SandboxRuntime): void {
  describe(`${name} touches files as agreed`, () => {
    let runtime: SandboxRuntime;
    let sandbox: SandboxInstance;
    let files: SandboxFiles;
    beforeAll(async () => {
      runtime = create();
      sandbox = await runtime.create({ limits: { diskMiB: 64 } }, never);
      files = ability(sandbox.files, "files");
    });
    afterAll(async () => {
      await sandbox.stop();
      await runtime.close?.();
    });
    const write = (path: string, content: string | Uint8Array, options = {}) =>
      files.write(path, Buffer.from(content), options, never);
    const read = async (path: string, offset = 0, length = 1 << 20) =>
      Buffer.from(await files.read(path, { offset, length }, never)).toString();
    const shell = async (line: string) => (await exec(sandbox, line)).stdout.text.trim();

    it("writes, reads and describes, also in folders that are not there yet", async () => {
      expect(await write("a/b/hello.txt", "hello")).toEqual({ sizeBytes: 5, created: true });
      expect(await write("a/b/hello.txt", "hello!", { mode: 0o600 })).toEqual({ sizeBytes: 6, created: false });
      expect(await read("a/b/hello.txt")).toBe("hello!");
      expect(await read("/workspace/a/b/hello.txt", 1, 3)).toBe("ell");
      expect(await read("a/b/hello.txt", 6, 3)).toBe("");
      expect(await files.stat("a/b/hello.txt", never)).toMatchObject({
        path: expect.stringMatching(/\/a\/b\/hello\.txt$/),
        kind: "file",
        sizeBytes: 6,
        mode: 0o600,
        modifiedAt: expect.closeTo(Date.now(), -5),
      });
      expect(await files.stat("a/b/none", never)).toBeNull();
      expect(await files.stat("a/b/hello.txt/x", never)).toBeNull();
      await expect(read("a/none")).rejects.toMatchObject({ error: "path_not_found" });
      expect(await shell("ls -la a/b | grep -c toolyard")).toBe("0");
    });

    it("appends, and takes a path exclusively", async () => {
      await write("log", "one");
      expect(await write("log", "two", { append: true })).toEqual({ sizeBytes: 6, created: false });
      expect(await read("log")).toBe("onetwo");
      await expect(write("log", "x", { exclusive: true })).rejects.toMatchObject({ error: "path_exists" });
      expect(await write("new-log", "x", { append: true })).toMatchObject({ created: true });
      expect(await write("exclusive", "x", { exclusive: true })).toMatchObject({ created: true });
      expect(await read("log")).toBe("onetwo");
    });

    it("carries every byte of large files, streamed or not", async () => {
      const content = randomBytes(10 * 1024 * 1024);
      await files.write("large", content, {}, never);
      const parts: Uint8Array[] = [];
      for (let offset = 0; offset < content.length; offset += 4 << 20) {
        // oxlint-disable-next-line no-await-in-loop
        parts.push(await files.read("large", { offset, length: 4 << 20 }, never));
      }
      expect(Buffer.concat(parts).equals(content)).toBe(true);
      await files.write("streamed", once(content.subarray(0, 100), content.subarray(100)), {}, never);
      expect(await shell("cmp large streamed && echo same; rm streamed")).toBe("same");
    });

    it("C06 leaves nothing of an upload that is cut, and what was there before", async () => {
      await write("upload", "before");
      const cut = async function* () {
        yield Buffer.alloc(3 << 20, "x");
        throw new Error("the client is gone");
      };
      await expect(files.write("upload", cut(), {}, never)).rejects.toThrow("the client is gone");
      const abort = new AbortController();
      const stall = async function* () {
        yield Buffer.alloc(1 << 20, "x");
        abort.abort();
        yield Buffer.alloc(1 << 20, "x");
      };
      await expect(files.write("upload", stall(), {}, abort.signal)).rejects.toMatchObject({ error: "cancelled" });
      expect(await read("upload")).toBe("before");
      expect(await shell("ls -A | grep -c toolyard-")).toBe("0");
    });

    it("C01 refuses what is no path, and leads nowhere else than commands do", async () => {
      for (const path of ["", "a\0b", "x".repeat(5000), `${"y".repeat(300)}`]) {
        // oxlint-disable-next-line no-await-in-loop
        await expect(write(path, "x")).rejects.toMatchObject({ error: "path_refused" });
      }
      await expect(write("../../../etc/evil", "x")).rejects.toMatchObject({ error: "path_forbidden" });
      expect(await write("..\\%2e%2e%2fodd. ", "x")).toMatchObject({ created: true });
      expect(await shell("ls -d ..*odd*")).toContain("%2e%2e%2fodd.");
      await shell("printf x > \"$(printf 'bad\\377name')\"");
      const odd = (await files.glob("bad*", { path: ".", limit: 5 }, never)).entries[0];
      expect(await read(odd?.path ?? "")).toBe("x");
    });

    it("C02 never shows a host's file through links that change meanwhile", async () => {
      await write("target", "harmless");
      const swapping = await ability(
        sandbox.spawn?.(
          {
            command: [
              "sh",
              "-c",
              "while :; do ln -sfn /etc/passwd swap; ln -sfn target swap; ln -sfn /proc/1/mem swap; done",
            ],
          },
          never,
        ),
        "spawn",
      );
      for (let n = 0; n < 100; n++) {
        // oxlint-disable-next-line no-await-in-loop
        const seen = await read("swap").catch((error: { error: string }) => error.error);
        expect(seen).toMatch(/^(harmless|path_not_found|path_forbidden|.*sandbox.*)/s);
      }
      await swapping.remove();
    });

    it("C05 answers at once for pipes, devices and sockets", async () => {
      await shell("mkfifo pipe; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")'");
      for (const path of ["pipe", "sock", "/dev/zero", "/dev/tty", "/workspace"]) {
        // oxlint-disable-next-line no-await-in-loop
        await expect(read(path)).rejects.toMatchObject({ error: expect.stringMatching(/^path_/) });
        // oxlint-disable-next-line no-await-in-loop
        await expect(write(path, "x")).rejects.toMatchObject({ error: expect.stringMatching(/^path_/) });
      }
      await expect(files.copy("pipe", "copy", { overwrite: false }, never)).rejects.toMatchObject({
        error: "path_refused",
      });
      expect(await files.stat("pipe", never)).toMatchObject({ kind: "fifo" });
      expect(await files.stat("/dev/null", never)).toMatchObject({ kind: "device" });
      await files.remove("pipe", { recursive: false }, never);
      await files.remove("sock", { recursive: false }, never);
    });

    it("A10 tells a full disk, and leaves room again", async () => {
      await expect(write("full", new Uint8Array(80 << 20))).rejects.toMatchObject({
        error: "limit_exceeded",
        details: { limit: "disk" },
      });
      expect(await write("small", "fits")).toMatchObject({ created: true });
    });

    it("lists in order, as deep and as much as asked", async () => {
      await shell("mkdir -p tree/b/c tree/a; touch tree/b/c/deep tree/z tree/a/y; ln -s ../z tree/a/link");
      const names = async (depth: number, limit: number) => {
        const { entries, truncated } = await files.list("tree", { depth, limit }, never);
        return [entries.map(({ path }) => path.replace(/.*\/tree\//, "")), truncated];
      };
      expect(await names(1, 10)).toEqual([["a", "b", "z"], false]);
      expect(await names(9, 10)).toEqual([["a", "a/link", "a/y", "b", "b/c", "b/c/deep", "z"], false]);
      expect(await names(9, 3)).toEqual([["a", "a/link", "a/y"], true]);
      const { entries } = await files.list("tree/a", { depth: 1, limit: 5 }, never);
      expect(entries[0]).toMatchObject({ kind: "symlink", target: "../z" });
      await expect(files.list("none", { depth: 1, limit: 5 }, never)).rejects.toMatchObject({
        error: "path_not_found",
      });
      await expect(files.list("small", { depth: 1, limit: 5 }, never)).rejects.toMatchObject({ error: "path_refused" });
    });

    it("finds names and lines", async () => {
      await shell(
        "mkdir -p find/sub; printf 'one\\nTwo 2\\nthree\\n' >find/a.txt; printf 'two\\n' >find/sub/b.py; printf 'two\\0' >find/bin",
      );
      const glob = async (pattern: string) =>
        (await files.glob(pattern, { path: "find", limit: 10 }, never)).entries.map(({ path }) =>
          path.replace(/.*find\//, ""),
        );
      expect(await glob("*")).toEqual(["a.txt", "bin", "sub"]);
      expect(await glob("**/*.{py,txt}")).toEqual(["a.txt", "sub/b.py"]);
      expect(await glob("sub/[!a]?py")).toEqual(["sub/b.py"]);
      const grep = (pattern: string, options = {}) =>
        files.grep({ path: "find", pattern, limit: 10, ...options }, never);
      expect((await grep("two", { ignoreCase: true, contextLines: 1 })).entries).toEqual([
        {
          path: expect.stringMatching(/a\.txt$/),
          line: 2,
          column: 1,
          text: "Two 2",
          before: ["one"],
          after: ["three"],
        },
        { path: expect.stringMatching(/b\.py$/), line: 1, column: 1, text: "two", before: [], after: [] },
      ]);
      expect((await grep("t.o", { glob: "**/*.py" })).entries).toHaveLength(1);
      expect((await grep("t.o", { literal: true })).entries).toEqual([]);
      expect(await grep("e", { limit: 1 })).toMatchObject({ entries: [{ line: 1 }], truncated: true });
      await expect(grep("(")).rejects.toMatchObject({ error: "invalid_input" });
    });

    it("ends a search that would never end by itself", async () => {
      await write("slow-search", `${"a".repeat(60)}!\n`);
      const options = { path: "slow-search", pattern: "(a+)+$", limit: 1 };
      await expect(files.grep(options, AbortSignal.timeout(100))).rejects.toMatchObject({ error: "cancelled" });
      expect(await read("small")).toBe("fits");
    });

    it("makes folders, moves, copies and removes", async () => {
      await files.makeDirectory("m/n/o", never);
      await files.makeDirectory("m/n", never);
      await write("m/file", "f");
      await expect(files.makeDirectory("m/file", never)).rejects.toMatchObject({ error: "path_exists" });
      await files.copy("m", "copied", { overwrite: false }, never);
      expect(await read("copied/file")).toBe("f");
      await expect(files.copy("m", "copied", { overwrite: false }, never)).rejects.toMatchObject({
        error: "path_exists",
      });
      await expect(files.copy("m", "m/n/inside", { overwrite: false }, never)).rejects.toMatchObject({
        error: "path_refused",
      });
      await write("m/file", "g");
      await files.copy("m", "copied", { overwrite: true }, never);
      expect(await read("copied/file")).toBe("g");
      await expect(files.move("m/file", "copied/file", { overwrite: false }, never)).rejects.toMatchObject({
        error: "path_exists",
      });
      await files.move("m", "/tmp/moved", { overwrite: false }, never);
      expect(await shell("cat /tmp/moved/file; ls -d m 2>/dev/null")).toBe("g");
      await files.move("/tmp/moved", "copied", { overwrite: true }, never);
      await expect(files.move("none", "x", { overwrite: true }, never)).rejects.toMatchObject({
        error: "path_not_found",
      });
      await expect(files.remove("copied", { recursive: false }, never)).rejects.toMatchObject({
        error: "path_refused",
      });
      await shell("chmod 0 copied/n");
      expect(await files.remove("copied", { recursive: true }, never)).toBe(true);
      expect(await files.remove("copied", { recursive: true }, never)).toBe(false);
      expect(await shell("ls -A | grep -c toolyard-")).toBe("0");
    });

    it("watches changes, folders that are new among them", async () => {
      await files.makeDirectory("watched", never);
      const abort = new AbortController();
      const seen: FileChange[] = [];
      const watching = (async () => {
        for await (const change of files.watch("watched", { recursive: true }, abort.signal)) seen.push(change);
      })();
      const told = (kind: string, end: string) =>
        seen.some((change) => change.kind === kind && change.path.endsWith(end));
      // It says nothing of when it has begun to look.
      await expect.poll(async () => (await shell("date > watched/probe"), told("modified", "probe"))).toBe(true);
      await shell("mkdir watched/new");
      // From there on it looks into the new folder, too.
      await expect.poll(() => told("created", "watched/new")).toBe(true);
      await shell("echo x > watched/new/f; mv watched/new/f watched/g; rm watched/probe");
      await expect.poll(() => told("deleted", "probe")).toBe(true);
      expect(seen).toContainEqual({
        kind: "moved",
        path: expect.stringMatching(/watched\/g$/),
        from: expect.stringMatching(/watched\/new\/f$/),
      });
      // A write is one change, of what it was to begin with; how it is done stays unseen.
      seen.length = 0;
      await write("watched/whole", Buffer.from("1"));
      await write("watched/whole", Buffer.from("2"));
      await shell("mv watched/whole watched/last");
      await expect.poll(() => told("moved", "last")).toBe(true);
      expect(seen.slice(0, 2)).toMatchObject([
        { kind: "created", path: expect.stringMatching(/watched\/whole$/) },
        { kind: "modified", path: expect.stringMatching(/watched\/whole$/) },
      ]);
      expect(seen).toHaveLength(3);
      abort.abort();
      await watching;
    });

    it.each<ArchiveFormat>(["tar", "tar.gz", "zip"])("packs and unpacks %s", async (format) => {
      await shell(
        "rm -rf pack out; mkdir -p pack/sub/empty; echo hi >pack/sub/f; chmod 755 pack/sub/f; ln -s sub/f pack/l; mkfifo pack/p",
      );
      await write("pack/random", randomBytes(2 << 20));
      const archive = await collect(files.archive("pack", { format }, never));
      // gzip's header says 2 where the last percent was bought with ten times the time, for which forks and snapshots wait.
      if (format === "tar.gz") expect(archive[8]).not.toBe(2);
      const extracted = await files.extract(
        "out",
        once(archive.subarray(0, 7), archive.subarray(7)),
        { format, limits: LIMITS },
        never,
      );
      expect(extracted).toEqual({ entries: 5, totalBytes: (2 << 20) + 3 });
      expect(
        await shell("rm pack/p; diff -r pack out && stat -c %a out/sub/f && readlink out/l && ls -d out/sub/empty"),
      ).toBe("755\nsub/f\nout/sub/empty");
      const part = await collect(files.archive("pack", { format, names: ["sub"] }, never));
      expect(await files.extract("part", once(part), { format, limits: LIMITS }, never)).toMatchObject({ entries: 3 });
      await files.remove("part", { recursive: true }, never);
    });

    it("C03 refuses archives that would write elsewhere, whole", async () => {
      const evil: Readonly<Record<string, Parameters<typeof tarOf>[0]>> = {
        "a path above": [{ name: "ok" }, { name: "../evil" }],
        "an absolute path": [{ name: "ok" }, { name: "/tmp/evil" }],
        "a link out": [{ name: "ok" }, { name: "l", type: "2", link: "/etc" }],
        "a link above": [{ name: "ok" }, { name: "d/l", type: "2", link: "../../x" }],
        "a path through a link": [{ name: "l", type: "2", link: "." }, { name: "l/x" }],
        "links that lead out together": [
          { name: "a/b", type: "2", link: "." },
          { name: "c", type: "2", link: "a/b/../.." },
        ],
        "a hard link out": [{ name: "ok" }, { name: "h", type: "1", link: "/etc/passwd" }],
        "a device": [{ name: "ok" }, { name: "dev", type: "3" }],
        "a pipe": [{ name: "ok" }, { name: "pipe", type: "6" }],
      };
      for (const [what, entries] of Object.entries(evil)) {
        // oxlint-disable-next-line no-await-in-loop
        const refused = await files
          .extract("slip", once(tarOf(entries)), { format: "tar", limits: LIMITS }, never)
          .catch((error: unknown) => error);
        expect(refused, what).toMatchObject({ error: expect.stringMatching(/^path_/) });
      }
      expect(await shell("ls -A slip | wc -l; ls /tmp/evil evil 2>/dev/null | wc -l")).toBe("0\n0");
      const setid = tarOf([{ name: "s", mode: 0o6755 }]);
      await files.extract("slip", once(setid), { format: "tar", limits: LIMITS }, never);
      expect(await files.stat("slip/s", never)).toMatchObject({ mode: 0o755 });
      await expect(
        files.extract("slip", once("this is no archive at all"), { format: "zip", limits: LIMITS }, never),
      ).rejects.toMatchObject({ error: "invalid_input" });
    });

    it("C04 stops bombs at the limits, with nothing left of them", async () => {
      const bomb = gzipSync(tarOf([{ name: "zeros", content: Buffer.alloc(20 << 20) }]));
      const extract = (content: Buffer, limits = LIMITS) =>
        files.extract("bomb", once(content), { format: "tar.gz", limits }, never).catch((error: unknown) => error);
      expect(await extract(bomb)).toMatchObject({ error: "limit_exceeded", details: { limit: "archive_bytes" } });
      const liar = tarOf([{ name: "liar", size: 10_000_000_000 }]);
      expect(await extract(gzipSync(liar))).toMatchObject({ error: "limit_exceeded" });
      const many = gzipSync(tarOf(Array.from({ length: 2000 }, (_, n) => ({ name: `f${n}` }))));
      expect(await extract(many)).toMatchObject({ error: "limit_exceeded", details: { limit: "archive_entries" } });
      const endless = gzipSync(Buffer.alloc(64 << 20));
      expect(await extract(endless, { entries: 10, totalBytes: 1 << 20 })).toMatchObject({ error: "limit_exceeded" });
      expect(await shell("ls -A bomb | wc -l")).toBe("0");
    });

    it("goes on when user code killed what touches files", async () => {
      for (let time = 0; time < 10; time += 1) {
        // oxlint-disable-next-line no-await-in-loop -- what was killed is asked for at once, perhaps before it is dead
        await shell("kill -9 -1");
        // oxlint-disable-next-line no-await-in-loop
        expect(await read("small")).toBe("fits");
      }
    });
  });
}
