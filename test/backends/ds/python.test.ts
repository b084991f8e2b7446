import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import CodeBackend from "../../../src/backends/code/backend.ts";
import DsBackend from "../../../src/backends/ds/backend.ts";
import type { SandboxRuntime } from "../../../src/core/runtime.ts";
import { LocalRuntime } from "../../../src/runtimes/local/runtime.ts";
import { QuickJsRuntime } from "../../../src/runtimes/quickjs/runtime.ts";
import { createRuntimeSelector } from "../../../src/runtimes/selector.ts";
import { testServer } from "../../kit/test-server.ts";
import { caller } from "../../kit/tool-caller.ts";
import { describeLocal } from "../code/local-sandboxes.ts";
import { makeSeeds, SALES } from "./seed-folder.ts";

async function openServer(config: Record<string, unknown>, runtime: SandboxRuntime = new LocalRuntime()) {
  const selector = createRuntimeSelector({ order: [runtime.name], runtimes: [runtime] });
  const backends = [new DsBackend({ config }), new CodeBackend({ config: {}, runtimes: selector })];
  const server = await testServer({ backends });
  onTestFinished(async () => {
    await server[Symbol.asyncDispose]();
    await selector.close();
  });
  const createSession = () => server.post("/api/v1/session/create", { worker_id: "w1", resource_type: "code" });
  return { server, call: caller(server), createSession };
}

const READ = 'import csv\nrows = list(csv.DictReader(open("sales.csv")))\nprint(len(rows))\n';

describeLocal("python on data", () => {
  it("runs in the worker's own sandbox with the files beside it, and answers the known fields (D21)", async () => {
    const folder = makeSeeds({ "sales.csv": SALES, "in/b.csv": "x\n1\n", "notes.txt": "no data" });
    const { call, server } = await openServer({ folders: [folder] });
    const code = `${READ}import os, sys\nprint(os.getcwd(), os.path.exists("in/b.csv"))\nname = "v"\ntotal = sum(float(r["sales"]) for r in rows)`;
    const answer = await call("ds_run_python", { code, return_vars: ["total", "name", "nope"], seed_path: folder });
    expect(answer).toMatchObject({
      ...{ outcome: "ok", images: [], error: null, files: ["in/b.csv", "sales.csv"], files_not_copied: [] },
      stdout: "4\n/workspace True\n",
      variables: { total: "575.5", name: "v" },
    });
    expect(answer["result"]).toContain("Standard Output:\n4\n");
    expect(answer["result"]).toContain("Variables Inspection:\ntotal = 575.5\nname = v");
    // Not in the server: neither its folder nor its process is there.
    const outside = await call("ds:run_python", {
      code: `import os\nprint(os.path.exists(${JSON.stringify(folder)}))\nprint(os.getppid())`,
    });
    expect(outside["stdout"]).toMatch(/^False\n/);
    expect(outside["stdout"]).not.toContain(String(process.pid));
    const { body } = await server.get("/api/v1/sessions?worker_id=w1");
    expect(JSON.stringify(body)).not.toContain('"code_w1');
  });

  it("runs commands of os.system and changes folders in its own box alone, beside another worker's (the known tool does in the server)", async () => {
    const { call, server } = await openServer({ folders: [] });
    const other: typeof call = (action, params, more) => call(action, params, { worker_id: "w2", ...more });
    const before = process.cwd();
    const code = (name: string) =>
      `import os, time\nos.makedirs("${name}", exist_ok=True)\nos.chdir("${name}")\nfor _ in range(20):\n    assert os.getcwd().endswith("/${name}")\n    time.sleep(0.01)\nprint(os.system("exit 3") >> 8, os.getcwd())`;
    const [mine, theirs] = await Promise.all([
      call("ds:run_python", { code: code("one") }),
      other("ds:run_python", { code: code("two") }),
    ]);
    expect([mine["stdout"], theirs["stdout"]]).toEqual(["3 /workspace/one\n", "3 /workspace/two\n"]);
    expect(process.cwd()).toBe(before);
    expect((await server.get("/health")).status).toBe(200);
  });

  it("answers what code raises as the model's own failure, and refuses empty code in place of one of ours", async () => {
    const { call } = await openServer({ folders: [makeSeeds({ "sales.csv": SALES })] });
    const raised = await call("ds:run_python", { code: "print('before')\n1 / 0", return_vars: ["x"] });
    expect(raised).toMatchObject({ outcome: "tool_error", error: { name: "ZeroDivisionError" }, stdout: "before\n" });
    expect(raised["result"]).toMatch(/^Execution Error:\n[^]*ZeroDivisionError[^]*Standard Output:\nbefore/);
    expect(await call("ds:run_python", { code: "  \n" })).toMatchObject({ failed: "invalid_input" });
  });

  it("keeps variables, and what code made of a file, as long as the code session lives", async () => {
    const folder = makeSeeds({ "sales.csv": SALES });
    const { call, createSession } = await openServer({ folders: [folder] });
    await createSession();
    await call("ds:run_python", {
      code: 'kept = 41\nopen("sales.csv", "w").write("month\\n9\\n")\nopen("made.csv", "w").write("a\\n1\\n2\\n")',
    });
    const again = await call("ds:run_python", { code: 'print(kept + 1, open("sales.csv").read())' });
    expect(again).toMatchObject({ stdout: "42 month\n9\n\n" });
    // And it is the same box as that of the worker's other tools.
    expect(await call("file:read", { path: "made.csv" })).toMatchObject({ content: "a\n1\n2\n" });
    expect(
      await call("ds:query", { query: "SELECT sum(a) FROM made", source: "sandbox", files: ["made.csv"] }),
    ).toMatchObject({
      rows: [[3]],
    });
    expect(await call("ds:inspect_data", { source: "sandbox", files: ["made.csv"] })).toMatchObject({
      files: [{ file: "made.csv", rows: 2 }],
    });
    expect(await call("ds:read_csv", { csv_file: "sales.csv", source: "sandbox" })).toMatchObject({ rows: [[9]] });
    // A newer file of the folder comes through.
    const later = Date.now() / 1_000 + 60;
    writeFileSync(join(folder, "sales.csv"), SALES);
    const { utimesSync } = await import("node:fs");
    utimesSync(join(folder, "sales.csv"), later, later);
    expect(await call("ds:run_python", { code: READ })).toMatchObject({ stdout: "4\n" });
  });

  it("is looked into where it lies when no folder is configured: the default config serves the known names", async () => {
    const { call, createSession } = await openServer({});
    // Without a session there is a sandbox of the call's own, with nothing in it.
    const none = await call("ds_inspect_data", { seed_path: null });
    expect(none).toMatchObject({ outcome: "ok", files: [], files_omitted: 0 });
    expect(none["result"]).toContain("as long as the worker's code session lives");
    await createSession();
    await call("file:write", { path: "sales.csv", content: SALES });
    await call("file:write", { path: "in/more.csv", content: "x\n1\n" });
    await call("bash:run", {
      command: "mkdir .hidden; cp sales.csv .hidden/h.csv; ln -s sales.csv l.csv; echo > notes.txt",
    });
    const { files, result } = await call("ds_inspect_data");
    expect(files.map(({ file, rows }: { file: string; rows: number }) => [file, rows])).toEqual([
      ["in/more.csv", 1],
      ["sales.csv", 4],
    ]);
    expect(result).toContain("sales.csv:\nThis dataset contains 4 rows and 3 columns.");
    expect(await call("ds_read_csv", { csv_file: "sales.csv", max_rows: 1 })).toMatchObject({ total_rows: 4 });
    expect(await call("ds_read_csv", { csv_file: "/workspace/in/more.csv" })).toMatchObject({ rows: [[1]] });
    expect(await call("ds_run_python", { code: READ })).toMatchObject({ stdout: "4\n", files: [] });
    expect(
      await call("ds:query", { query: "SELECT sum(sales), (SELECT count(*) FROM 'in/more.csv') FROM sales" }),
    ).toMatchObject({ rows: [[575.5, 1]] });
    expect(await call("ds:query", { query: "SELECT * FROM nope" })).toMatchObject({ failed: "business_failure" });
  });

  it("says which files of a sandbox there was no room for", async () => {
    const { call, createSession } = await openServer({ max_fetch_mib: 1, ds_max_csv: 2 });
    await createSession();
    await call("bash:run", {
      command: "for f in a c d; do echo x > $f.csv; done; head -c 2000000 /dev/zero > big.csv",
    });
    const { files, files_omitted, result } = await call("ds:inspect_data");
    expect(files.map(({ file }: { file: string }) => file)).toEqual(["a.csv", "c.csv"]);
    expect(files_omitted).toBe(2);
    expect(result).toContain("showing first 2 of 4 files");
    expect(result).toContain("not read, for their number or size: big.csv, d.csv");
    expect(await call("ds:query", { query: "SELECT * FROM big" })).toMatchObject({
      ...{ failed: "limit_exceeded", limit: "max_fetch_mib" },
    });
  });

  it("reads of a sandbox only regular files, within its limits (C05)", async () => {
    const { call, createSession } = await openServer({ folders: [], max_fetch_mib: 1 });
    await createSession();
    await call("bash:run", {
      command: "mkfifo p.csv; ln -s /dev/zero z.csv; head -c 2000000 /dev/zero > big.csv; mkdir d.csv",
    });
    const read = (csv_file: string) => call("ds:read_csv", { csv_file, source: "sandbox" });
    expect(await read("p.csv")).toMatchObject({ failed: "path_refused" });
    expect(await read("d.csv")).toMatchObject({ failed: "path_refused" });
    expect(await read("nope.csv")).toMatchObject({ failed: "path_not_found" });
    expect(await read("big.csv")).toMatchObject({ failed: "limit_exceeded", limit: "max_fetch_mib" });
    expect((await read("z.csv"))["failed"]).toMatch(/path_refused|limit_exceeded/);
    expect(await call("ds:query", { query: "SELECT 1", source: "sandbox" })).toMatchObject({ rows: [[1]] });
  });

  it("copies only what there is room for, and says what it left out", async () => {
    const folder = makeSeeds({ "big.csv": `x\n${"1234567\n".repeat(200_000)}`, "sales.csv": SALES });
    const { call } = await openServer({ folders: [folder], max_copy_mib: 1 });
    expect(await call("ds:run_python", { code: READ })).toMatchObject({
      ...{ stdout: "4\n", files: ["sales.csv"], files_not_copied: ["big.csv"] },
    });
  });

  it("copies a file of many megabytes whole", async () => {
    const folder = makeSeeds({ "big.csv": `x\n${"1234567\n".repeat(1_200_000)}` });
    const { call } = await openServer({ folders: [folder] });
    const code = 'import hashlib\nprint(hashlib.sha256(open("big.csv", "rb").read()).hexdigest())';
    const { createHash } = await import("node:crypto");
    const expected = createHash("sha256")
      .update(`x\n${"1234567\n".repeat(1_200_000)}`)
      .digest("hex");
    expect(await call("ds:run_python", { code })).toMatchObject({ stdout: `${expected}\n` });
  });

  it("ends with its time, and the session lives on", async () => {
    const { call, createSession } = await openServer({ folders: [] });
    await createSession();
    expect(await call("ds:run_python", { code: "while True: pass", timeout_ms: 4_000 })).toMatchObject({
      failed: "timeout",
      outcome: "limit",
      // What was asked for, not what starting had left of it.
      timeout_ms: 4_000,
    });
    expect(await call("ds:run_python", { code: "print(1)" })).toMatchObject({ stdout: "1\n" });
  });

  it("brings figures back as images, where matplotlib is (stood for by a figure of IPython's kind elsewhere)", async () => {
    const { call } = await openServer({ folders: [] });
    const code = `class Figure:\n    def _repr_png_(self):\n        import base64\n        return base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")\nFigure()`;
    expect(await call("ds:run_python", { code })).toMatchObject({
      images: [{ type: "image/png", base64: expect.stringMatching(/^iVBORw0KGgo/), description: "Figure 1" }],
      result: expect.stringContaining("Generated 1 images"),
    });
  });
});

it("says what is missing where there is no python, and where there is no code backend", async () => {
  const { call } = await openServer({ folders: [] }, new QuickJsRuntime());
  expect(await call("ds:run_python", { code: "1" })).toMatchObject({
    failed: expect.any(String),
    outcome: expect.not.stringMatching(/^ok$/),
  });
  const server = await testServer({ backends: [new DsBackend({ config: {} })] });
  onTestFinished(() => server[Symbol.asyncDispose]());
  expect(await caller(server)("ds:run_python", { code: "1" })).toMatchObject({
    failed: "dependency_failed",
    outcome: "infra_error",
  });
});
