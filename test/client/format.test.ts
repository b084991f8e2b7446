import { describe, expect, test } from "vitest";
import { formatToolResult, registerFormatter, toContentBlocks } from "../../src/client/format/format-tool-result.ts";
import { ResultFormatter } from "../../src/client/format/result-formatter.ts";
import type { Formattable } from "../../src/client/format/tool-view.ts";
import { toToolResult } from "../../src/client/envelope.ts";
import { CounterBackend } from "../kit/counter-backend.ts";
import { testServer } from "../kit/test-server.ts";
import { Sandbox } from "../../src/client/sandbox.ts";
import { envelope, failure } from "./scripted-server.ts";

const PNG = "iVBORw0KGgoAAAANSUhEUg==";

function success(tool: string, data: unknown, meta: object = {}): Formattable {
  return envelope(data, { tool, ...meta }) as Formattable;
}

function failed(tool: string, message: string, meta: object = {}, data: unknown = null): Formattable {
  const named = { error: "execution_error", outcome: "tool_error", suggestion: "Try less." };
  return failure(5000, message, { tool, ...named, ...meta }, data) as Formattable;
}

function text(tool: string, data: unknown, verbose = false): string {
  return formatToolResult(success(tool, data), { verbose });
}

describe("code", () => {
  const run = { language: "javascript", runtime: "quickjs", stdout: "", stderr: "", error: null, execution_count: 1 };

  test("shows what was printed and what the last expression came to", () => {
    expect(text("code:run", { ...run, stdout: "hello\n", result: [1, 4], text: "[ 1, 4 ]" })).toBe("hello\n[ 1, 4 ]");
    expect(text("code:run", { ...run, result: 42 })).toBe("42");
  });

  test("says that nothing was printed", () => {
    expect(text("code:run", { ...run, text: null })).toBe("[Command executed successfully with no output]");
    expect(text("bash:run", { stdout: "", stderr: "", exit_code: 0 })).toBe(
      "[Command executed successfully with no output]",
    );
  });

  test("shows a command's failure: return code, error output, standard output", () => {
    expect(text("bash:run", { stdout: "some\n", stderr: "no such file\n", exit_code: 2 })).toBe(
      "[Error] Command failed with return code 2\nError output:\nno such file\nStandard output:\nsome",
    );
  });

  test("shows what the code raised, with its line and traceback, after what it printed", () => {
    const error = { name: "TypeError", message: "x is not a function", line: 3, traceback: "at <cell>:3" };
    expect(text("code:run", { ...run, stdout: "before\n", error })).toBe(
      "before\n[Error] TypeError: x is not a function (line 3)\nat <cell>:3",
    );
  });

  test("warns of lost state and of output that was cut", () => {
    const truncated = { stdout: true, stderr: false, result: false, stdout_bytes: 9_000_000, stderr_bytes: 0 };
    const shown = text("code:run", { ...run, stdout: "a", state_lost: true, truncated });
    expect(shown).toContain("variables, imports and functions of earlier runs are gone");
    expect(shown).toContain("[Warning: stdout was cut; it had 9000000 bytes]");
    expect(text("code:run", { ...run, stdout: "a", truncated: { ...truncated, stdout: false } })).toBe("a");
  });

  test("shows what a tool that runs nothing answers", () => {
    expect(text("code:kernels", { kernels: [] })).toBe('{\n  "kernels": []\n}');
  });

  test("shows the output of a run that hit its limit", () => {
    const details = { stdout: "1\n2\n", timeout_ms: 100 };
    expect(formatToolResult(failed("code:run", "timed out after 100 ms", { error: "timeout" }, details))).toBe(
      "[Error] timed out after 100 ms\nTry less.\nStandard output:\n1\n2\n",
    );
  });
});

describe("the box of a session", () => {
  test("shows figures as pictures, and what else code showed as text", () => {
    const results = [
      { is_result: false, image: { media_type: "image/png", base64: PNG }, text: "Figure(640x480)", omitted: [] },
      { is_result: false, markdown: "**bold**", text: "bold", omitted: [] },
      { is_result: true, text: "42", omitted: [] },
    ];
    const ran = success("code:run", { stdout: "drawn\n", stderr: "", text: "42", error: null, results });
    expect(toContentBlocks(ran)).toEqual([
      { type: "text", text: "drawn\n42\n**bold**" },
      { type: "image", data: PNG, mimeType: "image/png" },
    ]);
    expect(formatToolResult(ran)).toContain("drawn\n42");
  });

  test("shows the text of a file, and where to read on", () => {
    const read = { path: "f", encoding: "utf-8", content: "one\n", offset: 0, length: 4, truncated: false };
    expect(text("file:read", read)).toBe("one\n");
    expect(text("file:read", { ...read, truncated: true })).toContain("read on from offset 4");
    expect(text("file:read", { ...read, content: "" })).toBe("[The file is empty]");
  });

  test("shows what the five plain tools say themselves", () => {
    expect(text("execute_command", { status: "success", output: "out\n", error: null, exit_code: 3 })).toBe("out\n");
    expect(text("read_file", { status: "error", output: "", error: "there is nothing at f" })).toBe(
      "[Error] there is nothing at f",
    );
    expect(text("list_files", { status: "success", output: "", error: null, files: [] })).toBe("No output");
  });
});

describe("desktop", () => {
  test("shows the accessibility tree as text, and the picture beside it as a block", () => {
    const result = success("vm:screenshot", { image: PNG, accessibility_tree: "button OK" });
    expect(formatToolResult(result)).toBe("button OK");
    expect(toContentBlocks(result)).toEqual([
      { type: "text", text: "button OK" },
      { type: "image", data: PNG, mimeType: "image/png" },
    ]);
  });

  test("says that there is no tree, but not to a reader who sees the picture", () => {
    expect(text("vm:click", { clicked: [1, 2] })).toBe("[No accessibility tree]");
    const result = success("vm:screenshot", { image: PNG });
    expect(formatToolResult(result)).toBe("[No accessibility tree]");
    expect(toContentBlocks(result)).toEqual([{ type: "image", data: PNG, mimeType: "image/png" }]);
  });

  test("shows a score, which has no tree", () => {
    expect(text("vm:evaluate", { score: 0.5 })).toContain('"score": 0.5');
  });
});

describe("search and documents", () => {
  test("shows what was found, and the query when verbose", () => {
    expect(text("rag:search", { query: "cats", context: "Cats purr." })).toBe("Cats purr.");
    expect(text("web:search", { result: "1. Cats", inputs: { query: ["cats", "dogs"] } }, true)).toBe(
      "Query: cats; dogs\n1. Cats",
    );
    expect(text("rag:search", { query: "cats", context: "" })).toBe("[No results found for query: cats]");
    expect(formatToolResult(failed("web:search", "no key"))).toBe("[Search failed] no key\nTry less.");
    expect(text("web:visit", { result: "A page.", warning: "cut" })).toBe("A page.\n[Warning: cut]");
    expect(text("doc:read", { result: "Section 1" })).toBe("Section 1");
  });

  test("says what failed of several items, each with its own reason", () => {
    const errors = [
      { index: 0, query: "", error: "invalid_input", message: "the query is empty" },
      { name: "timeout", message: "https://x did not answer" },
      { value: 7 },
    ];
    const failure = failed("rag:batch_search", "no query could be answered", {}, { errors });
    expect(formatToolResult(failure)).toBe(
      "[Search failed] no query could be answered\nTry less.\n- 0: the query is empty (invalid_input)\n- https://x did not answer (timeout)",
    );
    const documents = Array.from({ length: 22 }, (_, at) => ({ id: `d${at}`, error: "invalid_input", message: "no" }));
    const text = formatToolResult(failed("rag:index", "none", {}, { documents }));
    expect(text.split("\n").slice(-2)).toEqual(["- d19: no (invalid_input)", "- and 2 more"]);
  });

  test("D27: shows a batch search query by query, statistics and images found", () => {
    expect(text("rag:batch_search", { count: 2, contexts: ["a", ""], inputs: { queries: ["x", "y"] } })).toBe(
      "[1] x\na\n\n[2] y\n[No results found for query: y]",
    );
    expect(text("rag:stats", { initialized: true })).toContain('"initialized": true');
    expect(text("web:image_search", { images: [{ title: "Cat", image_url: "https://x/c.png" }] })).toBe(
      "1. Cat https://x/c.png",
    );
  });
});

describe("databases", () => {
  test("shows rows as a table that says how many there are", () => {
    const data = { columns: ["id", "name"], rows: [[1, null]], row_count: 250, truncated: true };
    expect(text("text2sql:execute", data)).toBe(
      "id | name\n--- | ----\n1 | NULL\nRows returned: 250 (truncated, showing 1)",
    );
  });

  test("shows databases and schemas as listings", () => {
    expect(text("text2sql:list_databases", { databases: ["shop", { db_id: "bank" }] })).toBe(
      "Databases:\n- shop\n- bank",
    );
    const tables = [
      {
        name: "orders",
        columns: [{ name: "id", type: "INTEGER", pk: true }],
        foreign_keys: [{ column: "user", table: "users", to: "id" }],
      },
    ];
    expect(text("text2sql:get_schema", { tables })).toBe("Table orders\n  id INTEGER (PK)\n  FK user -> users.id");
    const known = {
      customers: { columns: [{ name: "id", type: "INTEGER", pk: true }], foreign_keys: [] },
      orders: {
        columns: [{ name: "customer", type: "INTEGER", pk: false }],
        foreign_keys: [{ to_table: "customers", from_col: "customer", to_col: "id" }],
      },
    };
    expect(text("text2sql:get_schema", { db_id: "shop", schema: known })).toBe(
      "Table customers\n  id INTEGER (PK)\n\nTable orders\n  customer INTEGER\n  FK customer -> customers.id",
    );
    const rows = { columns: ["a"], rows: [[1]], row_count: 1, truncated: false };
    expect(text("ds:query", rows)).toBe("a\n---\n1\nRows returned: 1");
    expect(text("ds:run_python", { result: "done", images: [], stdout: "done" })).toBe("done");
  });
});

describe("D27: MCP and the protocol's own operations", () => {
  test("shows an MCP server's content blocks as they are", () => {
    const content = [
      { type: "text", text: "two files" },
      { type: "image", data: PNG, mimeType: "image/png" },
      { type: "resource_link", name: "a.txt", uri: "file:///a.txt" },
    ];
    const result = success("mcp:filesystem.list", { content }, { resource_type: "mcp" });
    expect(formatToolResult(result)).toBe("two files\n[resource a.txt file:///a.txt]");
    expect(toContentBlocks(result)[1]).toEqual({ type: "image", data: PNG, mimeType: "image/png" });
    expect(text("mcp:fs.read", { content: [{ type: "text", text: "denied" }], isError: true })).toBe("[Error]\ndenied");
  });

  test("shows every call of a batch with its own formatter", () => {
    const results = [
      success("bash:run", { stdout: "ok", exit_code: 0 }),
      failed("vm:click", "no session", { error: "session_not_found" }),
    ];
    const batch = { ...failed("batch:execute", "partial"), data: { results, total: 2, executed: 2, success_count: 1 } };
    expect(formatToolResult(batch as Formattable)).toBe(
      "1 of 2 calls succeeded\n\n[1] bash:run\nok\n\n[2] vm:click\n[Error] no session\nTry less.",
    );
  });

  test("shows what the real server answers to session and init operations", async () => {
    const broken = new CounterBackend({ resource: "broken" });
    broken.onInitialize = () => Promise.reject(new Error("no disk"));
    await using server = await testServer({ backends: [new CounterBackend(), broken] });
    const ask = async (path: string, body: object = {}) => {
      const answer = await server.post(path, { worker_id: "w1", resource_type: "counter", ...body });
      return formatToolResult(answer.body);
    };
    await expect(ask("/api/v1/session/list")).resolves.toBe("[No sessions]");
    await expect(ask("/api/v1/session/create")).resolves.toContain("session id: counter_w1_");
    await expect(ask("/api/v1/session/list")).resolves.toMatch(/^counter: counter_w1_\S+ \(active, expires /);
    await expect(ask("/api/v1/session/refresh")).resolves.toContain("Session refreshed");
    await expect(ask("/api/v1/lifecycle/heartbeat")).resolves.toContain('active sessions: ["counter"]');
    await expect(ask("/api/v1/init/resource")).resolves.toContain("session status: active");
    await expect(ask("/api/v1/init/batch", { resource_configs: { counter: {}, broken: {} } })).resolves.toMatch(
      /^1 of 2 resources initialised\ncounter: counter_w1_\S+\nbroken: \[Error\]/,
    );
    await expect(ask("/api/v1/session/destroy")).resolves.toContain("Session destroyed");
    await expect(ask("/api/v1/session/destroy")).resolves.toMatch(/^\[Error\] /);
    await using sandbox = await Sandbox.open({ serverUrl: server.url });
    expect(formatToolResult(await sandbox.call("counter:incr"))).toContain('"value": 1');
  });
});

describe("any tool", () => {
  test("shows a tool that nobody knows: its text, its JSON or that it is done", () => {
    expect(text("my:tool", { result: "plain" })).toBe("plain");
    expect(text("my:tool", { a: 1, b: null })).toBe('{\n  "a": 1,\n  "b": null\n}');
    expect(text("my:tool", null)).toBe("[Done, with nothing to report]");
    expect(text("my:tool", {})).toBe("[Done, with nothing to report]");
    expect(text("ds_run_python", { result: "done", images: [{ type: "png", base64: PNG }] })).toContain("[image]");
  });

  test.each([
    undefined,
    null,
    1,
    "text",
    [],
    {},
    { code: 0 },
    { code: 0, meta: {} },
    { ok: false, error: {}, meta: {} },
  ])("never throws: %j", (value) => {
    expect(typeof formatToolResult(value as Formattable)).toBe("string");
    expect(toContentBlocks(value as Formattable).length).toBeGreaterThan(0);
  });

  test.each([
    "code:run",
    "vm:click",
    "rag:batch_search",
    "text2sql:execute",
    "mcp:a.b",
    "batch:execute",
    "session:list",
  ])("%s with data of another shape is still shown", (tool) => {
    for (const data of [null, 7, "x", [1], { results: 5, rows: "no", content: [null, 3], contexts: [null] }]) {
      expect(typeof text(tool, data)).toBe("string");
    }
  });

  test("reads what call returned as it reads an envelope", () => {
    const answer = failure(5006, "too slow", { error: "timeout", outcome: "limit", suggestion: "Less." });
    expect(formatToolResult(toToolResult(answer as never, 500))).toBe(formatToolResult(answer as Formattable));
  });

  test("verbose names the tool, the error and the trace", () => {
    expect(formatToolResult(failed("my:tool", "no"), { verbose: true })).toContain(
      "(my:tool, execution_error, code 5000, trace t-1)",
    );
  });
});

describe("custom formatters", () => {
  test("win by full name, prefix or resource, in a formatter of one's own only", () => {
    const formatter = new ResultFormatter({
      "my:tool": ({ data }) => `mine: ${JSON.stringify(data)}`,
      "other:*": () => [{ type: "image", data: PNG, mimeType: "image/png" }],
    });
    formatter.register("plain", ({ tool }) => `by resource: ${tool}`);
    expect(formatter.format(success("my:tool", 1))).toBe("mine: 1");
    expect(formatter.format(success("other:x", 1))).toBe("[image]");
    expect(formatter.format(success("echo", 1, { resource_type: "plain" }))).toBe("by resource: echo");
    expect(text("my:tool", 1)).toBe("1");
  });

  test("may be added for the whole process", () => {
    registerFormatter("process-wide:tool", () => "registered");
    expect(text("process-wide:tool", 1)).toBe("registered");
  });

  test("that throw cost a warning, not the result", () => {
    const formatter = new ResultFormatter({
      "my:tool": () => {
        throw new Error("bug");
      },
    });
    expect(formatter.format(success("my:tool", "data"))).toBe("data\n[Warning: the formatter of my:tool failed: bug]");
  });
});
