import http from "node:http";
import net from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { Operator } from "../../../../../src/backends/vm/actions/operator.ts";
import type { RunningDesktop } from "../../../../../src/backends/vm/desktop/provider.ts";
import { evaluate } from "../../../../../src/backends/vm/episode/evaluation/evaluate.ts";
import { Evaluator } from "../../../../../src/backends/vm/episode/evaluation/evaluator.ts";
import { judgeInThread } from "../../../../../src/backends/vm/episode/evaluation/judge-in-thread.ts";
import { systemClock } from "../../../../../src/core/clock.ts";
import { ToolyardError } from "../../../../../src/core/errors.ts";
import type { CommandResult, CommandSpec } from "../../../../../src/core/sandbox-process.ts";
import { MemoryFiles } from "../../../../kit/memory-files.ts";
import { openScripted, toDriver } from "../../scripted-display.ts";

const output = (text: string) => ({ text, bytes: text.length, truncated: false });

/** A desktop of which only what getters look at is there. */
async function openWorld() {
  const { connection, signal } = await openScripted({ width: 64, height: 48 });
  const files = new MemoryFiles();
  const commands: (readonly string[])[] = [];
  const done = { setUps: 0 };
  const world = {
    files,
    answers: {} as Record<string, unknown>,
    exec: async ({ command }: CommandSpec): Promise<Partial<CommandResult>> => {
      commands.push(command);
      return { exitCode: 0, timedOut: false, stdout: output("done\n"), stderr: output("") };
    },
    connect: async (port: number) => net.connect(port, "127.0.0.1"),
  };
  const running = {
    files,
    exec: (spec: CommandSpec) => world.exec(spec),
    connect: (port: number) => world.connect(port),
  };
  const judge = (evaluator: object, lastActionFailed = false) =>
    evaluate(Evaluator.parse(evaluator), {
      world: {
        // Only these of its members are looked at.
        running: running as unknown as RunningDesktop,
        operator: new Operator(toDriver(connection)),
        clock: systemClock,
        ask: async (tool) => world.answers[tool],
      },
      lastActionFailed,
      setUp: async () => void (done.setUps += 1),
      signal,
    });
  return { world, files, commands, done, judge };
}

const rule = (rules: unknown) => ({ type: "rule", rules });
const isDone = {
  func: "exact_match",
  result: { type: "vm_command_line", command: "x" },
  expected: rule({ expected: "done\n" }),
};

describe("an evaluation", () => {
  it("scores one metric, with why, after the evaluator's setup steps", async () => {
    const { files, judge, done } = await openWorld();
    files.put("/workspace/a.txt", "one");
    const result = { type: "vm_file", path: "/workspace/a.txt", dest: "a.txt" };
    const good = { func: "file_contains", result, expected: rule({ expected: ["one"] }) };
    expect(await judge(good)).toEqual({
      score: 1,
      results: [1],
      details: [{ func: "file_contains", score: 1, reason: null }],
      last_action_failed: false,
    });
    expect(done.setUps).toBe(1);
    const bad = { func: "compare_text_file", result, expected: { type: "inline_file", text: "two" } };
    expect(await judge(bad)).toMatchObject({ score: 0, details: [{ reason: "it is one" }] });
    const gone = { ...bad, result: { type: "vm_file", path: "/workspace/b.txt" } };
    expect(await judge(gone)).toMatchObject({ score: 0, details: [{ reason: expect.stringContaining("b.txt") }] });
  });

  it("combines several by and, as their mean unless one is 0, and by or, as the best", async () => {
    const { judge } = await openWorld();
    const result = { type: "vm_command_line", command: ["x"] };
    const like = (expected: string) => ({ func: "fuzzy_match", expected: rule({ expected }) });
    const both = (conj: string, ...checks: { func: string; expected: object }[]) => ({
      func: checks.map(({ func }) => func),
      result: checks.map(() => result),
      expected: checks.map(({ expected }) => expected),
      conj,
    });
    const [half, whole, none] = [like("do"), like("done\n"), like("xyz")];
    const { results, score } = await judge(both("and", half, whole));
    expect(score).toBeCloseTo(((results[0] ?? 0) + 1) / 2);
    expect(await judge(both("and", half, none))).toMatchObject({ score: 0, results: [expect.any(Number), 0] });
    expect(await judge(both("or", none, whole))).toMatchObject({ score: 1, results: [0, 1] });
  });

  it("gives an agent that gave up nothing, but all of an infeasible task", async () => {
    const { judge, commands } = await openWorld();
    expect(await judge({ func: "infeasible" }, true)).toMatchObject({ score: 1, last_action_failed: true });
    expect(await judge({ func: "infeasible" }, false)).toMatchObject({ score: 0, last_action_failed: false });
    expect(await judge(isDone, true)).toMatchObject({ score: 0, details: [{ reason: "the agent gave up" }] });
    expect(commands).toEqual([]);
  });

  it("is an error and never a score when it cannot look", async () => {
    const { world, judge } = await openWorld();
    world.exec = async () => {
      throw new ToolyardError("sandbox_dead", "the sandbox is gone");
    };
    await expect(judge(isDone)).rejects.toMatchObject({ error: "sandbox_dead", outcome: "infra_error" });
    world.exec = async () => ({ exitCode: null, timedOut: true, stdout: output(""), stderr: output("") });
    await expect(judge(isDone)).rejects.toMatchObject({ error: "timeout" });
    world.exec = async () => ({ timedOut: false, stdout: { ...output("d"), truncated: true }, stderr: output("") });
    await expect(judge(isDone)).rejects.toMatchObject({ error: "limit_exceeded" });
  });

  it("refuses a wrong evaluator before anything is done", async () => {
    const { judge, commands, done } = await openWorld();
    const wrong = [
      { ...isDone, func: "exact_mach" },
      { ...isDone, result: { type: "vm_comand_line", command: "x" } },
      { ...isDone, result: { type: "vm_command_line" } },
      { ...isDone, expected: undefined },
      { ...isDone, result: undefined },
      { ...isDone, func: ["exact_match", "exact_match"], result: [isDone.result] },
      { ...isDone, expected: { type: "cloud_file", path: "https://example.org/gold.xlsx" } },
    ];
    for (const evaluator of wrong) {
      // oxlint-disable-next-line no-await-in-loop -- one evaluation after another
      await expect(judge(evaluator)).rejects.toMatchObject({ error: "invalid_input" });
    }
    await expect(judge({ ...isDone, func: "exact_mach" })).rejects.toMatchObject({
      suggestion: expect.stringContaining("exact_match"),
    });
    expect([commands, done.setUps]).toEqual([[], 0]);
    const lacking = { ...isDone, func: "literal_match", expected: { type: "vm_file", path: "/workspace/gold" } };
    await expect(judge(lacking)).rejects.toMatchObject({ error: "invalid_input" });
    await expect(judge({ ...isDone, options: { ignorecase: true } })).rejects.toMatchObject({ error: "invalid_input" });
  });

  it("looks at folders, windows, the terminal, the tree and the screen", async () => {
    const { world, files, judge } = await openWorld();
    files.put("/workspace/docs/a.txt", "");
    world.answers = {
      list_windows: {
        windows: [
          { title: "xterm", class: ["xterm", "XTerm"], box: { x: 0, y: 0, width: 300, height: 200 }, active: false },
          { title: "a.txt", class: ["editor", "Editor"], box: { x: 0, y: 0, width: 9, height: 9 }, active: true },
        ],
      },
      terminal_text: { text: "$ ls" },
      accessibility_tree: { elements: [{ role: "frame", name: "a.txt" }] },
    };
    const checks = [
      ["exact_match", { type: "window_titles" }, { expected: ["xterm", "a.txt"] }],
      ["exact_match", { type: "active_window_title" }, { expected: "a.txt" }],
      ["exact_match", { type: "vm_window_size", app_class_name: "xterm" }, { expected: { width: 300, height: 200 } }],
      ["exact_match", { type: "vm_screen_size" }, { expected: { width: 64, height: 48 } }],
      ["exact_match", { type: "vm_terminal_output" }, { expected: "$ ls" }],
      ["check_accessibility_tree", { type: "accessibility_tree" }, [{ role: "frame" }]],
      ["check_image_size", { type: "screenshot" }, { width: 64, height: 48 }],
      [
        "exact_match",
        { type: "vm_path", path: "/workspace/docs/a.txt" },
        { expected: { kind: "file", size_bytes: 0 } },
      ],
    ] as const;
    const { details } = await judge({
      func: checks.map(([func]) => func),
      result: checks.map(([, result]) => result),
      expected: checks.map(([, , rules]) => rule(rules)),
    });
    expect(details.map(({ reason }) => reason)).toEqual(checks.map(() => null));
  });

  it("asks the browser for its tabs, and takes one that does not run for none", async () => {
    const { judge } = await openWorld();
    const tabs = [
      { type: "page", url: "https://example.org/", title: "Example" },
      { type: "background_page", url: "chrome-extension://x", title: "" },
      { type: "page", url: "about:blank", title: "" },
    ];
    const server = http.createServer((_request, response) => response.end(JSON.stringify(tabs)));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
    const { port } = server.address() as net.AddressInfo; // it listens on TCP
    const check = (at: number) => ({
      func: ["is_expected_active_tab", "is_expected_tabs"],
      result: [
        { type: "active_tab_info", port: at },
        { type: "open_tabs_info", port: at },
      ],
      expected: [rule({ url: "example.org" }), rule({ urls: ["https://example.org", "about:blank"] })],
    });
    expect(await judge(check(port))).toMatchObject({ results: [1, 1] });
    expect(await judge(check(1))).toMatchObject({ results: [0, 0] });
  });

  it("cuts off a metric that takes too long, and the server goes on meanwhile", async () => {
    const check = {
      func: "check_regex" as const,
      result: { kind: "json" as const, value: "a".repeat(64) },
      expected: { kind: "json" as const, value: { patterns: "(a+)+$b" } },
      options: {},
    };
    const judged = judgeInThread([check], { timeMs: 1_000, memoryMiB: 64 }, systemClock, new AbortController().signal);
    await expect(judged).rejects.toMatchObject({ error: "limit_exceeded", details: { limit: "evaluation_ms" } });
    const aborted = new AbortController();
    const cut = judgeInThread([check], { timeMs: 60_000, memoryMiB: 64 }, systemClock, aborted.signal);
    aborted.abort(new Error("enough"));
    await expect(cut).rejects.toThrow("enough");
  });
});
