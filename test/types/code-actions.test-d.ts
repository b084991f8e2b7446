import { expectTypeOf, test } from "vitest";
import type { CodeActions } from "../../src/backends/code/actions.ts";
import type { Sandbox } from "../../src/index.ts";

declare const sandbox: Sandbox;

type Name = keyof CodeActions;
type Without<P extends string> = Extract<Name, `${P}:${string}`> extends `${P}:${infer N}` ? N : never;

test("every tool of the code backend is an action of the typed client, under its own name", () => {
  expectTypeOf<Without<"code">>().toEqualTypeOf<
    "run" | "restart" | "interrupt" | "kernels" | "install" | "reset" | "stats"
  >();
  expectTypeOf<Without<"bash">>().toEqualTypeOf<"run" | "logs" | "status" | "list" | "input" | "signal" | "kill">();
  expectTypeOf<Without<"file">>().toEqualTypeOf<
    | "read"
    | "write"
    | "edit"
    | "list"
    | "glob"
    | "grep"
    | "stat"
    | "watch"
    | "move"
    | "copy"
    | "delete"
    | "mkdir"
    | "archive"
    | "extract"
  >();
  expectTypeOf<Without<"sandbox">>().toEqualTypeOf<
    | "info"
    | "pause"
    | "resume"
    | "expose"
    | "unexpose"
    | "ports"
    | "snapshot"
    | "snapshots"
    | "delete_snapshot"
    | "restore"
    | "fork"
  >();
  expectTypeOf<Exclude<Name, `${string}:${string}`>>().toEqualTypeOf<
    "execute_command" | "read_file" | "write_file" | "list_files" | "run_code"
  >();
});

test("params have their defaults, and results their types", async () => {
  const read = await sandbox.execute("file:read", { path: "f", start_line: 1 });
  expectTypeOf(read.encoding).toEqualTypeOf<"utf-8" | "base64">();
  const ran = await sandbox.execute("bash:run", { command: "ls" });
  if (ran.background) expectTypeOf(ran.id).toEqualTypeOf<string>();
  else expectTypeOf(ran.exit_code).toEqualTypeOf<number | null>();
  const { results } = await sandbox.execute("code:run", { code: "1" });
  expectTypeOf(results[0]?.image?.base64).toEqualTypeOf<string | undefined>();
  void sandbox.execute("sandbox:fork", { worker_id: ["a", "b"] });
  void sandbox.execute("list_files", { path: "." });
  // @ts-expect-error a port is a number
  void sandbox.execute("sandbox:expose", { port: "80" });
  // @ts-expect-error no such language
  void sandbox.execute("run_code", { code: "", language: "cobol" });
});
