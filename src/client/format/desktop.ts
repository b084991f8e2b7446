import { formatFailure } from "./failure.ts";
import { textField, toText } from "./fields.ts";
import { formatGeneric } from "./generic.ts";
import { imageBlocks } from "./images.ts";
import type { ContentBlock, ToolView } from "./tool-view.ts";

/** Tools of the desktop that look at nothing, and so answer their own facts. */
const WITHOUT_TREE = new Set(["vm:done", "vm:fail", "vm:evaluate"]);

/** Formats a desktop's answer: what can be seen by now, as its accessibility tree and its picture. */
export function formatDesktop(view: ToolView): string | readonly ContentBlock[] {
  if (view.failure !== undefined) return formatFailure(view);
  if (WITHOUT_TREE.has(view.tool)) return formatGeneric(view);
  const images = imageBlocks(view.data);
  const tree = textField(view.data, "accessibility_tree") || toText(treeOf(view.data));
  if (tree === "" && images.length > 0 && view.showsImages) return images;
  return [{ type: "text", text: tree === "" ? "[No accessibility tree]" : tree }, ...images];
}

function treeOf(data: unknown): unknown {
  return typeof data === "object" && data !== null && "accessibility_tree" in data
    ? data.accessibility_tree
    : undefined;
}
