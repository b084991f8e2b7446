import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Kernel } from "../../src/core/runtime.ts";
import { LocalRuntime } from "../../src/runtimes/local/runtime.ts";
import { run } from "../kit/runtime-conformance.ts";

const never = new AbortController().signal;
const status = await new LocalRuntime().check(never);

describe.runIf(status.languages.javascript?.available === true)("the JavaScript kernel", () => {
  const runtime = new LocalRuntime({ limits: { outputBytes: 4096, resultBytes: 64 * 1024 } });
  let node: Kernel;
  beforeAll(async () => {
    const sandbox = await runtime.create({}, never);
    node = await sandbox.openKernel("javascript", never);
  });
  afterAll(() => runtime.close());

  const typescript = (code: string) => node.run({ code, deadlineMs: 10_000, dialect: "typescript" }, { signal: never });

  it("A04 interrupts what never yields and keeps the state", async () => {
    await run(node, "let kept = 1");
    const loops = [
      "kept += 1; while (true) {}",
      "function f() { for (;;) {} }\nf()",
      "({ toJSON() { while (true) {} } })",
    ];
    for (const code of loops) {
      // One after another on purpose: they share the kernel.
      // oxlint-disable-next-line no-await-in-loop
      expect(await run(node, code, { deadlineMs: 200 })).toMatchObject({ status: "timeout", stateLost: false });
    }
    const abort = new AbortController();
    const cancelled = run(node, "while (true) {}", { signal: abort.signal });
    abort.abort();
    expect(await cancelled).toMatchObject({ status: "cancelled", stateLost: false });
    expect((await run(node, "kept")).value).toBe(2);
  });

  it("A04 lets no signal that was meant for earlier code end what runs now", async () => {
    const code = `setTimeout(() => process.kill(process.pid, "SIGINT"), 1);
await new Promise((resolve) => setTimeout(resolve, 50)); 7`;
    expect(await run(node, code)).toMatchObject({ status: "ok", value: 7 });
    const abort = new AbortController();
    const waiting = run(node, "await new Promise(() => {})", { signal: abort.signal });
    abort.abort();
    expect(await waiting).toMatchObject({ status: "cancelled", stateLost: false });
  });

  it("shows what display(), console.table and Jupyter.display give", async () => {
    const code = `display({ a: 1 }, "plain", Buffer.from("89504e47", "hex"));
display.html("<b>"); display.markdown("**x**"); display.svg("<svg/>");
console.table([{ n: 1, s: "x" }, { n: NaN }]);
({ [Symbol.for("Jupyter.display")]: () => ({ "text/html": "<i>", "application/json": { n: 1 } }) })`;
    const { displays } = await run(node, code);
    expect(displays).toMatchObject([
      { isResult: false, text: "{ a: 1 }", json: { a: 1 } },
      { text: "plain" },
      { image: { mediaType: "image/png", base64: "iVBORw==" } },
      { html: "<b>" },
      { markdown: "**x**" },
      { image: { mediaType: "image/svg+xml" } },
      {
        table: {
          columns: ["n", "s"],
          rows: [
            [1, "x"],
            [null, null],
          ],
          totalRows: 2,
          truncated: false,
        },
      },
      { isResult: true, html: "<i>", json: { n: 1 } },
    ]);
  });

  it("A16 names what JSON cannot hold, and survives values that bite", async () => {
    const { value, lossy } = await run(node, "({ x: NaN, big: 2n, list: [() => 1], map: new Map([[1, 2]]) })");
    expect(value).toEqual({ x: null, big: "2", list: [null], map: [[1, 2]] });
    expect(lossy).toEqual(["$.x: NaN", "$.big: a bigint, as text", "$.list[0]: function", "$.map: Map"]);
    expect(await run(node, "const c = []; c.push(c); c")).toMatchObject({ value: null, lossy: ["$: a cycle"] });
    const getter = await run(node, "({ get x() { throw new Error('no') } })");
    expect(getter).toMatchObject({ status: "ok", value: null, lossy: [expect.stringContaining("cannot be written")] });
    const thrown = "throw Object.defineProperty(new Error('q'), 'stack', { get() { throw 3 } })";
    expect((await run(node, thrown)).error?.message).toBe("the error could not be printed");
    const big = await run(node, "display.html('x'.repeat(100_000)); 'y'.repeat(100_000)");
    expect(big).toMatchObject({ value: null, valueTruncated: true, displays: [], displaysOmitted: 1 });
  });

  it("tells lines, sources and causes across cells", async () => {
    await run(node, "function fail() {\n  throw new Error('outer', { cause: new TypeError('inner') });\n}");
    const { error } = await run(node, "\n\nfail()");
    expect(error).toMatchObject({ name: "Error", message: "outer", line: 3 });
    expect(error?.traceback).toMatch(
      /^cell-\d+\.js:3\nfail\(\)\n[\s\S]*at fail \(cell-\d+\.js:2[\s\S]*caused by TypeError: inner/,
    );
    expect(error?.traceback).not.toMatch(/node_kernel|enter-cell|node:/);
    expect((await run(node, "let a = 1;\nlet b = ;")).error).toMatchObject({ name: "SyntaxError", line: 2 });
    expect((await run(node, "await null;\nnull.x")).error).toMatchObject({ name: "TypeError", line: 2 });
  });

  it("keeps TypeScript's lines, whatever Node is in the sandbox", async () => {
    const code = "interface Point {\n  x: number;\n}\nconst point: Point = { x: 3 };\npoint.x as number";
    expect((await typescript(code)).value).toBe(3);
    expect((await typescript("type A = string;\n\nthrow new Error('boom');")).error).toMatchObject({ line: 3 });
    expect((await typescript("let y = 1;\nenum E { A }")).error).toMatchObject({ name: "SyntaxError", line: 2 });
    expect((await typescript("(".repeat(200_000))).error?.name).toBe("SyntaxError");
    expect((await typescript("const z: number = 4; z")).value).toBe(4);
  });

  it("A08 keeps the head and the tail of long output, characters whole, and counts what it cut", async () => {
    const { stdout } = await run(node, "process.stdout.write('START' + '€😀'.repeat(3000) + 'END')");
    expect(stdout).toMatchObject({ bytes: 21_008, truncated: true });
    const [, head, cut, tail] = /^(START[^]*)\n… (\d+) bytes left out …\n([^]*END)$/.exec(stdout.text) ?? [];
    expect(Buffer.byteLength(`${head}${tail}`) + Number(cut)).toBe(21_008);
    expect(stdout.text).not.toContain("\ufffd");
    expect((await run(node, "'a' + '😀'.repeat(60_000)")).text).not.toContain("\ufffd");
  });

  it("A09 answers an end of file to who reads stdin, and A17 tells exit codes and signals", async () => {
    expect((await run(node, "require('fs').readFileSync(0, 'utf8')")).value).toBe("");
    await run(node, "let still = 1");
    expect(await run(node, "process.exit(3)")).toMatchObject({ exitCode: 3, stateLost: false });
    expect((await run(node, "still")).value).toBe(1);
    const killed = await run(node, "process.kill(process.pid, 'SIGSEGV'); await new Promise(() => {})");
    expect(killed).toMatchObject({ status: "exited", signal: "SIGSEGV", stateLost: true });
    expect((await run(node, "1 + 1")).value).toBe(2);
  });
});
