import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Kernel, SandboxInstance } from "../../src/core/runtime.ts";
import { LocalRuntime } from "../../src/runtimes/local/runtime.ts";
import { run } from "../kit/runtime-conformance.ts";

const never = new AbortController().signal;
const status = await new LocalRuntime().check(never);

describe.runIf(status.languages.bash?.available === true)("the shell kernel", () => {
  const runtime = new LocalRuntime({ limits: { outputBytes: 4096 } });
  let sandbox: SandboxInstance;
  let bash: Kernel;
  beforeAll(async () => {
    sandbox = await runtime.create({}, never);
  });
  beforeEach(async () => {
    bash = await sandbox.openKernel("bash", never);
  });
  afterAll(() => runtime.close());

  const SET = `number=1; export WORD=two; list=(a "b c"); declare -A map=([k]=v); readonly FIXED=9; IFS=:
greet() { echo "hello $1"; }; alias hi='greet alias'; shopt -s extglob; umask 027; cd /tmp; set -- p "q r"; trap 'echo usr' USR1`;
  const TELL = `echo "$number $WORD \${list[1]} \${map[k]} $FIXED $IFS $(greet you) $PWD $(umask) $2"
hi
shopt -q extglob && echo extglob; bash -c 'echo $WORD'; kill -USR1 $$`;
  const TOLD = "1 two b c v 9 : hello you /tmp 0027 q r\nhello alias\nextglob\ntwo\nusr\n";

  it("keeps variables, functions, aliases, options, traps and the folder from run to run", async () => {
    await run(bash, SET);
    expect(await run(bash, TELL)).toMatchObject({ status: "ok", exitCode: 0, stdout: { text: TOLD } });
  });

  it.each([
    ["exit", "exit 7", 7],
    ["exit in a function", "leave() { local inner=1; exit 7; }; leave", 7],
    ["set -e", "set -e; false", 1],
    ["set -u", "set -u; echo $nothing", 127],
    ["an unset parameter", ": ${nothing:?is missing}", 127],
    ["SIGTERM", "kill $$", 143],
  ])("A17 tells the exit code of %s and keeps the state", async (_name, code, exitCode) => {
    await run(bash, SET);
    const ended = await run(bash, `${code}; echo never`);
    expect(ended).toMatchObject({ status: "ok", exitCode, stateLost: false, stdout: { text: "" } });
    expect((await run(bash, `set +eu; ${TELL}`)).stdout.text).toBe(TOLD);
    expect((await run(bash, "echo [$inner]")).stdout.text).toBe("[]\n");
  });

  it("A17 says that the state is gone when the shell is replaced or killed", async () => {
    await run(bash, SET);
    expect(await run(bash, "exec echo replaced")).toMatchObject({ stateLost: true, stdout: { text: "replaced\n" } });
    expect((await run(bash, "echo [$number]")).stdout.text).toBe("[]\n");
    expect(await run(bash, "kill -KILL $$")).toMatchObject({ status: "exited", signal: "SIGKILL", stateLost: true });
  });

  it("keeps set -e from run to run, and runs the code of a trap on EXIT", async () => {
    await run(bash, "set -e");
    expect(await run(bash, "echo before; false; echo never")).toMatchObject({
      exitCode: 1,
      stdout: { text: "before\n" },
    });
    expect(await run(bash, "trap 'echo bye' EXIT; exit 3")).toMatchObject({ exitCode: 3, stdout: { text: "bye\n" } });
    expect((await run(bash, "trap")).stdout.text).not.toMatch(/toolyard|builtin/);
  });

  it.each([
    ["a loop", "while :; do :; done"],
    ["nested functions", "f() { while :; do :; done; }; g() { f; f; }; g; g"],
    ["a child that ignores the interrupt", "bash -c 'trap \"\" INT TERM; sleep 951'"],
    ["children that hide", "(setsid sleep 952 &) ; nohup sleep 953 >/dev/null 2>&1 & sleep 954"],
  ])("A05 A04 ends %s at the deadline and keeps the state", async (_name, code) => {
    await run(bash, "number=1");
    const ended = await run(bash, `${code}; echo never`, { deadlineMs: 300 });
    expect(ended).toMatchObject({ status: "timeout", stateLost: false, stdout: { text: "" } });
    const left = "cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c 'sleep 95[0-9]'; echo $number";
    expect((await run(bash, left)).stdout.text).toBe("0\n1\n");
  });

  it("tells the line of a syntax error", async () => {
    expect(await run(bash, "echo one\nif true; then\necho )")).toMatchObject({
      status: "error",
      exitCode: 2,
      error: { name: "SyntaxError", line: 3, message: expect.stringContaining("unexpected token") },
    });
    expect((await run(bash, "echo\n\nnosuchcommand")).stderr.text).toContain("line 3: nosuchcommand");
  });

  it("lets background jobs live from run to run, and their output between runs go nowhere", async () => {
    await run(bash, "(sleep 0.1; echo between; echo done > /tmp/marker) & job=$!");
    expect(await run(bash, "wait $job; cat /tmp/marker")).toMatchObject({ status: "ok" });
    await run(bash, "sleep 941 & exit 4");
    expect((await run(bash, "cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c 'sleep 941'")).stdout.text).toBe("1\n");
  });

  it("A09 reads an end of file from stdin, and keeps stderr apart", async () => {
    const { stdout, stderr } = await run(bash, 'cat; read -r line; echo "[$line]"; echo oops >&2');
    expect([stdout.text, stderr.text]).toEqual(["[]\n", "oops\n"]);
  });

  it("A08 keeps the head and the tail of long output, characters whole, and counts what it cut", async () => {
    const { stdout } = await run(bash, "printf 'START'; for i in {1..3000}; do printf '€😀'; done; printf 'END'");
    expect(stdout).toMatchObject({ bytes: 21_008, truncated: true });
    const [, head, cut, tail] = /^(START[^]*)\n… (\d+) bytes left out …\n([^]*END)$/.exec(stdout.text) ?? [];
    expect(Buffer.byteLength(`${head}${tail}`) + Number(cut)).toBe(21_008);
    expect(stdout.text).not.toContain("\ufffd");
  });
});
