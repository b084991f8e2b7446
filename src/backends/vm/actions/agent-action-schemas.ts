import { z } from "zod";
import { Ref, WindowId } from "./names.ts";

const Name = z.string().min(1).max(1_000);
const Scope = {
  window_id: WindowId.optional().describe("Only in this window."),
  app: Name.optional().describe("Only in programs whose name has this in it."),
};
const Walk = {
  max_depth: z.int().min(1).max(100).default(60),
  max_nodes: z.int().min(1).max(10_000).default(2_000),
  deadline_ms: z.int().min(100).max(60_000).default(5_000).describe("What has been read by then is the answer."),
  hidden: z.boolean().default(false).describe("Also what is not shown: closed menus, what is scrolled out of sight."),
};
const Looked = {
  role: Name.optional().describe('As the tree has it: "push button", "entry", "link"; or its last words, "button".'),
  name: Name.optional().describe("In its name, whatever the case."),
  text: Name.optional().describe("In its text, name or description, whatever the case."),
  exact: z.boolean().default(false).describe("The whole name or text, in its case, and the whole role."),
};
export const hasAny = ({ role, name, text }: { role?: unknown; name?: unknown; text?: unknown }) =>
  role !== undefined || name !== undefined || text !== undefined;
export const NONE_GIVEN = { error: "give a role, a name or a text" };
const Command = z
  .union([z.string().min(1).max(100_000), z.array(z.string().max(100_000)).min(1).max(1_000)])
  .describe("A line for a shell, or a program and its arguments.");
const Pixels = z.int().min(0).max(65_535);

export const TreeFields = { ...Scope, ...Walk, format: z.enum(["json", "xml"]).default("json") };
export const FindFields = { ...Looked, ...Scope, ...Walk, limit: z.int().min(1).max(200).default(20) };
export const WaitForFields = {
  stable_screen: z
    .strictObject({ quiet_ms: z.int().min(10).max(10_000).default(500) })
    .optional()
    .describe("Nothing changes on the screen for so long."),
  window: z
    .strictObject({ title: Name.optional(), class: Name.optional(), exists: z.boolean().default(true) })
    .optional()
    .describe("A window whose title or class has this in it is there; or none, with exists false."),
  element: z
    .strictObject({ ...Looked, ...Scope, exists: z.boolean().default(true) })
    .refine(hasAny, NONE_GIVEN)
    .optional()
    .describe("An element is shown; or none, with exists false."),
  command: Command.optional().describe("A command ends with 0; it is run again until it does."),
  timeout_ms: z.int().min(1).max(600_000).default(10_000),
};
export const isOneCondition = (given: { [K in "stable_screen" | "window" | "element" | "command"]?: unknown }) =>
  [given.stable_screen, given.window, given.element, given.command].filter((one) => one !== undefined).length === 1;
export const ONE_CONDITION = { error: "give one of stable_screen, window, element and command" };

export const ClipboardFields = {
  text: z.string().max(2_000_000).optional(),
  image: z
    .base64()
    .max(11 << 20)
    .optional()
    .describe("A PNG in base64, instead of a text."),
};
export const isOneContent = ({ text, image }: { text?: unknown; image?: unknown }) =>
  (text === undefined) !== (image === undefined);
export const ONE_CONTENT = { error: "give a text or an image" };

/** The actions that the desktop's agent does, or programs in it. */
export const AGENT_ACTION_SCHEMAS = {
  accessibility_tree: z.strictObject({ action: z.literal("accessibility_tree"), ...TreeFields }),
  find_element: z.strictObject({ action: z.literal("find_element"), ...FindFields }).refine(hasAny, NONE_GIVEN),
  focus_element: z.strictObject({ action: z.literal("focus_element"), ref: Ref }),
  invoke_element: z.strictObject({
    action: z.literal("invoke_element"),
    ref: Ref,
    name: Name.optional().describe("Which of its actions; the first by default."),
  }),
  set_element_value: z.strictObject({
    action: z.literal("set_element_value"),
    ref: Ref,
    value: z.union([z.string().max(100_000), z.number()]),
  }),
  terminal_text: z.strictObject({ action: z.literal("terminal_text"), ...Scope }),
  clipboard_get: z.strictObject({
    action: z.literal("clipboard_get"),
    type: z.enum(["auto", "text", "image"]).default("auto").describe("auto prefers text."),
  }),
  clipboard_set: z
    .strictObject({ action: z.literal("clipboard_set"), ...ClipboardFields })
    .refine(isOneContent, ONE_CONTENT),
  list_windows: z.strictObject({ action: z.literal("list_windows") }),
  active_window: z.strictObject({ action: z.literal("active_window") }),
  window_info: z.strictObject({ action: z.literal("window_info"), id: WindowId }),
  activate_window: z.strictObject({ action: z.literal("activate_window"), id: WindowId }),
  close_window: z.strictObject({ action: z.literal("close_window"), id: WindowId }),
  minimize_window: z.strictObject({ action: z.literal("minimize_window"), id: WindowId }),
  maximize_window: z.strictObject({ action: z.literal("maximize_window"), id: WindowId }),
  set_window_size: z.strictObject({
    action: z.literal("set_window_size"),
    id: WindowId,
    width: Pixels.min(1).describe("Of its frame, in pixels of the screenshots, as all of these."),
    height: Pixels.min(1),
  }),
  set_window_position: z.strictObject({ action: z.literal("set_window_position"), id: WindowId, x: Pixels, y: Pixels }),
  launch: z.strictObject({
    action: z.literal("launch"),
    app: z.string().min(1).max(4_096).describe("A program, by its name or its path."),
    args: z.array(z.string().max(100_000)).max(1_000).default([]),
  }),
  open: z.strictObject({
    action: z.literal("open"),
    target: z.string().min(1).max(4_096).describe("A file's path or a URL, for the program that opens such."),
  }),
  wait_for: z.strictObject({ action: z.literal("wait_for"), ...WaitForFields }).refine(isOneCondition, ONE_CONDITION),
  pyautogui: z.strictObject({
    action: z.literal("pyautogui"),
    code: z.string().min(1).max(200_000).describe("Python, with pyautogui and time imported; it runs in the desktop."),
    timeout_ms: z.int().min(1).max(600_000).default(60_000),
  }),
} as const;
