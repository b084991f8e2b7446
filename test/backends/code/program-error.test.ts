import { expect, it } from "vitest";
import { findProgramError } from "../../../src/backends/code/program-error.ts";

it.each([
  ["main.rs", "thread 'main' panicked at main.rs:3:5:\nboom\nnote: run with `RUST_BACKTRACE=1`"],
  ["main.rs", "thread 'main' panicked at 'boom', /w/main.rs:3:5"],
  ["main.go", "panic: boom\n\ngoroutine 1 [running]:\nmain.main()\n\t/w/main.go:3 +0x27\nexit status 2"],
  ["Main.java", 'Exception in thread "main" java.lang.RuntimeException: boom\n\tat Main.main(Main.java:3)'],
  ["main.rb", "/w/main.rb:3:in `<main>': boom (RuntimeError)"],
  ["main.pl", "boom at /w/main.pl line 3."],
  ["main.php", "PHP Fatal error:  Uncaught Exception: boom in /w/main.php:3\nStack trace:"],
  ["main.lua", "lua5.4: /w/main.lua:3: boom\nstack traceback:"],
])("reads the line and the message from what a program in %s wrote: %s", (file, stderr) => {
  const error = findProgramError(file, `before\n${stderr}\n`);
  expect(error).toMatchObject({ line: 3, message: expect.stringContaining("boom") });
});

it("says nothing where the program said nothing that is known", () => {
  expect(findProgramError("main.c", "boom")).toBeNull();
  expect(findProgramError("main.pl", "usage: boom")).toBeNull();
});
