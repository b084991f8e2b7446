import { type Input, tool } from "../../core/tool.ts";
import { performForeign } from "./adapters/adapter.ts";
import { DIALECTS } from "./adapters/dialects.ts";
import type { ActionDone } from "./actions/operator.ts";
import { toScreenshot } from "./known-tools.ts";
import { perform, type VmContext, watchOf } from "./session.ts";
import * as schema from "./union-schemas.ts";

/** What desktops can do beyond the known tools: any action of the table, several at once, and a model's own actions. */
export class UnionTools {
  @tool({
    description: "Look at a part of the screen in full resolution; points of later calls still count on the whole.",
    params: schema.ZoomParams,
    result: schema.ScreenshotResult,
    annotations: { readOnlyHint: true, idempotentHint: true },
  })
  async zoom(params: Input<typeof schema.ZoomParams>, context: VmContext) {
    return toScreenshot(await perform({ action: "zoom", ...params }, context), context);
  }

  @tool({
    description: "Say where the pointer is, in pixels of the screenshots.",
    result: schema.CursorResult,
    annotations: { readOnlyHint: true, idempotentHint: true },
  })
  async cursorPosition(_params: object, context: VmContext) {
    return (await perform({ action: "cursor_position" }, context)).position;
  }

  @tool({
    description: "Say how large the screen is and its screenshots are.",
    result: schema.DisplayResult,
    annotations: { readOnlyHint: true, idempotentHint: true },
  })
  async displayInfo(_params: object, context: VmContext) {
    return (await perform({ action: "display_info" }, context)).display;
  }

  @tool({
    description: "Hold keys for so many seconds.",
    params: schema.HoldKeyParams,
    annotations: { destructiveHint: true },
  })
  async holdKey(params: Input<typeof schema.HoldKeyParams>, context: VmContext) {
    await perform({ action: "hold_key", ...params }, context);
    return params;
  }

  @tool({
    description: "Do one action of the table, whichever it is.",
    params: schema.ActParams,
    result: schema.ActResult,
    annotations: { destructiveHint: true },
  })
  async act({ action }: Input<typeof schema.ActParams>, context: VmContext) {
    return toTold(await perform(action, context), context);
  }

  @tool({
    description: "Do actions one after another until one fails, then look at the screen once it is quiet.",
    params: schema.BatchParams,
    result: schema.BatchResult,
    annotations: { destructiveHint: true },
  })
  async batch({ actions, screenshot }: Input<typeof schema.BatchParams>, context: VmContext) {
    const { operator } = context.session.data.desktop;
    const { items, picture } = await operator.batch(actions, { screenshot, watch: watchOf(context) }, context.signal);
    if (items.some(({ ok }) => !ok)) context.setOutcome("tool_error");
    return {
      results: items.map((item, index) => {
        const action = actions[index]?.action ?? "";
        if (item.ok) return { ok: true, executed: true, ...toTold(item.done, context) };
        return { ok: false, executed: item.executed, action, message: item.message };
      }),
      ...(picture === undefined ? {} : { screenshot: toScreenshot({ action: "screenshot", picture }, context) }),
    };
  }

  @tool({
    description: "Do a model's raw action, as its API gave it, and answer what that API wants back.",
    params: schema.ModelActionParams,
    result: schema.ModelActionResult,
    annotations: { destructiveHint: true },
  })
  async modelAction({ dialect, action }: Input<typeof schema.ModelActionParams>, context: VmContext) {
    const { desktop, episode } = context.session.data;
    const { operator } = desktop;
    const done = await performForeign(DIALECTS[dialect], action, operator, context.signal, watchOf(context));
    if (done.error !== null) context.setOutcome("tool_error");
    if (done.ended !== null) await episode.end(done.ended, { dialect }, operator, context);
    return done;
  }

  @tool({
    description: "Run a command in the desktop, with its display in the environment.",
    params: schema.RunCommandParams,
    result: schema.RunCommandResult,
    annotations: { destructiveHint: true },
  })
  async runCommand({ command, timeout_ms: timeoutMs }: Input<typeof schema.RunCommandParams>, context: VmContext) {
    const argv = typeof command === "string" ? ["sh", "-c", command] : command;
    const { running } = context.session.data.desktop;
    const { exitCode, signal, timedOut, stdout, stderr } = await running.exec(
      { command: argv, timeoutMs },
      context.signal,
    );
    if (exitCode !== 0) context.setOutcome(timedOut ? "limit" : "tool_error");
    const truncated = stdout.truncated || stderr.truncated;
    return { exit_code: exitCode, signal, timed_out: timedOut, stdout: stdout.text, stderr: stderr.text, truncated };
  }
}

function toTold(done: ActionDone, context: VmContext) {
  const { action, position, picture, display, told = display } = done;
  return {
    action,
    ...(position === undefined ? {} : { position }),
    ...(picture === undefined ? {} : { screenshot: toScreenshot(done, context) }),
    // What a screenshot tells is in it.
    ...(told === undefined || picture !== undefined ? {} : { told }),
  };
}
