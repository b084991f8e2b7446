import { formatFailure } from "./failure.ts";
import { textField, toText } from "./fields.ts";
import { formatGeneric } from "./generic.ts";
import { imageBlocks } from "./images.ts";
import type { ContentBlock, ToolView } from "./tool-view.ts";

/** The known tools whose answers show the desktop; others tell their own facts. */
const SHOWING = new Set(
  (
    "screenshot click double_click right_click type key hotkey scroll drag move mouse_down mouse_up key_down key_up wait " +
    "pyautogui"
  )
    .split(" ")
    .map((name) => `vm:${name}`),
);

/** Formats a desktop's answer: what can be seen by now, as its accessibility tree and its picture. */
export function formatDesktop(view: ToolView): string | readonly ContentBlock[] {
  if (view.failure !== undefined) return formatFailure(view);
  const images = imageBlocks(view.data);
  if (images.length === 0 && !SHOWING.has(view.tool)) return formatGeneric(view);
  const tree = textField(view.data, "accessibility_tree") || toText(treeOf(view.data));
  if (tree === "" && images.length > 0 && view.showsImages) return images;
  return [{ type: "text", text: tree === "" ? "[No accessibility tree]" : tree }, ...images];
}

function treeOf(data: unknown): unknown {
  return typeof data === "object" && data !== null && "accessibility_tree" in data
    ? data.accessibility_tree
    : undefined;
}
