import { expect, it, vi } from "vitest";
import type { CodeContext } from "../../../src/backends/code/session.ts";
import { LocalRuntime } from "../../../src/runtimes/local/runtime.ts";
import { openCodeSession } from "./code-session.ts";
import { describeLocal } from "./local-sandboxes.ts";

const open = (config: Record<string, unknown> = {}) => openCodeSession([new LocalRuntime()], config);

describeLocal("the files of a session", () => {
  it("are the same for tools, shell and code", async () => {
    const { call } = await open();
    expect(await call("file:write", { path: "a/b.txt", content: "one\ntwo\n" })).toEqual({
      path: "a/b.txt",
      size_bytes: 8,
      created: true,
    });
    expect(await call("bash:run", { command: "cat a/b.txt; echo three >> a/b.txt" })).toMatchObject({
      stdout: "one\ntwo\n",
    });
    expect(await call("code:run", { language: "python", code: "open('a/b.txt').read()" })).toMatchObject({
      result: "one\ntwo\nthree\n",
    });
    expect(await call("file:read", { path: "/workspace/a/b.txt", start_line: 3 })).toMatchObject({
      content: "three\n",
    });
  });

  it("are read while code runs", async () => {
    const { call } = await open();
    await call("file:write", { path: "f", content: "x" });
    const running = call("code:run", { language: "python", code: "import time; time.sleep(60)" });
    running.catch(() => {});
    await expect.poll(async () => (await call("code:kernels", {})).kernels).toMatchObject([{ busy: true }]);
    expect(await call("file:read", { path: "f" })).toMatchObject({ content: "x" });
    expect(await call("bash:run", { command: "cat f" })).toMatchObject({ stdout: "x" });
    expect(await call("code:interrupt", {})).toEqual({ interrupted: ["python"] });
    await expect(running).rejects.toMatchObject({ error: "cancelled" });
  });

  it("are edited where the text is there once, one edit after another", async () => {
    const { call } = await open();
    await call("file:write", { path: "run.sh", content: "a\nb\na\n", mode: "0750" });
    await expect(call("file:edit", { path: "run.sh", old_string: "a", new_string: "c" })).rejects.toMatchObject({
      error: "business_failure",
      details: { matches: 2, lines: [1, 3] },
    });
    expect(await call("file:edit", { path: "run.sh", old_string: "b", new_string: "B" })).toMatchObject({
      replacements: 1,
      first_line: 2,
      snippet: "     1\ta\n     2\tB\n     3\ta\n",
    });
    const { entry } = await call("file:stat", { path: "run.sh" });
    expect(entry).toMatchObject({ mode: "0750", kind: "file", size_bytes: 6 });
    const names = Array.from({ length: 10 }, (_, index) => `n${index}`);
    await call("file:write", { path: "many", content: names.join("\n") });
    await Promise.all(
      names.map((name) => call("file:edit", { path: "many", old_string: name, new_string: `${name}!` })),
    );
    expect((await call("file:read", { path: "many" })).content).toBe(names.map((name) => `${name}!`).join("\n"));
  });

  it("are edited through a link, which stays one", async () => {
    const { call } = await open();
    await call("bash:run", { command: "mkdir d; echo x > d/real; ln -s d/real link; ln -s loop loop" });
    await call("file:edit", { path: "link", old_string: "x", new_string: "y" });
    expect(await call("file:stat", { path: "link" })).toMatchObject({ entry: { kind: "symlink", target: "d/real" } });
    expect(await call("file:read", { path: "link" })).toMatchObject({ content: "y\n", size_bytes: 2 });
    await expect(call("file:read", { path: "loop" })).rejects.toMatchObject({ error: "path_refused" });
  });

  it("are listed, found, moved, copied and deleted", async () => {
    const { call } = await open();
    await call("bash:run", {
      command: "mkdir -p src/deep; echo 'def f(): pass' > src/a.py; echo '# f' > src/deep/b.py",
    });
    const listed = await call("file:list", { path: "src", depth: 2 });
    expect(listed.entries.map(({ path, kind }) => [path.replace(/^.*src/, "src"), kind]).toSorted()).toEqual([
      ["src/a.py", "file"],
      ["src/deep", "directory"],
      ["src/deep/b.py", "file"],
    ]);
    expect(await call("file:list", { path: "src", depth: 2, limit: 1 })).toMatchObject({ truncated: true });
    const found = await call("file:glob", { pattern: "**/*.py" });
    expect(found.entries).toHaveLength(2);
    expect(await call("file:grep", { pattern: "^def (\\w+)", glob: "*.py" })).toMatchObject({
      matches: [{ line: 1, column: 1, text: "def f(): pass" }],
    });
    await call("file:move", { from: "src/a.py", to: "src/c.py" });
    await call("file:copy", { from: "src", to: "copy" });
    await expect(call("file:move", { from: "src/c.py", to: "copy/c.py" })).rejects.toMatchObject({
      error: "path_exists",
    });
    expect(await call("file:delete", { path: "src", recursive: true })).toEqual({ path: "src", deleted: true });
    expect(await call("file:delete", { path: "src" })).toEqual({ path: "src", deleted: false });
    expect(await call("file:stat", { path: "src" })).toEqual({ entry: null });
    expect(await call("file:read", { path: "copy/c.py" })).toMatchObject({ content: "def f(): pass\n" });
    await call("file:mkdir", { path: "x/y/z" });
    expect(await call("file:stat", { path: "x/y" })).toMatchObject({ entry: { kind: "directory" } });
  });

  it("tell their changes while they are watched, and all of them at the end", async () => {
    const { call } = await open();
    const progress = vi.fn<CodeContext["progress"]>();
    await call("file:mkdir", { path: "w" });
    const watching = call("file:watch", { path: "w", max_changes: 1, timeout_ms: 60_000 }, { progress });
    // A watch is set some time after it was asked for: writes go on until one is seen.
    let seen = false;
    void watching.finally(() => (seen = true));
    for (let count = 0; !seen; count += 1) await call("bash:run", { command: `echo x > w/f${count}; sleep 0.05` });
    const { changes, ended } = await watching;
    expect(ended).toBe("max_changes");
    expect(changes).toMatchObject([{ path: expect.stringContaining("w/f") }]);
    expect(progress).toHaveBeenCalledExactlyOnceWith({ change: changes[0] });
    expect(await call("file:watch", { path: "w", timeout_ms: 50 })).toEqual({ changes: [], ended: "timeout" });
  });

  it("go into archives and out of them", async () => {
    const { call } = await open();
    await call("bash:run", { command: "mkdir -p d/e; echo 1 > d/one; echo 2 > d/e/two" });
    for (const to of ["a.tar", "a.tar.gz", "a.zip"]) {
      await call("file:archive", { path: "d", to });
      expect(await call("file:extract", { path: to, to: `out-${to}` })).toMatchObject({ path: `out-${to}` });
      expect(await call("bash:run", { command: `cat out-${to}/one out-${to}/e/two` })).toMatchObject({
        stdout: "1\n2\n",
      });
    }
    await expect(call("file:archive", { path: "d", to: "a.rar" })).rejects.toMatchObject({ error: "invalid_input" });
    await expect(call("file:extract", { path: "d/one", to: "x", format: "zip" })).rejects.toMatchObject({
      outcome: expect.stringMatching(/tool_error|rejected/),
    });
  });
});

describeLocal("what is wrong with a path", () => {
  it("C01 is typed, whatever the path", async () => {
    const { call } = await open();
    await expect(call("file:read", { path: "none" })).rejects.toMatchObject({ error: "path_not_found", status: 404 });
    await expect(call("file:read", { path: "a\0b" })).rejects.toMatchObject({ error: "path_refused" });
    await expect(call("file:read", { path: "x".repeat(5000) })).rejects.toMatchObject({ error: "path_refused" });
    await expect(call("file:write", { path: "/etc/x", content: "" })).rejects.toMatchObject({
      error: expect.stringMatching(/^path_/),
    });
    await expect(call("file:read", { path: "." })).rejects.toMatchObject({ error: "path_refused" });
  });

  it("C05 is that it is no file, and no read waits for it", async () => {
    const { call } = await open();
    await call("bash:run", { command: "mkfifo pipe" });
    for (const path of ["pipe", "/dev/zero"])
      await expect(call("file:read", { path })).rejects.toMatchObject({ error: "path_refused" });
  });

  it("does not write half of what is no base64", async () => {
    const { call } = await open();
    await expect(call("file:write", { path: "f", content: "a$b", encoding: "base64" })).rejects.toMatchObject({
      error: "invalid_input",
    });
    expect(await call("file:stat", { path: "f" })).toEqual({ entry: null });
    await call("file:write", { path: "f", content: "AAEC", encoding: "base64" });
    expect(await call("file:read", { path: "f" })).toMatchObject({ encoding: "base64", content: "AAEC" });
    await call("file:write", { path: "g", content: "a" });
    await call("file:write", { path: "g", content: "b", append: true });
    expect(await call("file:read", { path: "g" })).toMatchObject({ content: "ab" });
    await expect(call("file:write", { path: "g", content: "", create_only: true })).rejects.toMatchObject({
      error: "path_exists",
    });
  });
});
