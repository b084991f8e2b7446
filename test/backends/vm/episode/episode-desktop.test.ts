import sharp from "sharp";
import { describe, expect, it } from "vitest";
import { desktopServer } from "../desktop-server.ts";
import { lackingForDesktops } from "../local-desktops.ts";

const lacking = await lackingForDesktops();
if (lacking !== undefined) console.warn(`skipped: episodes at a real desktop; ${lacking}`);

describe.skipIf(lacking !== undefined)("an episode at a real desktop", () => {
  it("is observed, worked at, remembered and judged", async () => {
    const { server, open, call, fail } = await desktopServer();
    const session = await open({ instruction: "Write 42 into answer.txt" });
    const seen = await call("observe", { max_long_edge: 320 });
    expect(seen).toMatchObject({ size: [320, 240], format: "png", instruction: "Write 42 into answer.txt", steps: 0 });
    expect(await sharp(Buffer.from(seen.screenshot, "base64")).metadata()).toMatchObject({ width: 320, format: "png" });

    const evaluator = {
      func: ["exact_match", "check_include_exclude", "check_image_size"],
      result: [
        { type: "vm_command_line", command: "cat answer.txt" },
        { type: "vm_file", path: "log.txt", dest: "log.txt" },
        { type: "screenshot" },
      ],
      expected: [
        { type: "rule", rules: { expected: "42\n" } },
        { type: "rule", rules: { include: ["closed"] } },
        { type: "rule", rules: { width: 640, height: 480 } },
      ],
      postconfig: [{ type: "execute", parameters: { command: ["sh", "-c", "echo closed > log.txt"] } }],
    };
    expect(await call("evaluate", { evaluator })).toMatchObject({
      score: 0,
      results: [0, 1, 1],
      evaluator: { func: evaluator.func },
      last_action_failed: false,
    });
    await call("click", { x: 5, y: 6 });
    await call("run_command", { command: "echo 42 > answer.txt" });
    await call("done");
    expect(await call("evaluate", { evaluator })).toMatchObject({ score: 1, results: [1, 1, 1] });
    const { actions, total, ended } = await call("history");
    expect({ total, ended }).toEqual({ total: 3, ended: "done" });
    expect(actions).toMatchObject([
      { index: 1, action: "click", params: { coordinate: [5, 6] }, actor: "agent", outcome: "ok" },
      { index: 2, action: "run_command", params: { command: "echo 42 > answer.txt" } },
      { index: 3, action: "done" },
    ]);
    const { body } = await server.get(`/api/v1/events?format=json&session=${session}&type=desktop.action`);
    expect(body.data.events).toMatchObject([
      // In pixels of the screen, which was shown at half its size.
      { data: { index: 1, action: "click", position: [11, 13] }, actor: "agent" },
      { data: { index: 2, action: "run_command" } },
      { data: { index: 3, action: "done" } },
    ]);

    await call("fail", { reason: "I give up" });
    expect(await call("evaluate", { evaluator })).toMatchObject({ score: 0, last_action_failed: true });
    expect(await call("evaluate", { evaluator: { func: "infeasible" } })).toMatchObject({ score: 1 });
    expect(await fail("evaluate")).toMatchObject({ error: "missing_field" });
    expect(await fail("evaluate", { evaluator: { ...evaluator, postconfig: [{ type: "download" }] } })).toMatchObject({
      error: "invalid_input",
    });
    const broken = { ...evaluator, postconfig: [{ type: "execute", parameters: { command: "exit 3" } }] };
    await call("click", { x: 5, y: 6 });
    expect(await fail("evaluate", { evaluator: broken })).toMatchObject({
      error: "dependency_failed",
      outcome: "infra_error",
    });
  });

  it("holds no key after a reset that was held before it", async (context) => {
    const { open, call } = await desktopServer();
    await open();
    if ((await call("run_command", { command: "command -v xterm" })).exit_code !== 0)
      return context.skip("xterm is not installed");
    await call("key_down", { key: "ctrl" });
    await call("mouse_down", { x: 300, y: 200 });
    await call("reset");
    await call("launch", { app: "xterm", args: ["-e", "sh", "-c", "cat; touch over; sleep 60"] });
    await call("wait_for", { window: { class: "xterm" } });
    const isOver = async () => {
      await call("click", { x: 50, y: 50 });
      await call("hotkey", { keys: ["ctrl", "d"] });
      return (await call("run_command", { command: "test -e over" })).exit_code;
    };
    await expect.poll(isOver, { timeout: 30_000, interval: 250 }).toBe(0);
  });

  it("begins anew with a task of its own, whose evaluator judges it", async () => {
    const { open, call, fail } = await desktopServer();
    await open({ instruction: "first", setup: [{ do: "file", path: "given.txt", text: "given" }] });
    await call("run_command", { command: "echo old > old.txt; nohup sleep 900 >/dev/null 2>&1 &" });
    // What one task made of the screen's size, and of how it is shown, is no part of the next.
    await call("change_resolution", { width: 800, height: 500 });
    await call("screenshot", { max_long_edge: 400 });
    const evaluator = {
      func: ["file_absent", "exact_match", "exact_match"],
      result: [
        { type: "vm_file", path: "old.txt" },
        { type: "vm_command_line", command: "cat given.txt task.txt" },
        { type: "vm_command_line", command: "pgrep -c -f 'sleep 90[0]' || true" },
      ],
      expected: [
        null,
        { type: "rule", rules: { expected: "giventask\n" } },
        { type: "rule", rules: { expected: "0\n" } },
      ],
    };
    expect(await call("evaluate", { evaluator })).toMatchObject({ score: 0, results: [0, 0, 0] });
    const config = [{ type: "execute", parameters: { command: "echo task > task.txt", shell: true } }];
    expect(await call("reset", { instruction: "second", evaluator, config })).toEqual({
      reset: true,
      instruction: "second",
      resolution: "640x480",
    });
    expect(await call("evaluate")).toMatchObject({ score: 1, results: [1, 1, 1] });
    expect(await call("history")).toMatchObject({ actions: [], ended: null });
    expect((await call("screenshot")).size).toEqual([640, 480]);
    expect(await call("observe", { screenshot: false })).toMatchObject({ instruction: "second", screenshot: null });
    await call("click", { x: 1, y: 1 });
    await call("run_command", { command: "echo later > later.txt" });
    await call("snapshot", { name: "later" });
    expect(await call("reset")).toMatchObject({ instruction: "first" });
    const later = { func: "file_exists", result: { type: "vm_file", path: "later.txt" } };
    expect(await call("evaluate", { evaluator: later })).toMatchObject({ score: 0 });
    await call("reset", { snapshot: "later" });
    expect(await call("evaluate", { evaluator: later })).toMatchObject({ score: 1 });
    const wrong = { func: "exact_mach", result: { type: "screenshot" } };
    expect(await fail("reset", { evaluator: wrong })).toMatchObject({ error: "invalid_input" });
    expect(await fail("reset", { config: [{ type: "download" }] })).toMatchObject({ error: "invalid_input" });
  });
});
