import { z } from "zod";
import {
  AGENT_ACTION_SCHEMAS,
  ClipboardFields,
  FindFields,
  hasAny,
  isOneCondition,
  isOneContent,
  NONE_GIVEN,
  ONE_CONDITION,
  ONE_CONTENT,
  TreeFields,
  WaitForFields,
} from "./actions/agent-action-schemas.ts";

const actions = AGENT_ACTION_SCHEMAS;
const NAMED = { action: true } as const;

export const TreeParams = z.strictObject(TreeFields);
export const FindParams = z.strictObject(FindFields).refine(hasAny, NONE_GIVEN);
export const RefParams = actions.focus_element.omit(NAMED);
export const InvokeParams = actions.invoke_element.omit(NAMED);
export const SetValueParams = actions.set_element_value.omit(NAMED);
export const TerminalTextParams = actions.terminal_text.omit(NAMED);
export const ClipboardGetParams = actions.clipboard_get.omit(NAMED);
export const ClipboardSetParams = z.strictObject(ClipboardFields).refine(isOneContent, ONE_CONTENT);
export const WindowParams = actions.window_info.omit(NAMED);
export const WindowSizeParams = actions.set_window_size.omit(NAMED);
export const WindowPositionParams = actions.set_window_position.omit(NAMED);
export const LaunchParams = actions.launch.omit(NAMED);
export const OpenParams = actions.open.omit(NAMED);
export const WaitForParams = z.strictObject(WaitForFields).refine(isOneCondition, ONE_CONDITION);

const Code = z.string().min(1).max(200_000);
export const PyautoguiParams = z
  .strictObject({
    command: z.union([Code, z.array(Code).min(1).max(100)]).optional(),
    commands: z.array(Code).min(1).max(100).optional(),
    timeout_ms: z.int().min(1).max(600_000).default(60_000).describe("For each of them."),
  })
  .refine(({ command, commands }) => (command === undefined) !== (commands === undefined), {
    error: "give either command or commands",
  });

const Box = z.object({ x: z.int(), y: z.int(), width: z.int(), height: z.int() });
const element = {
  ref: z.string(),
  role: z.string(),
  name: z.string(),
  description: z.string().optional(),
  text: z.string().optional(),
  value: z.number().optional(),
  states: z.array(z.string()),
  actions: z.array(z.string()).optional(),
  box: Box.optional().describe("In screenshot pixels; absent for what has no place."),
  depth: z.int(),
};
const Found = z.object(element);
const Facts = {
  truncated: z
    .string()
    .nullable()
    .describe("What cut it short: max_depth, max_nodes, deadline_ms, or children of something that has too many."),
  unresponsive_programs: z.int().describe("How many did not answer, and are left out."),
};
export const TreeResult = z.object({
  elements: z
    .array(z.object({ ...element, parent: z.int().nullable().describe("Its place in this list.") }))
    .optional()
    .describe("With format json, each after its parent."),
  tree: z.string().optional().describe("With format xml, as OSWorld writes it, and refs."),
  ...Facts,
});
export const FindResult = z.object({ elements: z.array(Found), ...Facts });
export const RefResult = z.object({ ref: z.string() });
export const InvokeResult = z.object({ ref: z.string(), name: z.string() });
export const SetValueResult = z.object({ ref: z.string(), by: z.enum(["program", "keys"]) });
export const TerminalTextResult = z.object({
  text: z.string().nullable().describe("null when no terminal is shown that tells its text; xterm tells none."),
  app: z.string().nullable(),
});
export const ClipboardGetResult = z.object({
  type: z.enum(["text", "image", "none"]),
  text: z.string().optional(),
  image: z.string().optional().describe("Base64."),
});
export const ClipboardSetResult = z.object({ type: z.enum(["text", "image"]) });

const Window = z.object({
  id: z.int(),
  title: z.string(),
  class: z.array(z.string()).describe("Instance and class, as X11 has them."),
  pid: z.int().nullable(),
  box: Box.describe("With its frame, in screenshot pixels."),
  active: z.boolean(),
  states: z.array(z.string()).describe("minimized, maximized, fullscreen, modal."),
});
export const WindowsResult = z.object({ windows: z.array(Window) });
export const ActiveWindowResult = z.object({ window: Window.nullable() });
export const WindowResult = z.object({ window: Window });
export const CloseResult = z.object({ closed: z.boolean().describe("Whether it was gone within a second.") });
export const LaunchResult = z.object({
  pid: z.int(),
  process_id: z.string(),
  exit_code: z.int().nullable().describe("Of one that ended at once: it handed over to another, or failed."),
});
export const OpenResult = LaunchResult.extend({ app: z.string() });
export const WaitForResult = z.object({
  met: z.literal(true).describe("When it is not in time, the call fails with timeout."),
  waited_ms: z.int(),
  window: Window.optional(),
  element: Found.optional(),
  stdout: z.string().optional(),
});
export const PyautoguiResult = z.object({
  commands: z.array(z.string()),
  results: z.array(
    z.object({
      success: z.boolean(),
      exit_code: z.int(),
      timed_out: z.boolean(),
      stdout: z.string(),
      stderr: z.string(),
      truncated: z.boolean(),
      error: z.string().nullable(),
    }),
  ),
  failed_indices: z.array(z.int()).optional(),
  accessibility_tree: z.string().nullable(),
});
