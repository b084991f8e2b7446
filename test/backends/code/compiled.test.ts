import { describe, expect, it, vi } from "vitest";
import { COMPILED_LANGUAGES } from "../../../src/backends/code/compiled-languages.ts";
import type { CodeContext } from "../../../src/backends/code/session.ts";
import { LocalRuntime } from "../../../src/runtimes/local/runtime.ts";
import { openCodeSession } from "./code-session.ts";
import { describeLocal } from "./local-sandboxes.ts";

describe("a file of Java", () => {
  it.each([
    ["public class Hello { public static void main(String[] a) {} }", "Hello"],
    ["class Helper {}\nclass App { static void main(String[] a) {} }", "App"],
    ["// class Not\n/* class Nor */ final class Only {}", "Only"],
    ["class First {}\npublic final class Second {}", "Second"],
    ["", "Main"],
  ])("is named for its class: %s", (code, name) => {
    expect(COMPILED_LANGUAGES.java.file(code)).toBe(`${name}.java`);
  });
});

describeLocal("a language without a kernel", () => {
  it("runs as a program of its own in the working folder, and leaves nothing behind", async () => {
    const { call } = await openCodeSession([new LocalRuntime()]);
    await call("file:write", { path: "in.txt", content: "from the box\n" });
    // Every Debian has Perl.
    const ran = await call("code:run", {
      language: "perl",
      code: 'open(F, "in.txt"); print <F>; warn "careful"; exit 3',
    });
    expect(ran).toMatchObject({ stdout: "from the box\n", stderr: expect.stringContaining("careful"), exit_code: 3 });
    expect(await call("bash:run", { command: "ls -A" })).toMatchObject({ stdout: "in.txt\n" });
    await expect(call("code:run", { language: "perl", code: "sleep 60", timeout_ms: 300 })).rejects.toMatchObject({
      error: "timeout",
      outcome: "limit",
    });
  });

  it("tells what the compiler refuses as the code's own error, or which package has the compiler", async () => {
    const { call } = await openCodeSession([new LocalRuntime()]);
    const setOutcome = vi.fn<CodeContext["setOutcome"]>();
    const looked = await call("bash:run", { command: "command -v gcc" });
    const wrong = call("code:run", { language: "c", code: "int main() { return 0 }" }, { setOutcome });
    if (looked.background || looked.exit_code !== 0) {
      await expect(wrong).rejects.toMatchObject({
        error: "runtime_unavailable",
        details: { language: "c", programs: ["gcc"] },
        suggestion: expect.stringContaining("gcc"),
      });
      return;
    }
    expect(await wrong).toMatchObject({ error: { name: "CompileError", line: 1 }, exit_code: 1 });
    expect(setOutcome).toHaveBeenCalledWith("tool_error");
    const code = '#include <stdio.h>\nint main() { printf("%d\\n", 6 * 7); return 0; }';
    expect(await call("code:run", { language: "c", code })).toMatchObject({
      stdout: "42\n",
      error: null,
      exit_code: 0,
    });
  });
});
