import { type Input, tool } from "../../core/tool.ts";
import * as schema from "./agent-schemas.ts";
import type { ActionInput } from "./actions/action.ts";
import { type CodeDone, runPyautogui, toReason } from "./actions/program-rows.ts";
import { perform, type VmContext } from "./session.ts";

const SEES = { readOnlyHint: true, idempotentHint: true, openWorldHint: false };
const ACTS = { destructiveHint: true };

/** What screen, mouse and keys cannot do: elements by what they are, the clipboard, windows, programs. */
export class AgentTools {
  @tool({
    description: "Read what programs tell of their windows: roles, names, texts, boxes in screenshot pixels, and refs.",
    params: schema.TreeParams,
    result: schema.TreeResult,
    annotations: SEES,
  })
  accessibilityTree(params: Input<typeof schema.TreeParams>, context: VmContext) {
    return told({ action: "accessibility_tree", ...params }, context);
  }

  @tool({
    description: "Find elements by role, name or text, with their refs and their boxes in screenshot pixels.",
    params: schema.FindParams,
    result: schema.FindResult,
    annotations: SEES,
  })
  findElement(params: Input<typeof schema.FindParams>, context: VmContext) {
    return told({ action: "find_element", ...params }, context);
  }

  @tool({
    description: "Give an element the focus.",
    params: schema.RefParams,
    result: schema.RefResult,
    annotations: ACTS,
  })
  focusElement(params: Input<typeof schema.RefParams>, context: VmContext) {
    return told({ action: "focus_element", ...params }, context);
  }

  @tool({
    description: "Have an element do its own action: press a button, open a menu.",
    params: schema.InvokeParams,
    result: schema.InvokeResult,
    annotations: ACTS,
  })
  invokeElement(params: Input<typeof schema.InvokeParams>, context: VmContext) {
    return told({ action: "invoke_element", ...params }, context);
  }

  @tool({
    description: "Set an element's text or number; a field that takes text by keys only is typed over.",
    params: schema.SetValueParams,
    result: schema.SetValueResult,
    annotations: ACTS,
  })
  setElementValue(params: Input<typeof schema.SetValueParams>, context: VmContext) {
    return told({ action: "set_element_value", ...params }, context);
  }

  @tool({
    description: "Read the text of the terminal that has the focus, or else of one that is shown.",
    params: schema.TerminalTextParams,
    result: schema.TerminalTextResult,
    annotations: SEES,
  })
  terminalText(params: Input<typeof schema.TerminalTextParams>, context: VmContext) {
    return told({ action: "terminal_text", ...params }, context);
  }

  @tool({
    description: "Read the clipboard: a text, or an image as PNG in base64.",
    params: schema.ClipboardGetParams,
    result: schema.ClipboardGetResult,
    annotations: SEES,
  })
  clipboardGet(params: Input<typeof schema.ClipboardGetParams>, context: VmContext) {
    return told({ action: "clipboard_get", ...params }, context);
  }

  @tool({
    description: "Put a text, or a PNG in base64, onto the clipboard.",
    params: schema.ClipboardSetParams,
    result: schema.ClipboardSetResult,
    annotations: ACTS,
  })
  clipboardSet(params: Input<typeof schema.ClipboardSetParams>, context: VmContext) {
    return told({ action: "clipboard_set", ...params }, context);
  }

  @tool({
    description: "Start a program in the desktop.",
    params: schema.LaunchParams,
    result: schema.LaunchResult,
    annotations: ACTS,
  })
  launch(params: Input<typeof schema.LaunchParams>, context: VmContext) {
    return told({ action: "launch", ...params }, context);
  }

  @tool({
    description: "Open a file or a URL with the program that the desktop has for such.",
    params: schema.OpenParams,
    result: schema.OpenResult,
    annotations: ACTS,
  })
  open(params: Input<typeof schema.OpenParams>, context: VmContext) {
    return told({ action: "open", ...params }, context);
  }

  @tool({
    description: "Wait until the screen is still, a window or an element is there or gone, or a command succeeds.",
    params: schema.WaitForParams,
    result: schema.WaitForResult,
    annotations: SEES,
  })
  waitFor(params: Input<typeof schema.WaitForParams>, context: VmContext) {
    return told({ action: "wait_for", ...params }, context);
  }

  @tool({
    description:
      "Run Python code with pyautogui calls in the desktop, points in screenshot pixels; several in their order.",
    params: schema.PyautoguiParams,
    result: schema.PyautoguiResult,
    annotations: ACTS,
  })
  async pyautogui(
    { command, commands, timeout_ms: timeoutMs }: Input<typeof schema.PyautoguiParams>,
    context: VmContext,
  ) {
    const all = commands ?? (typeof command === "string" ? [command] : (command ?? []));
    const { operator } = context.session.data.desktop;
    const results: (CodeDone & { readonly success: boolean; readonly error: string | null })[] = [];
    for (const code of all) {
      context.control?.demand();
      // oxlint-disable-next-line no-await-in-loop -- in their order
      const done = await runPyautogui(code, timeoutMs, operator, context.signal);
      const success = done.exit_code === 0;
      results.push({ success, ...done, error: success ? null : toReason(done) });
    }
    const failed = results.flatMap(({ success }, index) => (success ? [] : [index]));
    if (failed.length > 0) context.setOutcome("tool_error");
    return {
      commands: all,
      results,
      ...(failed.length === 0 ? {} : { failed_indices: failed }),
      accessibility_tree: null,
    };
  }
}

/** Does an action of the table and answers what the desktop told. */
export async function told(action: ActionInput, context: VmContext): Promise<Readonly<Record<string, unknown>>> {
  return (await perform(action, context)).told ?? {};
}
